// The ranks' cards, decoded when first needed.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/bootstrap.hpp"
#include "core/card.hpp"
#include "core/worker.hpp"

namespace godwit::runtime {

/// Any thread: transports' reports name peers from the service thread.
class Directory final : public core::PeerDirectory {
 public:
  explicit Directory(core::Bootstrap& bootstrap);
  const core::Card& card(Rank rank) override;
  int size() const noexcept override { return static_cast<int>(cards_.size()); }

 private:
  core::Bootstrap& bootstrap_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<core::Card>> cards_;
};

}  // namespace godwit::runtime
