#include "core/aliases.hpp"

#include <godwit/error.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace godwit::core {

namespace {

// NCCL's levels, least first: VERSION prints the version only, which our tools do anyway; ABORT is INFO that
// stops at the first error.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> debug_levels{
    {{"VERSION", "warn"}, {"WARN", "warn"}, {"INFO", "info"}, {"ABORT", "info"}, {"TRACE", "trace"}}};

std::string convert_debug(const std::string& value) {
  std::string word = value;
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const auto& [theirs, ours] : debug_levels)
    if (word == theirs) return std::string(ours);
  throw Error(ErrorCode::invalid_argument, "NCCL_DEBUG=" + value + ": not one of VERSION, WARN, INFO, ABORT, TRACE");
}

}  // namespace

void add_nccl_aliases(OptionSet& options) {
  options.alias("NCCL_DEBUG", "DEBUG", convert_debug);
  options.alias("NCCL_ALGO", "ALGO");
  options.alias("NCCL_TREE_THRESHOLD", "TREE_THRESHOLD");
  options.alias("NCCL_SOCKET_IFNAME", "SOCKET_IFNAME");
}

}  // namespace godwit::core
