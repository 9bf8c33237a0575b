// The table of the *_perf programs, column for column as nccl-tests prints it, because scripts read it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace godwit::apps {

/// One half of a line. `wrong` is empty when the data was not checked.
struct Measurement {
  double time_us = 0;
  double algbw_GBps = 0;
  double busbw_GBps = 0;
  std::optional<std::uint64_t> wrong = {};
};

/// What was measured. `redop` is "none" and `root` -1 where there is none.
struct LineHead {
  std::size_t bytes = 0;
  std::size_t count = 0;
  std::string_view type;
  std::string_view redop = "none";
  int root = -1;
};

/// The three heading lines, each with its newline.
std::string table_heading();
/// One result, without newline.
std::string table_line(const LineHead& head, const Measurement& out_of_place, const Measurement& in_place);
/// The two closing lines and a "#" line. `out_of_bounds` counts wrong elements of all lines and ranks.
std::string table_footer(std::uint64_t out_of_bounds, double average_busbw_GBps);

/// A number of at most `width` characters where that is possible: two decimals while they fit, then fewer, then an
/// exponent.
std::string fitted(double value, int width);

}  // namespace godwit::apps
