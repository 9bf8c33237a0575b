// Which algorithms tests run over. Pure.
#pragma once

#include "collectives/algorithm.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace godwit::collectives {

inline std::vector<const Algorithm*> algorithms_if(bool uneven) {
  std::vector<const Algorithm*> found;
  std::ranges::copy_if(algorithms(), std::back_inserter(found),
                       [uneven](const Algorithm* algorithm) { return is_uneven(algorithm->collective) == uneven; });
  return found;
}
/// Those with a v do with equal blocks what their namesakes without do.
inline std::vector<const Algorithm*> even_algorithms() { return algorithms_if(false); }
inline std::vector<const Algorithm*> uneven_algorithms() { return algorithms_if(true); }

}  // namespace godwit::collectives
