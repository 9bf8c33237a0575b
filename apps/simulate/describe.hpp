// A cluster file for the running machine. One thread; asks hwloc and /sys.
#pragma once

#include <string>

namespace godwit::apps {

/// JSON for cluster_file.hpp. What the machine does not tell is an assumption, and "about" says which those are. Throws
/// std::runtime_error when hwloc cannot explore it.
std::string describe_this_machine();

}  // namespace godwit::apps
