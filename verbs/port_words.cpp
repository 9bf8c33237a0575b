#include "verbs/port_words.hpp"

#include <fmt/format.h>

#include <charconv>

namespace godwit::verbs {
namespace {

struct LaneSpeed {
  std::uint8_t bits;
  double lane_Gbps;  // of data
  const char* name;
};
constexpr LaneSpeed speeds[] = {{1, 2.5, "SDR"}, {2, 5, "DDR"},   {4, 10, "QDR"},  {8, 10, "FDR10"},
                                {16, 14, "FDR"}, {32, 25, "EDR"}, {64, 50, "HDR"}, {128, 100, "NDR"}};

unsigned lanes_of(std::uint8_t width) {
  switch (width) {
    case 1: return 1;
    case 2: return 4;
    case 4: return 8;
    case 8: return 12;
    case 16: return 2;
    default: return 0;
  }
}

// "100 Gb/sec (4X EDR)"; the name may be missing: "2.5 Gb/sec (1X)" is SDR.
LinkSpeed parse_rate(std::string_view text) {
  LinkSpeed speed;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, speed.rate_Gbps);
  if (error != std::errc{}) return {};
  std::string_view rest(after, static_cast<std::size_t>(end - after));
  const std::size_t open = rest.find('('), close = rest.find(')');
  if (!rest.starts_with(" Gb/sec") || open == std::string_view::npos || close < open || close == std::string_view::npos)
    return {};
  rest = rest.substr(open + 1, close - open - 1);
  std::from_chars(rest.data(), rest.data() + rest.size(), speed.lanes);
  const std::size_t blank = rest.find(' ');
  speed.name = blank == std::string_view::npos ? "SDR" : std::string(rest.substr(blank + 1));
  return speed;
}

}  // namespace

std::string state_words(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_NOP: return "No state change";
    case IBV_PORT_DOWN: return "Down";
    case IBV_PORT_INIT: return "Initializing";
    case IBV_PORT_ARMED: return "Armed";
    case IBV_PORT_ACTIVE: return "Active";
    case IBV_PORT_ACTIVE_DEFER: return "ActiveDefer";
  }
  return fmt::format("State {}", static_cast<int>(state));
}

std::string physical_state_words(std::uint8_t physical) {
  constexpr const char* words[] = {"No state change", "Sleep",  "Polling",           "Disabled",
                                   "Training",        "LinkUp", "LinkErrorRecovery", "PhyTest"};
  return physical < std::size(words) ? words[physical] : fmt::format("State {}", physical);
}

unsigned mtu_bytes(ibv_mtu mtu) noexcept {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << static_cast<unsigned>(mtu) : 0;
}

LinkSpeed link_speed(std::string_view rate, std::uint8_t active_speed, std::uint8_t active_width) {
  if (LinkSpeed told = parse_rate(rate); told.rate_Gbps > 0) return told;
  LinkSpeed speed;
  speed.lanes = lanes_of(active_width);
  for (const LaneSpeed& one : speeds)
    if (one.bits == active_speed) {
      speed.rate_Gbps = one.lane_Gbps * speed.lanes;
      speed.name = one.name;
    }
  return speed;
}

}  // namespace godwit::verbs
