// The registration cache: hits, merges, evictions, notices, and life without it.
#include "memory_api.hpp"

#include <cmath>

namespace godwit::verbs {
namespace {

TEST(Registrar, KeepsARegistrationAfterUse) {
  Stage stage;
  ASSERT_TRUE(stage.registrar->caching());
  const Registered& first = stage.acquire(Pages::bytes(100, 5000));
  EXPECT_EQ(first.memory.data(), stage.pages.span(0, 2).data()) << "whole pages";
  EXPECT_EQ(first.memory.size(), 2 * page);
  stage.registrar->release(&first);
  EXPECT_EQ(&stage.acquire(Pages::bytes(0, 1)), &first);
  EXPECT_EQ(&stage.acquire(Pages::bytes(8191, 1)), &first);
  stage.registrar->release(&first);
  stage.registrar->release(&first);
  EXPECT_EQ(stage.api.registrations, 1);
  EXPECT_EQ(stage.statistics().hits, 2U);
  EXPECT_EQ(stage.statistics().misses, 1U);
  EXPECT_EQ(stage.statistics().cached_bytes, 2 * page);
  stage.registrar->flush();
  EXPECT_EQ(stage.api.live(), 0U);
  EXPECT_EQ(stage.statistics().cached_bytes, 0U);
}

TEST(Registrar, UnmappedMemoryIsRegisteredAnew) {
  Stage stage;
  const Registered& first = stage.acquire(0, 4);
  const Keys key = first.lkey;
  stage.registrar->release(&first);
  stage.remap(3, 1);
  const Registered& second = stage.acquire(0, 4);
  EXPECT_FALSE(second.lkey == key);
  EXPECT_EQ(stage.api.live(), 1U) << "the old one is gone";
  EXPECT_EQ(stage.statistics().invalidations, 1U);
  stage.registrar->release(&second);
}

TEST(Registrar, PartsOfPagesCountAsPages) {
  Stage stage;
  stage.touch(4, 2);
  const auto begin = reinterpret_cast<std::uintptr_t>(stage.pages.span(3, 1).data());
  stage.wire->queue->push(begin, page);  // ends where it begins
  stage.registrar->collect();
  EXPECT_EQ(stage.statistics().invalidations, 0U);
  stage.wire->queue->push(begin - page + 1, 3 * page - 10);  // ends within page 4
  stage.registrar->collect();
  EXPECT_EQ(stage.statistics().invalidations, 1U);
  EXPECT_EQ(stage.api.live(), 0U);
}

TEST(Registrar, ARegionInUseLivesUntilItIsReleased) {
  Stage stage;
  stage.touch(0, 2);
  const Registered& held = stage.acquire(0, 1);
  stage.remap(1, 1);
  stage.registrar->collect();
  EXPECT_TRUE(stage.api.reaches(held, stage.pages.span(0, 1)));
  const Registered& other = stage.acquire(0, 2);
  EXPECT_NE(&other, &held);
  stage.registrar->release(&held);
  EXPECT_EQ(stage.api.live(), 1U);
  stage.registrar->release(&other);
  EXPECT_EQ(stage.api.live(), 1U) << "that one is valid and stays";
}

TEST(Registrar, MergesNeighbours) {
  Stage stage;
  stage.touch(0, 2);
  stage.touch(3, 1);
  EXPECT_EQ(stage.statistics().merges, 0U) << "there is a page between them";
  stage.touch(2, 2);
  EXPECT_EQ(stage.statistics().merges, 1U);
  EXPECT_EQ(stage.api.live(), 1U);
  stage.touch(0, 4);
  EXPECT_EQ(stage.statistics().hits, 1U);
  const Registered& other_access = stage.acquire(stage.pages.span(4, 4), IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(other_access.memory.size(), 4 * page);
  stage.registrar->release(&other_access);
  EXPECT_EQ(stage.statistics().merges, 1U) << "only with the same access";
}

// The notice comes while the adapter registers, the unmapping only after that.
TEST(Registrar, ANoticeDuringAMergeIsNotMissed) {
  Stage stage;
  stage.touch(0, 2);
  stage.api.refuse = [&](std::uintptr_t begin, std::size_t) {
    stage.wire->queue->push(begin, page);
    return 0;
  };
  stage.touch(2, 2);
  EXPECT_EQ(stage.statistics().merges, 1U);
  stage.api.refuse = nullptr;
  stage.pages.unmap(0);
  stage.pages.map(0);
  stage.touch(0, 1);
  EXPECT_EQ(stage.statistics().invalidations, 1U);
}

TEST(Registrar, ARegionInUseIsMergedAndStaysUntilItIsReleased) {
  Stage stage;
  const Registered& held = stage.acquire(0, 2);
  stage.touch(1, 2);
  EXPECT_EQ(stage.api.live(), 2U);
  EXPECT_TRUE(stage.api.reaches(held, stage.pages.span(0, 2)));
  stage.registrar->release(&held);
  EXPECT_EQ(stage.api.live(), 1U);
  stage.touch(0, 3);
  EXPECT_EQ(stage.statistics().hits, 1U);
}

// Steps that share a page with the step before, as rows of a matrix do.
TEST(Registrar, WalkingThroughMemoryCostsLittlePerByte) {
  constexpr std::size_t count = 4096;
  for (const std::size_t step : {page, 3 * page + 100}) {
    Stage stage(count);
    for (std::size_t offset = 0; offset + step <= count * page; offset += step)
      stage.registrar->release(&stage.acquire(Pages::bytes(offset, step)));
    EXPECT_LT(static_cast<double>(stage.api.registered_bytes), count * page * (std::log2(count) + 2.0));
    EXPECT_LT(stage.api.live(), 40U);
    const auto misses = stage.statistics().misses;
    for (std::size_t offset = 0; offset + step <= count * page; offset += step)
      stage.registrar->release(&stage.acquire(Pages::bytes(offset, step)));
    EXPECT_EQ(stage.statistics().misses, misses) << "all of it is there the second time";
  }
}

TEST(Registrar, WhatCannotBeRegisteredTogetherIsRegisteredAlone) {
  Stage stage;
  stage.touch(0, 2);
  stage.api.refuse = [](std::uintptr_t, std::size_t bytes) { return bytes > 2 * page ? EFAULT : 0; };
  stage.touch(2, 2);
  EXPECT_EQ(stage.statistics().merges, 0U);
  EXPECT_EQ(stage.statistics().failures, 0U);
  stage.touch(0, 2);
  const int registrations = stage.api.registrations;
  stage.touch(0, 2);
  stage.touch(2, 2);
  EXPECT_EQ(stage.api.registrations, registrations) << "they do not drive each other out";
}

// A neighbour was unmapped without a notice: the memory asked for is registered all the same.
TEST(Registrar, AStaleNeighbourDoesNoHarm) {
  Stage stage;
  stage.touch(0, 2);
  stage.pages.unmap(0);
  stage.touch(2, 2);
  EXPECT_EQ(stage.statistics().failures, 0U);
}

TEST(Registrar, EvictsWhatWasUsedLongestAgo) {
  Stage stage(256, {{"IB_REG_CACHE_ENTRIES", "3"}});
  for (const std::size_t place : {0, 10, 20}) stage.touch(place, 1);
  stage.touch(0, 1);
  stage.touch(30, 1);
  EXPECT_EQ(stage.statistics().evictions, 1U);
  EXPECT_EQ(stage.api.live(), 3U);
  const auto hits = stage.statistics().hits;
  for (const std::size_t place : {0, 20, 30}) stage.touch(place, 1);
  EXPECT_EQ(stage.statistics().hits, hits + 3);
  stage.touch(10, 1);
  EXPECT_EQ(stage.statistics().hits, hits + 3);
}

TEST(Registrar, StaysWithinItsBytesOnceNothingIsInUse) {
  Stage stage(256, {{"IB_REG_CACHE_BYTES", "64K"}});
  std::vector<const Registered*> held;
  for (std::size_t place = 0; place < 240; place += 20) held.push_back(&stage.acquire(place, 8));
  EXPECT_EQ(stage.statistics().cached_bytes, 12 * 8 * page) << "what is in use cannot go";
  for (const Registered* each : held) stage.registrar->release(each);
  EXPECT_LE(stage.statistics().cached_bytes, 16 * page);
  EXPECT_EQ(stage.api.live(), 2U);
  stage.touch(100, 17);
  EXPECT_EQ(stage.api.live(), 2U) << "one that is too large by itself drives nothing out, and is not kept";
}

TEST(Registrar, LostNoticesInvalidateEverything) {
  Stage stage;
  for (std::size_t place = 0; place < 200; place += 10) stage.touch(place, 1);
  const Registered& region = stage.registrar->register_region(stage.pages.span(205, 1), full_access);
  for (std::size_t i = 0; i < UnmapQueue::capacity; ++i) stage.unmap(1, 1);
  stage.remap(190, 1);  // this one is lost
  stage.touch(190, 1);
  EXPECT_EQ(stage.statistics().overflows, 1U);
  EXPECT_EQ(stage.statistics().cached_regions, 1U);
  stage.registrar->release(&stage.acquire(205, 1));
  EXPECT_EQ(stage.statistics().hits, 1U) << "registered regions are promised to stay mapped";
  stage.registrar->deregister_region(region);
}

TEST(Registrar, WithoutNoticesItRegistersEachTime) {
  for (const char* wanted : {"auto", "on"}) {
    Stage stage(256, {{"IB_REG_CACHE", wanted}}, Status(ErrorCode::not_supported, "nobody knows"));
    EXPECT_FALSE(stage.registrar->caching());
    EXPECT_NE(stage.logged().find(std::string(wanted) == "on" ? "warning" : "info"), std::string::npos);
    for (const char* word : {"test_0", "nobody knows", "each large transfer", "GODWIT_IB_REG_CACHE=off"})
      EXPECT_NE(stage.logged().find(word), std::string::npos) << word << " in " << stage.logged();
    const Registered& one = stage.acquire(0, 1);
    const Registered& two = stage.acquire(0, 1);
    EXPECT_NE(&one, &two);
    stage.registrar->release(&one);
    stage.registrar->release(&two);
    EXPECT_EQ(stage.api.live(), 0U);
    stage.remap(0, 1);
    stage.touch(0, 1);
    EXPECT_EQ(stage.api.registrations, 3);
  }
}

TEST(Registrar, OffAsksNobody) {
  Stage stage(256, {{"IB_REG_CACHE", "off"}});
  EXPECT_FALSE(stage.registrar->caching());
  EXPECT_EQ(stage.wire->queue, nullptr);
  stage.touch(0, 1);
  EXPECT_EQ(stage.api.live(), 0U);
}

TEST(Registrar, RefusesWithWords) {
  Stage stage;
  stage.pages.unmap(5);
  EXPECT_EQ(stage.registrar->acquire(stage.pages.span(4, 3), full_access), nullptr);
  EXPECT_EQ(stage.registrar->failure().code(), ErrorCode::invalid_argument);
  for (const char* word : {"12K", "test_0", "not all of it is mapped"})
    EXPECT_NE(stage.registrar->failure().message().find(word), std::string::npos);
  EXPECT_EQ(stage.registrar->acquire(stage.pages.span(100, 0), full_access), nullptr);
  EXPECT_EQ(stage.statistics().failures, 2U);
  stage.touch(0, 1);
}

TEST(Registrar, MoreRightsServeFewerButNotAnotherOrder) {
  Stage stage;
  stage.touch(0, 1);
  stage.registrar->release(&stage.acquire(stage.pages.span(0, 1), IBV_ACCESS_LOCAL_WRITE));
  stage.registrar->release(&stage.acquire(stage.pages.span(0, 1), 0));
  EXPECT_EQ(stage.statistics().hits, 2U);
  stage.registrar->release(&stage.acquire(stage.pages.span(0, 1), full_access | IBV_ACCESS_REMOTE_ATOMIC));
  stage.registrar->release(&stage.acquire(stage.pages.span(0, 1), full_access | IBV_ACCESS_RELAXED_ORDERING));
  EXPECT_EQ(stage.statistics().hits, 2U);
}

TEST(Registrar, AFailingDeregistrationIsLogged) {
  Stage stage;
  stage.touch(0, 1);
  stage.api.deregistration_error = EBUSY;
  stage.registrar->flush();
  EXPECT_NE(stage.logged().find("cannot deregister 4096 bytes"), std::string::npos) << stage.logged();
  EXPECT_EQ(stage.api.live(), 1U);
  stage.api.deregistration_error = 0;
  const MemoryApi::Pinned* left = stage.api.find(1);
  ASSERT_NE(left, nullptr);
  stage.api.dereg_mr(const_cast<ibv_mr*>(&left->region));
}

TEST(Registrar, WhatIsStillHeldIsDeregisteredAtTheEndWithAWarning) {
  Stage stage;
  stage.acquire(0, 1);
  stage.registrar.reset();
  EXPECT_EQ(stage.api.live(), 0U);
  EXPECT_NE(stage.logged().find("1 regions are still in use"), std::string::npos) << stage.logged();
}

}  // namespace
}  // namespace godwit::verbs
