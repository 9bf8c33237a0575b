// Every algorithm on several nodes: equal ones, uneven ones, ranks in any order. And who crosses between nodes.
#include "collectives/nodes.hpp"

#include "collectives/verifier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace godwit::collectives {
namespace {

/// Node of each rank; two of a kind are numbered in the order of their first ranks.
const std::vector<std::vector<int>>& layouts() {
  static const std::vector<std::vector<int>> all = {
      {0, 0, 1, 1},                 // 2 x 2
      {0, 0, 0, 0, 1, 1, 1, 1},     // 2 x 4
      {0, 0, 0, 1, 1, 1, 2, 2, 2},  // 3 x 3
      {0, 1, 0, 1, 0, 1},           // dealt out
      {0, 1, 2, 3, 0, 1, 2, 3},
      {0, 0, 0, 1},  // uneven
      {0, 1, 1, 1, 1},
      {0, 0, 1, 1, 1, 1, 1, 2, 2, 2},
      {0, 1, 1, 0, 2, 1, 2, 3, 3, 0, 0},
      {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6},
  };
  return all;
}

NodeShape shape_of(const std::vector<int>& layout) {
  NodeShape shape{1 + *std::ranges::max_element(layout), 1, &layout};
  for (int node = 0; node < shape.nodes; ++node)
    shape.ranks_per_node = std::max(shape.ranks_per_node, static_cast<int>(std::ranges::count(layout, node)));
  return shape;
}

class OnNodes : public testing::TestWithParam<const Algorithm*> {
 protected:
  template <class F>
  void for_each(std::uint64_t count, F&& visit) const {
    for (const std::vector<int>& layout : layouts()) {
      Problem p{.collective = GetParam()->collective,
                .size = static_cast<int>(layout.size()),
                .count = count,
                .type = DataType::int32};
      p.shape = shape_of(layout);
      if (GetParam()->applies(p)) visit(p);
    }
  }
  void prove(const Problem& p, std::uint32_t seed = 0) const {
    EXPECT_EQ(verify(*GetParam(), p, seed), "") << to_string(p);
  }
};

TEST_P(OnNodes, AreRightForAnyLayout) {
  for (std::uint64_t count : {0, 1, 5, 24})
    for_each(count, [&](Problem p) {
      for (const bool in_place : {false, true})
        for (Rank root = 0; root < (p.rooted() ? p.size : 1); ++root) {
          p.in_place = in_place;
          p.root = root;
          prove(p);
        }
    });
}

TEST_P(OnNodes, AreRightWhenCutIntoChunks) {
  for (std::uint64_t chunk : {1, 7, 100})
    for_each(23, [&](Problem p) {
      p.chunk_bytes = chunk * p.element_size();
      p.op = ReduceOp::avg;
      for (std::uint32_t seed = 0; seed < 3; ++seed) prove(p, seed);
    });
}

// A list of the ranks' nodes and the rule that ranks fill nodes in their order say the same.
TEST_P(OnNodes, NeedNoListForFullNodes) {
  for (const int size : {8, 11, 12}) {
    Problem p{.collective = GetParam()->collective, .size = size, .count = 6, .type = DataType::int32};
    p.shape = {(size + 3) / 4, 4};
    if (GetParam()->applies(p)) prove(p);
  }
}

// What a wrong shape costs is time, not the result.
TEST_P(OnNodes, AreRightForAShapeThatIsWrong) {
  Problem p{.collective = GetParam()->collective, .size = 10, .count = 7, .type = DataType::int32};
  for (const NodeShape shape : {NodeShape{2, 3}, NodeShape{7, 2}, NodeShape{2, 9}}) {
    p.shape = shape;
    if (GetParam()->applies(p)) prove(p);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OnNodes, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& test) {
                           return std::string(to_string(test.param->collective)) + "_" + std::string(test.param->name);
                         });

const Algorithm& find(Collective collective, std::string_view name) { return *find_algorithm(collective, name); }

/// Elements that cross between nodes in all.
std::uint64_t crossing(const Algorithm& algorithm, const Problem& p) {
  std::uint64_t elements = 0;
  for (Rank rank = 0; rank < p.size; ++rank)
    for (const Step& step : build(algorithm, p, rank).steps)
      if (step.kind == StepKind::send && rank / p.shape.ranks_per_node != step.peer / p.shape.ranks_per_node)
        elements += step.count;
  return elements;
}

TEST(TwoLevels, CrossTheNetworkAsLittleAsNeeded) {
  Problem p{.size = 16, .count = 64, .shape = {4, 4}};
  const auto of = [&](Collective collective, std::string_view name) {
    p.collective = collective;
    return crossing(find(collective, name), p);
  };
  // 4 nodes, reduce-scatter and allgather of one vector among them.
  EXPECT_EQ(of(Collective::allreduce, "rails"), 2U * 3 * 64);
  EXPECT_EQ(of(Collective::allreduce, "hierarchical"), 4U * 2 * 64);
  EXPECT_EQ(of(Collective::broadcast, "hierarchical"), 3U * 64);
  EXPECT_EQ(of(Collective::reduce, "hierarchical"), 3U * 64);
  // Each of 16 blocks enters, or leaves, the 3 other nodes once.
  EXPECT_EQ(of(Collective::allgather, "hierarchical"), 16U * 3 * 64);
  EXPECT_EQ(of(Collective::reduce_scatter, "hierarchical"), 16U * 3 * 64);
  EXPECT_EQ(of(Collective::alltoall, "hierarchical"), 16U * 12 * 64);
  EXPECT_LT(5 * of(Collective::allgather, "pat"), 3 * of(Collective::allgather, "bruck"));
}

TEST(TwoLevels, AlltoallSendsFewMessages) {
  const Problem p{.collective = Collective::alltoall, .size = 64, .count = 1, .shape = {8, 8}};
  const Schedule schedule = build(find(Collective::alltoall, "hierarchical"), p, 9);
  EXPECT_EQ(std::ranges::count(schedule.steps, StepKind::send, &Step::kind), 14);
}

TEST(TwoLevels, ChannelsLeaveNodesAtDifferentRanks) {
  const Problem p{.collective = Collective::allreduce, .size = 16, .count = 64, .shape = {4, 4}};
  std::set<Rank> leaving;
  for (Rank rank = 0; rank < p.size; ++rank)
    for (const Step& step : build(find(Collective::allreduce, "ring_channels"), p, rank).steps)
      if (step.kind == StepKind::send && rank / 4 != step.peer / 4) leaving.insert(rank);
  EXPECT_EQ(leaving.size(), 16U);
}

TEST(Pat, HoldsFewBlocks) {
  Problem p{.collective = Collective::reduce_scatter, .size = 256, .count = 1 << 20, .type = DataType::float32};
  EXPECT_LE(build(find(Collective::reduce_scatter, "pat"), p, 3).scratch_count, 14 * p.count);
  p.count = 16;
  EXPECT_LE(build(find(Collective::reduce_scatter, "pat"), p, 3).scratch_count, 14 * p.chunk());
}

}  // namespace
}  // namespace godwit::collectives
