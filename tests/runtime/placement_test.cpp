// Ranks that share a core while others are idle: who finds out, by which cards, and in which words.
#include "runtime/placement.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "core/log.hpp"
#include "pmi/cores.hpp"

namespace godwit::runtime {
namespace {

std::optional<SharedCore> shared_core(const std::vector<Place>& places) { return find_shared_core(places); }

TEST(Placement, FindsSharedCores) {
  constexpr auto none = core::no_core;
  EXPECT_EQ(shared_core({}), std::nullopt);
  EXPECT_EQ(shared_core({{0, none}, {1, none}}), std::nullopt);
  EXPECT_EQ(shared_core({{0, 0}, {1, 1}, {2, none}}), std::nullopt);
  EXPECT_EQ(shared_core({{0, 0}, {1, 0}}), (SharedCore{{0, 1}, 0, 0, 1}));
  EXPECT_EQ(shared_core({{0, 4}, {1, none}, {2, 6}, {3, 6}, {5, 6}}), (SharedCore{{2, 3, 5}, 6, 0, 2}));
  EXPECT_EQ(shared_core({{0, 2}, {1, 2}, {2, 1}, {3, 1}, {4, 3}}), (SharedCore{{2, 3}, 1, 1, 3}));
}

TEST(Placement, Advice) {
  const std::string words = advice({{0, 1}, 4, 0, 1}, 8);
  EXPECT_TRUE(words.starts_with(
      "ranks 0-1 are bound to one core (CPU 4), while 7 of this host's 8 cores have no rank bound to them:"))
      << words;
  for (const char* cure : {"mpirun --bind-to core --map-by core", "srun --cpu-bind=cores", "godwit run --bind core"})
    EXPECT_NE(words.find(cure), std::string::npos) << words;
  EXPECT_EQ(words.find('\n'), std::string::npos);
  EXPECT_NE(advice({{0, 3}, 4, 2, 3}, 4)
                .find("ranks 0, 3 are bound to one core (CPU 4) and so are those of 2 more, "
                      "while 1 of this host's 4 cores has no rank bound to it"),
            std::string::npos);
}

TEST(Placement, NoAdviceWithoutAnIdleCore) {
  EXPECT_EQ(advice({{0, 1}, 0, 0, 1}, 1), "");
  EXPECT_EQ(advice({{0, 2}, 0, 1, 2}, 2), "");
}

// A job whose ranks are bound as its cards say.
class Cards : public core::PeerDirectory {
 public:
  explicit Cards(std::vector<core::Card> cards) : cards_(std::move(cards)) {}
  const core::Card& card(Rank rank) override {
    read.insert(rank);
    return cards_.at(static_cast<std::size_t>(rank));
  }
  int size() const noexcept override { return static_cast<int>(cards_.size()); }
  std::multiset<Rank> read;

 private:
  std::vector<core::Card> cards_;
};

core::Card card_on(std::uint64_t host, std::uint16_t core) {
  core::Card card;
  card.host.boot = host;
  card.core = core;
  card.cpu_count = core == core::no_core ? 64 : 1;
  return card;
}

// Which ranks warn, and what they say.
struct Warnings {
  std::set<Rank> ranks;
  std::string text;
  std::size_t cards_read = 0;
};

Warnings warnings(const std::vector<core::Card>& cards, const std::function<void(core::JobInfo&)>& launcher) {
  std::string path = ::testing::TempDir() + "godwit-placement-XXXXXX";
  const int fd = ::mkstemp(path.data());
  EXPECT_GE(fd, 0);
  ::close(fd);
  Warnings result;
  for (Rank rank = 0; rank < static_cast<Rank>(cards.size()); ++rank) {
    Cards directory(cards);
    core::JobInfo job;
    job.rank = rank;
    job.size = directory.size();
    launcher(job);
    {
      core::Log log(core::LogLevel::warn, path);
      warn_of_shared_cores(log, job, cards[static_cast<std::size_t>(rank)], directory);
    }
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    if (text.str().size() > result.text.size()) result.ranks.insert(rank);
    result.text = text.str();
    result.cards_read += directory.read.size();
  }
  ::unlink(path.c_str());
  return result;
}

const std::uint16_t only = 0;  // the core that all are bound to

class PlacementOnTwoCores : public ::testing::Test {
 protected:
  void SetUp() override {
    if (pmi::core_count() < 2) GTEST_SKIP() << "one core: none can be idle";
  }
};

TEST_F(PlacementOnTwoCores, TheFirstRankOfEachHostWarns) {
  // Two hosts, filled one after the other.
  std::vector<core::Card> cards;
  for (int rank = 0; rank < 8; ++rank) cards.push_back(card_on(rank < 4 ? 11 : 22, only));
  const auto slurm = warnings(cards, [](core::JobInfo& job) {
    job.local_rank = job.rank % 4;
    job.local_size = 4;
  });
  EXPECT_EQ(slurm.ranks, (std::set<Rank>{0, 4})) << slurm.text;
  EXPECT_EQ(slurm.cards_read, 8U) << "each card once in the whole job";
  EXPECT_NE(slurm.text.find("ranks 0-3 are bound"), std::string::npos) << slurm.text;
  EXPECT_NE(slurm.text.find("ranks 4-7 are bound"), std::string::npos) << slurm.text;
  // A launcher that says nothing.
  EXPECT_EQ(warnings(cards, [](core::JobInfo&) {}).ranks, (std::set<Rank>{0, 4}));
}

TEST_F(PlacementOnTwoCores, RanksDealtOutInTurn) {
  std::vector<core::Card> cards;
  for (int rank = 0; rank < 6; ++rank)
    cards.push_back(card_on(rank % 2 == 0 ? 11 : 22, rank % 2 == 0 ? only : core::no_core));
  const auto dealt = warnings(cards, [](core::JobInfo& job) {
    job.local_rank = job.rank / 2;
    job.local_size = 3;
  });
  EXPECT_EQ(dealt.ranks, std::set<Rank>{0}) << dealt.text;
  EXPECT_NE(dealt.text.find("ranks 0, 2, 4 are bound"), std::string::npos) << dealt.text;
}

TEST_F(PlacementOnTwoCores, SilentWhereAllIsWell) {
  const auto alone = [](core::JobInfo& job) {
    job.local_rank = job.rank;
    job.local_size = job.size;
  };
  EXPECT_EQ(warnings({card_on(1, 0), card_on(1, 1)}, alone).text, "");
  EXPECT_EQ(warnings({card_on(1, core::no_core), card_on(1, core::no_core)}, alone).text, "");
  EXPECT_EQ(warnings({card_on(1, 0)}, alone).text, "");
  EXPECT_EQ(warnings({card_on(1, 0), card_on(2, 0)}, [](core::JobInfo& job) { job.local_size = 1; }).text, "");
}

TEST_F(PlacementOnTwoCores, LargeJobsReadFewCards) {
  const std::vector<core::Card> cards(1000, card_on(1, only));
  const auto large = warnings(cards, [](core::JobInfo& job) {
    job.local_rank = job.rank;
    job.local_size = job.size;
  });
  EXPECT_EQ(large.ranks, std::set<Rank>{0});
  EXPECT_LE(large.cards_read, 256U);
}

}  // namespace
}  // namespace godwit::runtime
