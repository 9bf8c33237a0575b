// Notices of unmapped memory from UCX's libucm, loaded at run time.
//
// Such a library rewrites munmap() and its like in memory: two that do it break each other. So there is one owner of
// the hooks per process: libucm, shared with whoever has loaded it (UCX, and most MPIs through it). If nobody has, we
// load it only on demand, because it needs libucs, which on loading takes over the signals of crashes; and never beside
// another library that is known to rewrite munmap (libfabric, Open MPI's own hooks). It is not unloaded any more.
// Threads: attach() and detach() by one thread at a time; attach() best before the program starts threads.
#pragma once

#include "verbs/unmap_source.hpp"

#include <memory>

namespace godwit::verbs {

/// `load_it`: also when it is not in this process yet. attach() does all the work: finds libucm, sets the handler, and
/// tests on memory of its own that munmap(), mremap(), madvise() and MAP_FIXED are reported, also from within the C
/// library.
std::unique_ptr<UnmapSource> make_ucm_source(bool load_it);

}  // namespace godwit::verbs
