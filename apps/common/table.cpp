#include "common/table.hpp"

#include <fmt/format.h>

namespace godwit::apps {

namespace {

constexpr std::string_view head_columns = "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}";
constexpr std::string_view half_columns = "  {:>7}  {:>6}  {:>6}  {:>6}";

std::string heading_half(std::string_view a, std::string_view b, std::string_view c, std::string_view d) {
  return fmt::format(fmt::runtime(half_columns), a, b, c, d);
}

std::string line_half(const Measurement& m) {
  const std::string wrong = m.wrong ? fmt::format("{:g}", static_cast<double>(*m.wrong)) : "N/A";
  return heading_half(fitted(m.time_us, 7), fitted(m.algbw_GBps, 6), fitted(m.busbw_GBps, 6), wrong);
}

}  // namespace

std::string fitted(double value, int width) {
  for (int decimals = 2; decimals >= 0; --decimals) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (static_cast<int>(text.size()) <= width) return text;
  }
  return fmt::format("{:.{}e}", value, width >= 7 ? 1 : 0);
}

std::string table_heading() {
  const auto head = [](auto... words) { return fmt::format(fmt::runtime(head_columns), words...); };
  const std::string names = heading_half("time", "algbw", "busbw", "#wrong");
  const std::string units = heading_half("(us)", "(GB/s)", "(GB/s)", "");
  return fmt::format("{}  {:^31}  {:^31}\n{}{}{}\n{}{}{}\n", head("", "", "", "", ""), "out-of-place", "in-place",
                     head("size", "count", "type", "redop", "root"), names, names,
                     head("(B)", "(elements)", "", "", ""), units, units);
}

std::string table_line(const LineHead& head, const Measurement& out_of_place, const Measurement& in_place) {
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}", head.bytes, head.count, head.type, head.redop,
                     head.root, line_half(out_of_place), line_half(in_place));
}

std::string table_footer(std::uint64_t out_of_bounds, double average_busbw_GBps) {
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g}\n#\n", out_of_bounds,
                     out_of_bounds == 0 ? "OK" : "FAILED", average_busbw_GBps);
}

}  // namespace godwit::apps
