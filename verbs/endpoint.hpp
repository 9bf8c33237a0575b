// Posting to one peer. Threads: the worker's.
#pragma once

#include "core/transport.hpp"
#include "verbs/post.hpp"

#include <memory>

namespace godwit::verbs {

class VerbsEndpoint final : public core::Endpoint {
 public:
  /// The transport outlives its endpoints.
  VerbsEndpoint(std::shared_ptr<Link> link, Posting& posting);
  ~VerbsEndpoint() override;

  std::size_t post(std::span<const core::WorkRequest> requests) noexcept override;
  bool send(const core::WireHeader& header, std::span<const std::byte> payload) noexcept override;
  bool put(std::span<const std::byte> data, core::RemoteAddress remote,
           const std::optional<std::uint32_t>& imm) noexcept override {
    return post_short_put(link_, posting_, data, remote, imm);
  }
  bool begin_get(std::span<std::byte> data, core::RemoteAddress remote, std::uint64_t cookie) noexcept override {
    return post_short_get(link_, posting_, data, remote, cookie);
  }
  const core::Capabilities& capabilities() const noexcept override { return link_->capabilities; }
  std::optional<std::uint64_t> import_key(const core::PackedKey& key) noexcept override;
  std::string describe() const override;
  std::string trouble() const override;

 private:
  std::size_t refuse(std::span<const core::WorkRequest> requests);

  const std::shared_ptr<Link> link_;
  Posting& posting_;
};

}  // namespace godwit::verbs
