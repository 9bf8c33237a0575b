// The tables of `godwit perf`. Pure.
#pragma once

#include "common/report.hpp"

#include <string>

namespace godwit::apps {

/// The heading line and, per result, a line; each with newline.
std::string perf_heading(bool latency);
std::string perf_line(bool latency, long iterations, const Result& result);

}  // namespace godwit::apps
