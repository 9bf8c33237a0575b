// NCCL's variables for RDMA adapters, with NCCL's meaning.
#pragma once

#include "core/options.hpp"

namespace godwit::verbs {

/// VerbsOptions must have been added.
void add_nccl_aliases(core::OptionSet& options);

}  // namespace godwit::verbs
