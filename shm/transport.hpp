// The shared-memory transport. Overview in README.md. Threads: the worker's; its control plane runs on the service
// thread and reports through the mailbox.
#pragma once

#include "core/card.hpp"
#include "core/completions.hpp"
#include "core/services.hpp"
#include "core/transport.hpp"
#include "shm/bell.hpp"
#include "shm/control.hpp"
#include "shm/copying.hpp"
#include "shm/link.hpp"
#include "shm/link_poller.hpp"
#include "shm/mailbox.hpp"

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace godwit::shm {

inline constexpr std::string_view transport_name = "shm";

class ShmTransport final : public core::Transport {
 public:
  /// Endpoints must not outlive it; call shutdown() before, or the peers take it for a death. `use_membarrier`
  /// false: for tests. Throws Error.
  ShmTransport(core::Services& services, Rank rank, std::string_view job_id, bool use_membarrier = true);
  ~ShmTransport() override;

  std::string_view name() const noexcept override { return transport_name; }
  std::span<const std::byte> address() const noexcept override { return address_; }
  core::Reach reaches(const core::PeerInfo& peer) const override;
  std::unique_ptr<core::Endpoint> open_endpoint(const core::PeerInfo& peer) override;
  core::Registration register_memory(std::span<std::byte> memory, MemoryKind kind) override;
  void deregister_memory(const core::Registration&) noexcept override {}
  std::size_t poll(std::span<core::Completion> completions) noexcept override;
  bool arm() noexcept override;
  void disarm() noexcept override { bell_.end_sleep(); }
  int event_fd() const noexcept override { return bell_.event_fd(); }
  bool watches_memory() const noexcept override { return true; }
  void shutdown() noexcept override;

 private:
  void handle_events();
  void on(LinkReady& ready);
  void on(PeerLost& lost);
  void on(SegmentMapped& mapped);
  void on(SegmentGone& gone);
  static void close(Link& link);
  std::size_t finish_draining(std::span<core::Completion> out);
  template <class F>
  void on_service_thread(F&& work) noexcept;

  core::Services& services_;
  const Rank rank_;
  core::HostIdentity host_;
  Bell bell_;
  Mailbox mailbox_;
  core::Completions completions_;
  Copying copying_{completions_};
  LinkPoller poller_;
  std::vector<std::shared_ptr<Link>> draining_;  // reported to be lost, not yet to the worker
  std::vector<std::shared_ptr<Link>> retired_;   // lost; payloads of the last poll may lie in them
  std::unordered_map<Rank, std::shared_ptr<Link>> links_;
  std::unordered_map<Rank, Status> departed_;  // reported to the worker: nobody connects to them again
  std::shared_ptr<Control> control_;           // shared with calls that are under way
  std::vector<std::byte> address_;
  std::shared_ptr<void> segment_listener_;
  bool shut_down_ = false;
};

}  // namespace godwit::shm
