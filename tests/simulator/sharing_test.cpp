// Max-min fair shares: the textbook cases, and that nothing is used beyond its capacity.
#include "collectives/simulator/sharing.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace godwit::collectives::simulator {
namespace {

/// Runs until all jobs have ended; when each owner's did.
std::map<std::uint64_t, double> ends(Sharing& sharing, double now = 0) {
  std::map<std::uint64_t, double> times;
  for (double next = sharing.next_end(now); next != Sharing::never; next = sharing.next_end(next))
    for (std::uint64_t owner = 0; sharing.pop(next, owner);) times[owner] = next;
  return times;
}

TEST(Sharing, OneJobHasItAll) {
  Sharing sharing({10.0});
  sharing.start(1, 20, std::vector<Use>{{0, 1}}, 7);
  EXPECT_EQ(ends(sharing, 1), (std::map<std::uint64_t, double>{{7, 3.0}}));
}

TEST(Sharing, TwoShareAndTheLongerOneSpeedsUp) {
  Sharing sharing({10.0});
  sharing.start(0, 10, std::vector<Use>{{0, 1}}, 1);
  sharing.start(0, 30, std::vector<Use>{{0, 1}}, 2);
  const auto times = ends(sharing);
  EXPECT_DOUBLE_EQ(times.at(1), 2);  // at 5
  EXPECT_DOUBLE_EQ(times.at(2), 4);  // 10 by then, 20 more at 10
}

TEST(Sharing, IsMaxMinFair) {
  // Jobs 1 and 2 share A (10); 2 and 3 share B (100): 1 and 2 get 5, job 3 what is left of B.
  Sharing sharing({10.0, 100.0});
  sharing.start(0, 5, std::vector<Use>{{0, 1}}, 1);
  sharing.start(0, 5, std::vector<Use>{{0, 1}, {1, 1}}, 2);
  sharing.start(0, 95, std::vector<Use>{{1, 1}}, 3);
  for (const auto& [owner, time] : ends(sharing)) EXPECT_DOUBLE_EQ(time, 1) << owner;
}

TEST(Sharing, CountsWhatAUnitNeeds) {
  Sharing sharing({1.0, 1.0});
  sharing.start(0, 8, std::vector<Use>{{0, 0.25}, {1, 0.5}}, 1);
  EXPECT_DOUBLE_EQ(ends(sharing).at(1), 4);
  EXPECT_DOUBLE_EQ(sharing.used()[0], 2);
  EXPECT_DOUBLE_EQ(sharing.used()[1], 4);
}

TEST(Sharing, NoWorkEndsAtOnce) {
  Sharing sharing({1.0});
  sharing.start(5, 0, std::vector<Use>{{0, 1}}, 1);
  EXPECT_DOUBLE_EQ(ends(sharing, 5).at(1), 5);
}

// Jobs come and go: what each resource has carried by the end never exceeds capacity times time, and all end.
TEST(Sharing, NeverGivesMoreThanThereIs) {
  std::minstd_rand random(42);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> capacities;
    for (int i = 0; i < 6; ++i) capacities.push_back(1.0 + static_cast<double>(random() % 9));
    Sharing sharing(capacities);
    double now = 0;
    std::size_t ended = 0, begun = 0;
    std::uint64_t owner = 0;
    while (begun < 40 || ended < begun) {
      if (begun < 40 && (random() % 2 == 0 || begun == ended)) {
        std::vector<Use> uses{{static_cast<ResourceId>(random() % 3), 1},
                              {static_cast<ResourceId>(3 + random() % 3), 2}};
        sharing.start(now, 1.0 + static_cast<double>(random() % 20), uses, begun++);
        continue;
      }
      now = sharing.next_end(now);
      ASSERT_NE(now, Sharing::never);
      while (sharing.pop(now, owner)) ++ended;
    }
    for (std::size_t i = 0; i < capacities.size(); ++i)
      EXPECT_LE(sharing.used()[i], capacities[i] * now * (1 + 1e-9)) << "round " << round;
  }
}

}  // namespace
}  // namespace godwit::collectives::simulator
