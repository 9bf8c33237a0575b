// The tables of `godwit perf`. Pure.
#pragma once

#include "common/report.hpp"
#include "tool/perf/options.hpp"

#include <string>

namespace godwit::apps {

/// "private" or "shared".
std::string_view memory_word(MemoryKind kind) noexcept;
/// "# memory private (malloc); thread mode single; ...": what of the flags bears on the result, without newline.
std::string options_line(const PerfOptions& options);
/// The operations of a test, as `godwit info --protocols` names them.
std::vector<std::string> operations_of(const PerfOptions& options);

/// The heading line and, per result, a line; each with newline.
std::string perf_heading(Measured measured);
std::string perf_line(Measured measured, long iterations, const Result& result);

}  // namespace godwit::apps
