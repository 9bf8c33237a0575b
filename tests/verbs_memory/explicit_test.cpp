// Regions that the user registers: exact, counted, with errors in words; dma-buf; fork.
#include "memory_api.hpp"
#include "verbs/fork_safety.hpp"

namespace godwit::verbs {
namespace {

template <class F>
Status error_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return Status(error.code(), error.what());
  }
  return {};
}

TEST(ExplicitRegion, IsRegisteredExactlyAndOnce) {
  Stage stage;
  const std::span<std::byte> memory = Pages::bytes(10, 100);
  const Registered& region = stage.registrar->register_region(memory, full_access);
  EXPECT_EQ(region.memory.data(), memory.data());
  EXPECT_EQ(region.memory.size(), 100U);
  EXPECT_TRUE(stage.api.reaches(region, memory));
  EXPECT_EQ(&stage.registrar->register_region(memory, full_access), &region);
  EXPECT_NE(&stage.registrar->register_region(memory, 0), &region);
  EXPECT_NE(&stage.registrar->register_region(Pages::bytes(10, 99), full_access), &region);
  EXPECT_EQ(stage.api.registrations, 3);
  stage.registrar->deregister_region(region);
  EXPECT_EQ(stage.api.live(), 3U) << "it was registered twice";
  stage.registrar->deregister_region(region);
  EXPECT_EQ(stage.api.live(), 2U);
  stage.registrar.reset();
  EXPECT_NE(stage.logged().find("2 regions are still in use"), std::string::npos);
}

TEST(ExplicitRegion, ServesTransfersOfItsMemoryWithOrWithoutTheCache) {
  for (const char* cache : {"auto", "off"}) {
    Stage stage(256, {{"IB_REG_CACHE", cache}});
    const Registered& region = stage.registrar->register_region(stage.pages.span(2, 4), full_access);
    EXPECT_EQ(&stage.acquire(3, 2), &region);
    stage.registrar->deregister_region(region);
    EXPECT_EQ(stage.api.live(), 1U) << "in use";
    stage.registrar->release(&region);
    EXPECT_EQ(stage.api.live(), 0U);
    EXPECT_EQ(stage.statistics().explicit_bytes, 0U);
  }
}

TEST(ExplicitRegion, IsAcquiredWhereKnownAndNothingIsRegisteredElsewhere) {
  for (const char* cache : {"auto", "off"}) {
    Stage stage(256, {{"IB_REG_CACHE", cache}});
    const Registered& region = stage.registrar->register_region(stage.pages.span(2, 4), full_access);
    EXPECT_EQ(stage.registrar->acquire_known(stage.pages.span(3, 2), full_access), &region);
    EXPECT_EQ(stage.registrar->acquire_known(stage.pages.span(5, 2), full_access), nullptr) << "half of it is not";
    EXPECT_EQ(stage.api.registrations, 1);
    EXPECT_EQ(stage.statistics().misses, 0U);
    stage.registrar->deregister_region(region);
    EXPECT_EQ(stage.api.live(), 1U) << "in use";
    stage.registrar->release(&region);
    EXPECT_EQ(stage.api.live(), 0U);
  }
}

TEST(ExplicitRegion, IsNeitherMergedNorEvicted) {
  Stage stage(256, {{"IB_REG_CACHE_ENTRIES", "1"}});
  const Registered& region = stage.registrar->register_region(stage.pages.span(2, 1), full_access);
  stage.touch(3, 2);
  EXPECT_EQ(stage.statistics().merges, 0U);
  stage.touch(10, 1);
  stage.touch(20, 1);
  EXPECT_EQ(stage.api.live(), 2U);
  stage.touch(1, 3);  // holds it
  EXPECT_TRUE(stage.api.reaches(region, stage.pages.span(2, 1)));
  stage.registrar->deregister_region(region);
  EXPECT_EQ(stage.api.live(), 1U);
}

