// ThreadBootstrap and SingletonBootstrap.
#include "pmi/threads.hpp"
#include "harness.hpp"
#include "pmi/singleton.hpp"

#include <future>
#include <thread>

namespace godwit::pmi {
namespace {

using test::card_of;
using test::error_of;

TEST(ThreadJob, EveryRankGetsAllCards) {
  for (const int size : {1, 2, 5, 8}) {
    ThreadJob job(size);
    std::vector<std::jthread> threads;
    for (Rank rank = 0; rank < size; ++rank) {
      threads.emplace_back([&job, rank, size] {
        const auto bootstrap = job.join(rank);
        bootstrap->exchange(card_of(rank));
        EXPECT_EQ(bootstrap->job().rank, rank);
        EXPECT_EQ(bootstrap->job().size, size);
        for (Rank other = 0; other < size; ++other) EXPECT_EQ(bootstrap->card(other), card_of(other));
      });
    }
  }
}

TEST(ThreadJob, JobsHaveDifferentNames) {
  ThreadJob a(1), b(1);
  EXPECT_NE(a.join(0)->job().id, b.join(0)->job().id);
}

TEST(ThreadJob, NamesWhoDidNotCome) {
  ThreadJob job(4, 0.3);
  const auto one = job.join(1), three = job.join(3);
  auto other = std::async(std::launch::async, [&] { return error_of([&] { three->exchange(card_of(3)); }); });
  EXPECT_NE(error_of([&] { one->exchange(card_of(1)); }).find("ranks 0, 2"), std::string::npos);
  EXPECT_NE(other.get().find("ranks 0, 2"), std::string::npos);
}

TEST(ThreadJob, RefusesStrangeAndDoubleRanks) {
  ThreadJob job(2);
  const auto zero = job.join(0);
  EXPECT_NE(error_of([&] { job.join(0); }).find("joined already"), std::string::npos);
  EXPECT_NE(error_of([&] { job.join(2); }).find("no such rank"), std::string::npos);
}

TEST(ThreadJob, ReportsDeathsToTheOthersOnce) {
  ThreadJob job(3);
  const auto zero = job.join(0), one = job.join(1), two = job.join(2);
  std::vector<std::string> seen;
  zero->on_failure([&](Rank rank, const std::string& reason) { seen.push_back(std::to_string(rank) + reason); });
  two->on_failure([](Rank rank, const std::string&) { EXPECT_NE(rank, 2) << "told of its own death"; });
  job.report_death(2, "killed");
  job.report_death(2, "again");
  EXPECT_EQ(seen, std::vector<std::string>{"2killed"});
  Rank late = -1;
  one->on_failure([&](Rank rank, const std::string&) { late = rank; });
  EXPECT_EQ(late, 2);
  zero->finalize();
  one->abort(7, "no more");
  EXPECT_EQ(seen.size(), 1u);  // finalized: hears no more
}

TEST(Singleton, IsAJobOfOne) {
  SingletonBootstrap alone;
  EXPECT_EQ(alone.job().size, 1);
  alone.exchange(card_of(0));
  EXPECT_EQ(alone.card(0), card_of(0));
  EXPECT_NE(error_of([&] { alone.card(1); }), "");
  EXPECT_NE(alone.job().id, SingletonBootstrap().job().id);
}

}  // namespace
}  // namespace godwit::pmi
