// Memory or the limit of locked memory runs out: unused registrations go first, then it is an error.
#include "memory_api.hpp"

namespace godwit::verbs {
namespace {

/// An adapter with room for `room` bytes.
void limit(Stage& stage, std::size_t room) {
  stage.api.refuse = [&stage, room](std::uintptr_t, std::size_t bytes) {
    return stage.statistics().bytes() + bytes > room ? ENOMEM : 0;
  };
}

TEST(Limits, UnusedRegistrationsMakeRoom) {
  Stage stage;
  limit(stage, 16 * page);
  for (std::size_t place = 0; place < 200; place += 10) stage.touch(place, 4);
  EXPECT_EQ(stage.statistics().failures, 0U);
  EXPECT_GT(stage.statistics().evictions, 0U);
  const Registered& region = stage.registrar->register_region(stage.pages.span(201, 16), full_access);
  EXPECT_EQ(stage.api.live(), 1U);
  EXPECT_EQ(stage.registrar->acquire(stage.pages.span(0, 1), full_access), nullptr);
  EXPECT_EQ(stage.registrar->failure().code(), ErrorCode::no_memory);
  EXPECT_NE(stage.registrar->failure().message().find("1 region (64K)"), std::string::npos)
      << stage.registrar->failure().message();
  stage.registrar->deregister_region(region);
  stage.touch(0, 1);
}

TEST(Limits, AMergeThatDoesNotFitIsLeft) {
  Stage stage;
  limit(stage, 10 * page);
  const Registered& held = stage.acquire(0, 4);
  stage.touch(4, 4);
  EXPECT_EQ(stage.statistics().failures, 0U);
  EXPECT_EQ(stage.statistics().merges, 0U);
  stage.registrar->release(&held);
}

TEST(Limits, WhatIsInUseStays) {
  Stage stage;
  limit(stage, 8 * page);
  const Registered& held = stage.acquire(0, 8);
  EXPECT_EQ(stage.registrar->acquire(stage.pages.span(20, 1), full_access), nullptr);
  EXPECT_TRUE(stage.api.reaches(held, stage.pages.span(0, 8)));
  stage.registrar->release(&held);
  stage.touch(20, 1);
}

}  // namespace
}  // namespace godwit::verbs
