// Posting to one peer. Threads: the worker's.
#pragma once

#include "core/completions.hpp"
#include "core/transport.hpp"
#include "shm/copying.hpp"
#include "shm/link.hpp"

#include <memory>

namespace godwit::shm {

class ShmEndpoint final : public core::Endpoint {
 public:
  /// The transport outlives its endpoints.
  ShmEndpoint(std::shared_ptr<Link> link, core::Completions& completions, Copying& copying, Control& control,
              core::ServiceThread& service);
  ~ShmEndpoint() override;

  std::size_t post(std::span<const core::WorkRequest> requests) noexcept override;
  bool send(const core::WireHeader& header, std::span<const std::byte> payload) noexcept override;
  bool put(std::span<const std::byte> data, core::RemoteAddress remote,
           const std::optional<std::uint32_t>& imm) noexcept override;
  bool get(std::span<std::byte> data, core::RemoteAddress remote) noexcept override;
  bool atomic(core::Op op, core::RemoteAddress remote, std::uint64_t operand, std::uint64_t compare,
              std::uint64_t& before) noexcept override;
  const core::Capabilities& capabilities() const noexcept override { return link_->capabilities; }
  std::optional<std::uint64_t> import_key(const core::PackedKey& key) noexcept override;
  core::Mapping map(core::RemoteAddress remote, std::size_t bytes) noexcept override {
    return link_->remote.map(remote, bytes);
  }
  bool has_atomics(std::uint64_t handle) const noexcept override;
  std::string describe() const override;

 private:
  /// Nullptr: not at once.
  std::byte* mapped_at(core::RemoteAddress remote, std::size_t bytes) const noexcept {
    if (link_->state != Link::State::open || bytes > link_->capabilities.max_rdma) [[unlikely]]
      return nullptr;
    return link_->remote.mapped_at(remote, bytes);
  }
  bool post_one(const core::WorkRequest& request);
  bool execute(const core::WorkRequest& request);
  void done(const core::WorkRequest& request) noexcept {
    if (request.signalled) completions_.done(link_->rank(), request.cookie);
  }
  void fail(const core::WorkRequest& request, ErrorCode code, const std::string& words);
  std::size_t refuse(std::span<const core::WorkRequest> requests);

  const std::shared_ptr<Link> link_;
  core::Completions& completions_;
  Copying& copying_;
  Control& control_;
  core::ServiceThread& service_;
};

}  // namespace godwit::shm
