// One port of an opened adapter, with what all its queue pairs share: completion queue, receive queue, buffers.
// Threads: constructor and destructor anywhere; each other function says which.
#pragma once

#include "core/services.hpp"
#include "verbs/buffers.hpp"
#include "verbs/choice.hpp"
#include "verbs/handle.hpp"
#include "verbs/options.hpp"
#include "verbs/rails.hpp"
#include "verbs/wire.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace godwit::verbs {

struct AdapterSettings {
  std::uint32_t send_depth = 0;      // work requests per queue pair
  std::uint32_t inline_bytes = 0;    // wanted
  std::uint32_t message_bytes = 0;   // payload of the longest message that is received
  std::uint32_t credits = 0;         // frames that each peer may have under way, if there is room
  std::uint32_t usual_receives = 0;  // of all peers: with more of them credits become few
  std::uint16_t pkey_index = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::uint8_t timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint32_t mtu = 0;  // 0: the port's

  static AdapterSettings from(const VerbsOptions& options);
};

class Adapter {
 public:
  /// Opens the port, as our rail number `rail`. Throws Error(transport) or Error(no_memory).
  Adapter(core::Services& services, Api& api, const DeviceFacts& device, const PortChoice& choice,
          const AdapterSettings& settings, unsigned rail = 0);
  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  // --- constant ---
  Api& api() const noexcept { return api_; }
  const AdapterSettings& settings() const noexcept { return settings_; }
  unsigned rail() const noexcept { return rail_; }  // position among those in use
  std::string_view device_name() const noexcept { return std::string_view(name_).substr(0, name_.rfind(':')); }
  const std::string& name() const noexcept { return name_; }  // "mlx5_0:1"
  /// "mlx5_0:1, GID 3 10.1.2.3 (RoCE v2)"
  const std::string& about() const noexcept { return about_; }
  /// Why this port and this GID.
  const std::string& reason() const noexcept { return reason_; }
  std::uint8_t port() const noexcept { return port_; }
  /// What queue pairs take into a work request, at most: bytes.
  std::uint32_t inline_bytes() const noexcept { return inline_bytes_; }
  void limit_inline(std::uint32_t bytes) noexcept { inline_bytes_ = bytes; }  // before the control plane starts
  bool iwarp() const noexcept { return iwarp_; }
  /// It executes 64-bit atomics on registered memory, and asks others to.
  bool atomics() const noexcept { return atomics_; }
  /// Of memory that reads and atomics write to: on iWARP the answer to a read is a write of the peer's.
  int sink_access() const noexcept { return IBV_ACCESS_LOCAL_WRITE | (iwarp_ ? IBV_ACCESS_REMOTE_WRITE : 0); }
  /// Of memory that peers may reach in every way there is.
  int remote_access() const noexcept {
    return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
           (atomics_ ? IBV_ACCESS_REMOTE_ATOMIC : 0);
  }
  /// iWARP: what peers read to flush; `address` 0: they need not.
  const FlushWord& flush_word() const noexcept { return flush_word_; }
  /// iWARP: where our own such reads go to.
  ibv_sge flush_sink() const noexcept {
    return {reinterpret_cast<std::uint64_t>(&flush_words_->sink), sizeof flush_words_->sink, flush_region_->lkey};
  }
  bool global_route() const noexcept { return global_route_; }
  unsigned gid_index() const noexcept { return gid_index_; }
  std::size_t max_message() const noexcept { return max_message_; }  // of the port, bytes
  double bandwidth_Bps() const noexcept { return bandwidth_Bps_; }
  /// This port among those of the host.
  const RailEnd& rail_end() const noexcept { return rail_end_; }
  /// This port as an end of a queue pair, without the pair's own numbers.
  const PairAddress& end() const noexcept { return end_; }
  /// Longest frame that is received.
  std::uint32_t frame_bytes() const noexcept { return settings_.message_bytes + message_overhead; }
  ibv_context* context() const noexcept { return context_.get(); }
  ibv_pd* domain() const noexcept { return domain_.get(); }
  ibv_cq* completion_queue() const noexcept { return completions_.get(); }
  ibv_comp_channel* completion_channel() const noexcept { return channel_.get(); }
  ibv_srq* receive_queue() const noexcept { return receive_queue_.get(); }
  /// Work requests that all queue pairs together may have under way.
  std::uint32_t send_budget() const noexcept { return send_budget_; }

  // --- the worker ---
  /// Buffers of completed receives go back into the queue, several with one call. 0, or an errno value: the queue has
  /// room for every buffer that there is, so only an adapter that has failed refuses.
  [[nodiscard]] int post_again(std::span<Buffer* const> buffers) noexcept;

  // --- the service thread ---
  /// It will not work any more; `why` in words.
  void give_up(std::string why) { gone_ = std::move(why); }
  bool gone() const noexcept { return !gone_.empty(); }
  /// Empty: the port can be used just now, and end() and gid_index() are as they are now: a port that was down may have
  /// got another LID, and its GID another place. Else why not.
  std::string look_again();

  // --- any thread ---
  /// Receive buffers for one more peer: how many frames it may have under way. Throws Error(no_memory).
  std::uint32_t reserve_receives();
  /// The same for exactly so many.
  void reserve_receives(std::uint32_t credits);
  void release_receives(std::uint32_t credits) noexcept;
  /// Buffers in the receive queue or being read.
  std::size_t receives() const noexcept;

 private:
  void open(const std::string& device);
  void describe(const DeviceFacts& device, const PortChoice& choice);
  void make_queues();
  void make_flush_words();
  void reserve(std::uint32_t receives);
  [[noreturn]] void refuse(const char* what) const;

  Api& api_;
  core::Log& log_;
  const AdapterSettings settings_;
  const unsigned rail_;
  RailEnd rail_end_;
  std::string gone_;  // the service thread's
  std::string name_, about_, reason_;
  std::uint8_t port_ = 1;
  std::uint32_t inline_bytes_ = 0;
  bool global_route_ = false;
  bool iwarp_ = false;
  bool atomics_ = false;
  unsigned gid_index_ = 0;
  GidType gid_type_ = GidType::infiniband;
  std::size_t max_message_ = 0;
  double bandwidth_Bps_ = 0;
  PairAddress end_;
  std::uint32_t send_budget_ = 0;
  ContextHandle context_;
  DomainHandle domain_;
  struct FlushWords {
    std::uint64_t read_by_peers = 0;
    std::uint64_t sink = 0;
  };
  std::unique_ptr<FlushWords> flush_words_;
  RegionHandle flush_region_;
  FlushWord flush_word_;
  ChannelHandle channel_;
  CompletionQueueHandle completions_;
  SharedReceiveHandle receive_queue_;
  mutable std::mutex receive_mutex_;
  std::optional<BufferPool> receive_buffers_;  // under receive_mutex_
  std::uint32_t reserved_ = 0;                 // under receive_mutex_
  std::uint32_t usual_receives_ = 0;
  std::uint32_t most_receives_ = 0;  // room in the receive queue
};

/// For each peer beyond its credits: frames of kind `credit`, of which two can be under way.
inline constexpr std::uint32_t credit_frames = 2;
inline constexpr std::uint32_t fewest_credits = 4;

/// wr_id of a receive; those of sends are even.
inline std::uint64_t receive_id(const Buffer* buffer) noexcept { return reinterpret_cast<std::uint64_t>(buffer) | 1U; }
inline Buffer* received_buffer(std::uint64_t id) noexcept {
  return (id & 1U) != 0 ? reinterpret_cast<Buffer*>(id & ~std::uint64_t{1}) : nullptr;
}

}  // namespace godwit::verbs
