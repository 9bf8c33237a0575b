#include "runtime/directory.hpp"

namespace godwit::runtime {

Directory::Directory(core::Bootstrap& bootstrap)
    : bootstrap_(bootstrap), cards_(static_cast<std::size_t>(bootstrap.job().size)) {}

const core::Card& Directory::card(Rank rank) {
  const std::lock_guard guard(mutex_);
  auto& entry = cards_[static_cast<std::size_t>(rank)];
  if (!entry) entry = std::make_unique<core::Card>(core::Card::decode(bootstrap_.card(rank)));
  return *entry;
}

}  // namespace godwit::runtime
