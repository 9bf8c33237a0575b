// fork() in a process with registered memory.
//
// A registered page belongs to the adapter, too. After fork() the first side to write to a page gets a copy; if that is
// the parent, its adapter keeps the old page, and data goes lost. Kernels since 5.12 copy pinned pages for the child at
// fork() instead: nothing is to be done (IBV_FORK_UNNEEDED). On older ones ibv_fork_init() lets libibverbs keep
// registered pages out of children (MADV_DONTFORK); it must come before anybody's first queue or registration, splits
// mappings (vm.max_map_count), and a child that touches such a page dies, unless it calls exec first. Losing data
// silently is worse, so we do call it there. RDMAV_FORK_SAFE=1 does the same from outside (IBV_FORK_ENABLED).
#pragma once

#include "verbs/api.hpp"

#include <godwit/error.hpp>

namespace godwit::verbs {

/// Before a device is opened, as often as wanted. Ok, or why fork() is not safe and what to do.
Status prepare_for_fork(Api& api);

}  // namespace godwit::verbs
