// Variables that our users' scripts set for other programs.
#pragma once

#include "core/options.hpp"

namespace godwit::core {

/// NCCL_* variables of the engine with NCCL's meaning; transports add theirs. CoreOptions must have been added. Other
/// NCCL_* names are not ours.
void add_nccl_aliases(OptionSet& options);

}  // namespace godwit::core
