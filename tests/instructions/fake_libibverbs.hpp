// libibverbs in memory: fake_libibverbs.cpp defines what libgodwit calls of it, so that the dynamic linker takes these
// instead of the library's. One process, one device, which talks to itself.
//
// The data path enters the fake by functions with plain names, so that callgrind can leave out what is below
// libibverbs. Threads: any.
#pragma once

namespace godwit::instructions {

/// Opens the fabric. Before the first context.
void start_fake_libibverbs();

}  // namespace godwit::instructions