TEST(ExplicitRegion, UnmappedTooEarlyIsSaid) {
  Stage stage;
  const Registered& region = stage.registrar->register_region(stage.pages.span(0, 2), full_access);
  stage.remap(1, 1);
  const Registered& again = stage.registrar->register_region(stage.pages.span(0, 2), full_access);
  EXPECT_NE(&again, &region);
  EXPECT_TRUE(stage.api.reaches(again, stage.pages.span(0, 2)));
  EXPECT_NE(stage.logged().find("while they are a registered region"), std::string::npos) << stage.logged();
  stage.touch(0, 2);
  stage.registrar->deregister_region(region);
  stage.registrar->deregister_region(again);
}

// The notice of what was there before is no fault of the region that is there now.
TEST(ExplicitRegion, OldNoticesDoNotTouchIt) {
  Stage stage;
  const Registered& old = stage.registrar->register_region(stage.pages.span(0, 2), full_access);
  const Registered& other = stage.registrar->register_region(stage.pages.span(8, 2), full_access);
  stage.registrar->deregister_region(old);
  stage.remap(0, 2);
  const Registered& region = stage.registrar->register_region(stage.pages.span(0, 2), full_access);
  EXPECT_EQ(&stage.acquire(0, 2), &region);
  stage.registrar->release(&region);
  EXPECT_EQ(stage.logged().find("registered region:"), std::string::npos) << stage.logged();
  stage.registrar->deregister_region(region);
  stage.registrar->deregister_region(other);
}

TEST(ExplicitRegion, WithoutBytesHasNoKeys) {
  Stage stage;
  const Registered& region = stage.registrar->register_region({}, full_access);
  EXPECT_EQ(region.lkey.value, 0U);
  EXPECT_EQ(stage.api.registrations, 0);
  stage.registrar->deregister_region(region);
  EXPECT_EQ(stage.api.deregistrations, 0);
}

TEST(ExplicitRegion, RefusalIsAnErrorAndForgotten) {
  Stage stage;
  stage.api.refuse = [](std::uintptr_t, std::size_t) { return EINVAL; };
  const auto attempt = [&] { stage.registrar->register_region(stage.pages.span(0, 1), full_access); };
  EXPECT_EQ(error_of(attempt).code(), ErrorCode::invalid_argument);
  stage.api.refuse = nullptr;
  const Registered& region = stage.registrar->register_region(stage.pages.span(0, 1), full_access);
  stage.registrar->deregister_region(region);
}

TEST(Dmabuf, IsRegisteredOrNotSupported) {
  Stage stage;
  const auto attempt = [&] { stage.registrar->register_dmabuf(3, 0, page, Pages::first_address, full_access); };
  const Status status = error_of(attempt);
  EXPECT_EQ(status.code(), ErrorCode::not_supported);
  for (const char* word : {"dma-buf", "test_0", "host memory"})
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  stage.api.dmabuf_error = EBADF;
  EXPECT_EQ(error_of(attempt).code(), ErrorCode::invalid_argument);
  stage.api.dmabuf_error = 0;
  const Registered& region = stage.registrar->register_dmabuf(3, 0, page, Pages::first_address, full_access);
  EXPECT_EQ(stage.api.live(), 1U);
  const Registered& host = stage.acquire(0, 1);
  EXPECT_NE(&host, &region) << "that is other memory than the host has there";
  stage.registrar->release(&host);
  stage.registrar->deregister_region(region);
  EXPECT_EQ(stage.statistics().explicit_regions, 0U);
  EXPECT_EQ(stage.api.live(), 1U);
}

TEST(Fork, IsPreparedOnlyWhereTheKernelDoesNot) {
  for (const ibv_fork_status status : {IBV_FORK_UNNEEDED, IBV_FORK_ENABLED, IBV_FORK_DISABLED}) {
    MemoryApi api;
    api.fork_status = status;
    EXPECT_TRUE(prepare_for_fork(api).ok());
    EXPECT_EQ(api.fork_calls, status == IBV_FORK_DISABLED ? 1 : 0);
  }
  MemoryApi api;
  api.fork_status = IBV_FORK_DISABLED;
  api.fork_error = EINVAL;
  const Status status = prepare_for_fork(api);
  EXPECT_EQ(status.code(), ErrorCode::not_supported);
  for (const char* word : {"fork() is not safe", "Invalid argument", "RDMAV_FORK_SAFE=1"})
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
}

}  // namespace
}  // namespace godwit::verbs
