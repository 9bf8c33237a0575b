// The tables of `godwit perf`. Pure.
#pragma once

#include "common/report.hpp"
#include "tool/perf/options.hpp"

#include <string>

namespace godwit::apps {

/// The heading line and, per result, a line; each with newline.
std::string perf_heading(Measured measured);
std::string perf_line(Measured measured, long iterations, const Result& result);

}  // namespace godwit::apps
