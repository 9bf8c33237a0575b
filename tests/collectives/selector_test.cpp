#include "collectives/selector.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace godwit::collectives {
namespace {

Problem allreduce(int size, std::uint64_t bytes) {
  return {.collective = Collective::allreduce,
          .size = size,
          .count = bytes / 4,
          .type = DataType::float32,
          .shape = {1, size}};
}

std::string choice(const Problem& problem, const LinkModel& link = {}) {
  return std::string(Selector({}, link, link).choose(problem).name);
}

TEST(Selector, PrefersFewRoundsWhenSmallAndFewBytesWhenLarge) {
  EXPECT_EQ(choice(allreduce(8, 64)), "recursive_doubling");
  EXPECT_EQ(choice(allreduce(2, 64)), "recursive_doubling");
  const std::string large = choice(allreduce(8, 256 << 20));
  EXPECT_TRUE(large == "ring" || large == "rabenseifner") << large;
  EXPECT_EQ(choice({.collective = Collective::broadcast, .size = 2, .count = 1 << 28}), "binomial");
  EXPECT_EQ(choice({.collective = Collective::alltoall, .size = 64, .count = 1}), "bruck");
  EXPECT_EQ(choice({.collective = Collective::alltoall, .size = 64, .count = 1 << 20}), "pairwise");
}

TEST(Selector, PrefersFewMessagesWhenRanksShareCpus) {
  const LinkModel crowded{.latency_s = 1e-9, .overhead_s = 1e-6, .crowding = 64};
  EXPECT_EQ(choice(allreduce(64, 8), crowded), "binomial");
}

TEST(Selector, DoesNotLookAtInPlace) {
  for (std::uint64_t bytes = 8; bytes < 1 << 30; bytes *= 2)
    for (std::size_t i = 0; i < collective_count; ++i) {
      Problem problem = allreduce(6, bytes);
      problem.collective = static_cast<Collective>(i);
      const std::string apart = choice(problem);
      problem.in_place = true;
      EXPECT_EQ(choice(problem), apart);
    }
}

TEST(Selector, UsesTheLinkBetweenNodesForSeveralNodes) {
  const LinkModel fast{.latency_s = 1e-9, .overhead_s = 1e-9, .bandwidth_Bps = 1e6};
  const LinkModel far{.latency_s = 1, .overhead_s = 1e-9, .bandwidth_Bps = 1e12};
  const Selector selector({}, fast, far);
  Problem problem = allreduce(16, 1 << 20);
  EXPECT_EQ(selector.choose(problem).name, "rabenseifner");
  problem.shape = {2, 8};
  EXPECT_EQ(selector.choose(problem).name, "recursive_doubling");
}

TEST(Selector, PrefersTwoLevelsBetweenNodes) {
  const LinkModel near{.latency_s = 0.6e-6, .bandwidth_Bps = 8e9}, far{.latency_s = 2.1e-6, .bandwidth_Bps = 12e9};
  const Selector selector({}, near, far);
  const auto choice_of = [&](Collective collective, std::uint64_t count) {
    return selector.choose({.collective = collective, .size = 128, .count = count, .shape = {16, 8}}).name;
  };
  EXPECT_EQ(choice_of(Collective::barrier, 0), "hierarchical");
  EXPECT_EQ(choice_of(Collective::allreduce, 2048), "hierarchical");
  EXPECT_EQ(choice_of(Collective::allreduce, 32768), "rails");
  EXPECT_EQ(choice_of(Collective::alltoall, 8), "hierarchical");
  EXPECT_EQ(choice_of(Collective::allgather, 4096), "hierarchical");
  EXPECT_EQ(choice_of(Collective::reduce_scatter, 4096), "hierarchical");
}

TEST(Selector, TakesAlgorithmsOnRequestWhereTheyAreNamed) {
  for (const std::string_view name : {"", "broadcast:knomial"}) {
    const Selector selector(SelectionRules::parse(name), {}, {});
    for (const NodeShape& shape : {NodeShape{1, 4}, NodeShape{4, 1}}) {
      const Problem problem{.collective = Collective::broadcast, .size = 4, .count = 8, .shape = shape};
      EXPECT_EQ(selector.choose(problem).name, name.empty() ? "binomial" : "knomial");
    }
  }
}

TEST(Selector, SaysWhatWouldApplyWhenNothingAllowedDoes) {
  const Selector selector(SelectionRules::parse("allgather:recursive_doubling"), {}, {});
  EXPECT_EQ(selector.choose({.collective = Collective::allgather, .size = 4, .count = 1}).name, "recursive_doubling");
  try {
    selector.choose({.collective = Collective::allgather, .size = 6, .count = 1});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_supported);
    EXPECT_NE(std::string(error.what()).find("bruck, ring"), std::string::npos) << error.what();
  }
}

TEST(SelectionTable, NamesEveryCollectiveAndExplains) {
  const std::string table = selection_table(Selector({}, {}, {}), 8, {1, 8});
  for (std::size_t i = 0; i < collective_count; ++i)
    EXPECT_NE(table.find("\n" + std::string(to_string(static_cast<Collective>(i))) + "\n"), std::string::npos) << table;
  EXPECT_NE(table.find("recursive_doubling"), std::string::npos);
  EXPECT_NE(table.find("rounds"), std::string::npos);
  EXPECT_NE(table.find("next "), std::string::npos);
}

}  // namespace
}  // namespace godwit::collectives
