// The verbs transport. Overview in README.md. Threads: the worker's; its control plane runs on the service thread and
// reports through the mailbox.
#pragma once

#include "core/services.hpp"
#include "core/transport.hpp"
#include "core/unique_fd.hpp"
#include "verbs/adapter.hpp"
#include "verbs/address.hpp"
#include "verbs/control.hpp"
#include "verbs/mailbox.hpp"
#include "verbs/posting.hpp"
#include "verbs/rail.hpp"

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace godwit::verbs {

inline constexpr std::string_view transport_name = "verbs";
/// Frames that a peer has sent before its good-bye, or knows to have arrived, are in the queue, or on their way there.
inline constexpr std::int64_t frames_patience_ms = 1000;

class VerbsTransport final : public core::Transport {
 public:
  /// Endpoints must not outlive it; call shutdown() before, or the peers take it for a death. Throws Error.
  VerbsTransport(core::Services& services, Rank rank, std::string_view job_id, Api& api,
                 CmApi& cm_api = system_cm_api());
  ~VerbsTransport() override;

  std::string_view name() const noexcept override { return transport_name; }
  std::span<const std::byte> address() const noexcept override { return address_; }
  core::Reach reaches(const core::PeerInfo& peer) const override;
  std::unique_ptr<core::Endpoint> open_endpoint(const core::PeerInfo& peer) override;
  core::Registration register_memory(std::span<std::byte> memory, MemoryKind kind) override;
  void deregister_memory(const core::Registration& registration) noexcept override;
  std::size_t poll(std::span<core::Completion> completions) noexcept override;
  bool arm() noexcept override;
  void disarm() noexcept override;
  int event_fd() const noexcept override { return epoll_.get(); }
  void shutdown() noexcept override;

 private:
  using LinkPointer = std::shared_ptr<Link>;

  void open_rails(Api& api, const std::vector<DeviceFacts>& devices, const PortChoices& choices);
  void agree_inline();
  void agree_atomics();
  int remote_access() const noexcept;
  void make_epoll();
  void make_control(std::string_view job_id, Protocol protocol, const std::string& net_device, CmApi& cm_api);
  const Registered* hold(std::span<std::byte> memory, int access);
  std::unique_ptr<core::Endpoint> open_to_self(const core::PeerInfo& self);
  core::Capabilities capabilities_of(const Connection& connection) const noexcept;
  // transport_events.cpp: what the service thread has found out, and the end of links
  void start_draining(const LinkPointer& link);
  void handle_events();
  void on(LinkMade& made);
  void on(const LinkReady& ready);
  void on(PeerLost& lost);
  void on(PairFailed& failed);
  void on(PairMade& made);
  void on(const PairReady& ready);
  // transport_recovery.cpp
  bool begins_recovery(const LinkPointer& link, const ibv_wc& entry);
  void begin_recovery(const LinkPointer& link, std::uint32_t round, std::string why, bool avoid);
  void pursue_recoveries();
  void ask_for_pair(const LinkPointer& link);
  void count_frames(const LinkPointer& link);
  bool recoveries_sleep() const noexcept;
  std::size_t finish_draining(std::span<core::Completion> out);
  void move_refused();
  void give_up_failing();
  void lose(const LinkPointer& link);
  void fail_rail(Rail& rail, const std::string& why);
  void flush_sends();
  template <class F>
  void on_service_thread(F&& work) noexcept;
  // transport_poll.cpp: the completion queue
  std::size_t poll_queue(Rail& rail, std::span<core::Completion> out) noexcept;
  bool handle(Rail& rail, const ibv_wc& entry, core::Completion& out);
  bool handle_receive(Rail& rail, const LinkPointer& link, const ibv_wc& entry, Buffer& buffer, core::Completion& out);
  bool handle_send(const LinkPointer& link, const ibv_wc& entry, core::Completion& out);
  bool handle_failure(const LinkPointer& link, const ibv_wc& entry, const Slot& slot, core::Completion& out);
  void recycle(Rail& rail) noexcept;
  void post_again(Rail& rail, std::span<Buffer* const> buffers) noexcept;
  void send_credits() noexcept;
  LinkPointer* find_pair(Rail& rail, std::uint32_t number) noexcept;

  core::Services& services_;
  const Rank rank_;
  core::UniqueFd epoll_;
  Adapters adapters_;
  bool atomics_ = false;  // on our memory, by one adapter
  TransportAddress self_;
  Mailbox mailbox_;
  Posting posting_;
  std::unordered_map<Rank, LinkPointer> links_;
  std::vector<Rail> rails_;
  std::vector<LinkPointer> owing_;             // have credits to send
  std::vector<LinkPointer> draining_;          // nothing more comes but what is in the queue
  std::vector<LinkPointer> recovering_;        // their queue pairs are replaced
  std::vector<LinkPointer> retired_;           // lost; payloads of the last poll may be theirs
  std::unordered_map<Rank, Status> departed_;  // reported to the worker: nobody connects to them again
  std::unique_ptr<Control> control_;
  std::vector<std::byte> address_;
  bool shut_down_ = false;
};

}  // namespace godwit::verbs
