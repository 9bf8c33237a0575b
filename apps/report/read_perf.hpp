// Charts from the JSON files of -J. Pure.
#pragma once

#include "report/checked_json.hpp"
#include "report/document.hpp"

namespace godwit::apps::report {

/// `file` has the key "results". The median is drawn, with a band from the minimum to the 99th percentile.
Document read_perf(const Checked& file);

Machine read_machine(const Checked& value);

}  // namespace godwit::apps::report
