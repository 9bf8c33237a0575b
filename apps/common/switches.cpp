#include "common/switches.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace godwit::apps {

namespace {

std::string in_words(const std::vector<ProtocolSwitch>& switches) {
  if (switches.empty()) return "not supported";
  if (switches.size() == 1 && switches.front().upto == SIZE_MAX) return switches.front().protocol;
  std::string words;
  for (const ProtocolSwitch& one : switches) {
    words += fmt::format("{}{}", words.empty() ? "" : ", ", one.protocol);
    words += one.upto == SIZE_MAX ? " above" : fmt::format(" up to {}", one.upto);
  }
  return words;
}

}  // namespace

std::string switches_text(std::string_view operation, const std::vector<ProtocolSwitch>& reachable,
                          const std::vector<ProtocolSwitch>& other) {
  const std::string first = in_words(reachable), second = in_words(other);
  if (first == second) return fmt::format("{}: {}", operation, first);
  return fmt::format("{}: {}; where memory is out of reach: {}", operation, first, second);
}

}  // namespace godwit::apps
