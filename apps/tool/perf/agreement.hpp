// What the two sides of a run without a launcher must have in common, and what to say when they have not. Pure.
#pragma once

#include "tool/perf/options.hpp"

#include <string>
#include <utility>
#include <vector>

namespace godwit::apps {

struct Terms {
  std::string host;
  std::string problem = {};                                 // why this side cannot go on; empty: it can
  std::vector<std::pair<std::string, std::string>> values;  // flag and value, in the same order on both sides
};

Terms terms_of(const PerfOptions& options, std::string host, std::string problem = {});

std::string encode(const Terms& terms);
/// Throws std::runtime_error if this is no such text.
Terms decode(const std::string& text);

/// Each flag that differs, with both values; empty if none does.
std::string disagreement(const Terms& server, const Terms& client);

}  // namespace godwit::apps
