#include "collectives/selection_rules.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace godwit::collectives {
namespace {

/// Names of the allowed algorithms, in the order of the list.
std::string allowed(const SelectionRules& rules, Collective collective, std::uint64_t count = 1) {
  const Problem problem{.collective = collective, .size = 4, .count = count, .type = DataType::uint8};
  std::string names;
  for (const Algorithm* algorithm : algorithms())
    if (algorithm->collective == collective && rules.allows(*algorithm, problem))
      names += (names.empty() ? "" : " ") + std::string(algorithm->name);
  return names;
}

struct Case {
  std::string rules, allreduce, broadcast;
};

TEST(SelectionRules, Grammar) {
  const std::string every_allreduce =
      "recursive_doubling binomial rabenseifner ring circulant double_tree hierarchical rails ring_channels knomial "
      "kary";
  const std::string every_broadcast = "binomial chain scatter_allgather double_tree hierarchical knomial kary";
  const std::string trees = "recursive_doubling binomial double_tree knomial kary";
  const std::vector<Case> cases = {
      {"", every_allreduce, every_broadcast},
      {"  ", every_allreduce, every_broadcast},
      {"allreduce:ring", "ring ring_channels", every_broadcast},
      {"allreduce:ring,rabenseifner;broadcast:binomial", "rabenseifner ring ring_channels", "binomial"},
      {"allreduce: ring_channels , Recursive-Doubling ; ", "recursive_doubling ring_channels", every_broadcast},
      {"AllReduce:RING", "ring ring_channels", every_broadcast},
      {"allreduce:^ring",
       "recursive_doubling binomial rabenseifner circulant double_tree hierarchical rails knomial kary",
       every_broadcast},
      {"allreduce:^ring,tree,rails", "rabenseifner circulant hierarchical", every_broadcast},
      {"Ring,Tree", "recursive_doubling binomial ring double_tree ring_channels knomial kary",
       "binomial chain double_tree knomial kary"},
      {"Ring", "ring ring_channels", "chain"},
      {"^Tree", "rabenseifner ring circulant hierarchical rails ring_channels", "chain scatter_allgather hierarchical"},
      {"rabenseifner", "rabenseifner", every_broadcast},
      {"ring;allreduce:tree", trees, "chain"},
      {"allreduce:tree;ring", trees, "chain"},
      {"broadcast:scatterallgather", every_allreduce, "scatter_allgather"},
  };
  for (const Case& c : cases) {
    const SelectionRules rules = SelectionRules::parse(c.rules);
    EXPECT_EQ(allowed(rules, Collective::allreduce), c.allreduce) << c.rules;
    EXPECT_EQ(allowed(rules, Collective::broadcast), c.broadcast) << c.rules;
    EXPECT_EQ(allowed(rules, Collective::barrier), "dissemination hierarchical") << c.rules;
  }
}

TEST(SelectionRules, ErrorsNameTheWordAndTheKnownOnes) {
  const std::vector<std::vector<std::string>> cases = {
      {"allreduce:rign", "'rign'", "did you mean 'ring'", "rabenseifner"},
      {"allredcue:ring", "'allredcue'", "did you mean 'allreduce'", "alltoall"},
      {"allreduce:chain", "'chain'", "algorithm of allreduce", "ring"},
      {"nonsense", "'nonsense'", "known are", "dissemination"},
      {"ring,,tree", "''", "known are"},
      {"allreduce:", "''", "known are"},
      {"^", "''", "known are"},
      {"barrier:^dissemination,hierarchical", "leaves no algorithm for barrier"},
  };
  for (const auto& c : cases) {
    try {
      (void)SelectionRules::parse(c[0]);
      ADD_FAILURE() << c[0] << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      for (std::size_t i = 1; i < c.size(); ++i)
        EXPECT_NE(std::string(error.what()).find(c[i]), std::string::npos) << c[i] << " in " << error.what();
    }
  }
}

TEST(SelectionRules, TreeThreshold) {
  SelectionRules rules;
  rules.set_tree_threshold(0);
  EXPECT_EQ(allowed(rules, Collective::allreduce, 0), "ring ring_channels");
  EXPECT_EQ(allowed(rules, Collective::barrier, 0), "dissemination hierarchical");
  EXPECT_EQ(allowed(rules, Collective::gather, 0), "binomial linear");
  rules.set_tree_threshold(100);
  EXPECT_EQ(allowed(rules, Collective::broadcast, 99),
            "binomial chain scatter_allgather double_tree hierarchical knomial kary");
  EXPECT_EQ(allowed(rules, Collective::broadcast, 100), "chain");
}

}  // namespace
}  // namespace godwit::collectives
