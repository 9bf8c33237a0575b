// Ranks in words.
#pragma once

#include <godwit/types.hpp>

#include <string>
#include <vector>

namespace godwit::pmi {

/// "rank 3", "ranks 1, 3-7, 12"; ascending order expected. After 16 items "and 40 more".
std::string rank_list(const std::vector<Rank>& ranks);

}  // namespace godwit::pmi
