// Variables that our users' scripts set for other programs or other builds.
#pragma once

#include "core/options.hpp"

namespace godwit::core {

/// NCCL_* variables with NCCL's meaning. CoreOptions must have been added. Other NCCL_* names are not ours.
void add_nccl_aliases(OptionSet& options);
/// Options of transports that this build does not have: set, they are a warning instead of an unknown name.
void add_absent_options(OptionSet& options);

}  // namespace godwit::core
