// One registration of memory with the adapters of all rails, as the registrar keeps it. Threads: the registrar's.
#pragma once

#include "verbs/domains.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>

namespace godwit::verbs {

/// What a transport needs to know of registered memory. Never changes while it is held.
struct Registered {
  std::span<std::byte> memory;  // what is registered: at least what was asked for
  Keys lkey, rkey;
};

struct Region final : Registered {
  Pinned pinned;            // nothing: no bytes
  int access = 0;           // IBV_ACCESS_*
  unsigned users = 0;       // acquire() without release()
  unsigned owners = 0;      // register_region() without deregister_region(); 0: made by acquire()
  bool explicitly = false;  // made by register_region(): its life does not depend on limits
  bool listed = false;      // acquire() finds it
  bool idle = false;        // kept without a user
  bool alone = false;       // could not be registered together with its neighbours
  std::list<Region>::iterator self{};

  std::uintptr_t begin() const noexcept { return reinterpret_cast<std::uintptr_t>(memory.data()); }
  std::uintptr_t end() const noexcept { return begin() + memory.size(); }
};

}  // namespace godwit::verbs
