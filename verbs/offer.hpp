// Fresh queue pairs that one side offers to the other, by route. Threads: the service thread.
#pragma once

#include "verbs/queue_pair.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>

namespace godwit::verbs {

struct Offer {
  std::array<std::unique_ptr<QueuePair>, most_rails_in_use> pairs;  // nullptr: that route is not offered

  bool empty() const noexcept {
    return std::ranges::none_of(pairs, [](const auto& pair) { return pair != nullptr; });
  }
  PairOffer wire() const noexcept {
    PairOffer wire{};
    for (std::size_t route = 0; route < pairs.size(); ++route)
      if (pairs[route]) wire[route] = pairs[route]->address();
    return wire;
  }
  /// The first route that both sides offer, if possible none of `avoid` (bits). Both sides come to the same.
  std::optional<std::size_t> agree(const PairOffer& theirs, std::uint32_t avoid) const noexcept {
    std::optional<std::size_t> found;
    for (std::size_t route = pairs.size(); route-- > 0;)
      if (pairs[route] && theirs[route].number != 0)
        if (!found || (avoid >> route & 1U) == 0 || (avoid >> *found & 1U) != 0) found = route;
    return found;
  }
};

}  // namespace godwit::verbs
