// The real libucm, where it can be loaded: what a program does with its memory is seen.
#include "memory_api.hpp"
#include "verbs/ucm_source.hpp"

#include <sys/mman.h>

#include <thread>

namespace godwit::verbs {
namespace {

std::span<std::byte> map_memory(std::size_t bytes, void* where = nullptr) {
  void* memory = ::mmap(where, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | (where != nullptr ? MAP_FIXED : 0), -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return {static_cast<std::byte*>(memory), bytes};
}

struct Ucm : testing::Test {
  void SetUp() override {
    UnmapQueue queue;
    const auto source = make_ucm_source(true);
    if (const Status status = source->attach(queue); !status) GTEST_SKIP() << status.message();
    source->detach(queue);
    options.add<VerbsOptions>();
    (void)options.load({}, {{"IB_REG_CACHE", "on"}});
    registrar = std::make_unique<Registrar>(Domains(api, {api.domain()}), options.get<VerbsOptions>(), log);
    ASSERT_TRUE(registrar->caching());
  }
  void touch(std::span<std::byte> memory) const {
    const Registered* registered = registrar->acquire(memory, full_access);
    ASSERT_NE(registered, nullptr);
    registrar->release(registered);
  }
  /// Whether memory that was touched before is registered anew.
  bool forgotten(std::span<std::byte> memory) const {
    const int before = api.registrations;
    touch(memory);
    return api.registrations != before;
  }

  MemoryApi api;
  core::Log log;
  core::OptionSet options;
  std::unique_ptr<Registrar> registrar;
};

TEST_F(Ucm, SeesMunmap) {
  const auto memory = map_memory(8 * page);
  touch(memory);
  EXPECT_FALSE(forgotten(memory));
  ::munmap(memory.data(), memory.size());
  map_memory(memory.size(), memory.data());
  EXPECT_TRUE(forgotten(memory));
  EXPECT_GE(registrar->statistics().invalidations, 1U);
  ::munmap(memory.data(), memory.size());
}

TEST_F(Ucm, SeesMunmapOfAnotherThread) {
  const auto memory = map_memory(8 * page);
  touch(memory);
  std::thread([&] {
    ::munmap(memory.data(), page);
    map_memory(page, memory.data());
  }).join();
  EXPECT_TRUE(forgotten(memory));
  ::munmap(memory.data(), memory.size());
}

TEST_F(Ucm, SeesMremapMadviseAndMapFixed) {
  auto memory = map_memory(8 * page);
  touch(memory);
  ::madvise(memory.data() + 2 * page, page, MADV_DONTNEED);
  EXPECT_TRUE(forgotten(memory));
  map_memory(page, memory.data() + 3 * page);
  EXPECT_TRUE(forgotten(memory));
  void* moved = ::mremap(memory.data(), 8 * page, 1024 * page, MREMAP_MAYMOVE);
  ASSERT_NE(moved, MAP_FAILED);
  EXPECT_TRUE(forgotten(memory));
  ::munmap(moved, 1024 * page);
}

TEST_F(Ucm, SeesWhatTheAllocatorGivesBack) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  auto block = std::make_unique<std::byte[]>(bytes);
  touch({block.get(), bytes});
  const std::size_t registered = registrar->statistics().cached_bytes;
  EXPECT_GE(registered, bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(block.get());
  block.reset();
  unsigned char resident = 0;
  void* first_page = reinterpret_cast<void*>(address / page * page);
  if (::mincore(first_page, page, &resident) == 0) GTEST_SKIP() << "this allocator keeps the block";
  registrar->collect();
  EXPECT_LT(registrar->statistics().cached_bytes, bytes);
}

TEST_F(Ucm, SilentAfterTheEnd) {
  const auto memory = map_memory(page);
  touch(memory);
  registrar.reset();
  ::munmap(memory.data(), memory.size());
  EXPECT_EQ(api.live(), 0U);
}

}  // namespace
}  // namespace godwit::verbs
