// A hit does not allocate.
#include "memory_api.hpp"

#include <cstdlib>
#include <new>

namespace {
thread_local std::size_t allocations = 0;
}

// Not inlined: GCC would see free() of what operator new gave.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace godwit::verbs {
namespace {

TEST(RegistrarHit, DoesNotAllocate) {
  Stage stage;
  for (std::size_t place = 0; place < 200; place += 10) stage.touch(place, 2);
  const std::size_t before = allocations;
  for (int round = 0; round < 100; ++round) {
    for (std::size_t place = 0; place < 200; place += 10) {
      const Registered* registered = stage.registrar->acquire(stage.pages.span(place, 2), full_access);
      stage.registrar->release(registered);
    }
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(stage.statistics().hits, 2000U);
  stage.touch(5, 1);
  EXPECT_GT(allocations, before) << "the test counts";
}

}  // namespace
}  // namespace godwit::verbs
