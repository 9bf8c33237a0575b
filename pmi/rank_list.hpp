// Ranks and CPUs in words.
#pragma once

#include <godwit/types.hpp>

#include <string>
#include <vector>

namespace godwit::pmi {

/// "rank 3", "ranks 1, 3-7, 12"; ascending order expected. After 16 items "and 40 more".
std::string rank_list(const std::vector<Rank>& ranks);
/// "CPU 3", "CPUs 0-3, 64-67"
std::string cpu_list(const std::vector<int>& cpus);

}  // namespace godwit::pmi
