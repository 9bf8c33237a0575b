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
  const std::string every_allreduce = "recursive_doubling binomial rabenseifner ring";
  const std::string every_broadcast = "binomial chain scatter_allgather";
  const std::vector<Case> cases = {
      {"", every_allreduce, every_broadcast},
      {"  ", every_allreduce, every_broadcast},
      {"allreduce:ring", "ring", every_broadcast},
      {"allreduce:ring,rabenseifner;broadcast:binomial", "rabenseifner ring", "binomial"},
      {"allreduce: ring , Recursive-Doubling ; ", "recursive_doubling ring", every_broadcast},
      {"AllReduce:RING", "ring", every_broadcast},
      {"allreduce:^ring", "recursive_doubling binomial rabenseifner", every_broadcast},
      {"allreduce:^ring,binomial", "recursive_doubling rabenseifner", every_broadcast},
      {"Ring,Tree", "recursive_doubling binomial ring", "binomial chain"},
      {"Ring", "ring", "chain"},
      {"^Tree", "rabenseifner ring", "chain scatter_allgather"},
      {"rabenseifner", "rabenseifner", every_broadcast},
      {"ring;allreduce:tree", "recursive_doubling binomial", "chain"},
      {"allreduce:tree;ring", "recursive_doubling binomial", "chain"},
      {"broadcast:scatterallgather", every_allreduce, "scatter_allgather"},
  };
  for (const Case& c : cases) {
    const SelectionRules rules = SelectionRules::parse(c.rules);
    EXPECT_EQ(allowed(rules, Collective::allreduce), c.allreduce) << c.rules;
    EXPECT_EQ(allowed(rules, Collective::broadcast), c.broadcast) << c.rules;
    EXPECT_EQ(allowed(rules, Collective::barrier), "dissemination") << c.rules;
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
      {"barrier:^dissemination", "leaves no algorithm for barrier"},
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
  EXPECT_EQ(allowed(rules, Collective::allreduce, 0), "ring");
  EXPECT_EQ(allowed(rules, Collective::barrier, 0), "dissemination");
  EXPECT_EQ(allowed(rules, Collective::gather, 0), "binomial linear");
  rules.set_tree_threshold(100);
  EXPECT_EQ(allowed(rules, Collective::allreduce, 99), "recursive_doubling binomial rabenseifner ring");
  EXPECT_EQ(allowed(rules, Collective::allreduce, 100), "ring");
}

}  // namespace
}  // namespace godwit::collectives
