#include "collectives/tuning.hpp"

#include "collectives/selector.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace godwit::collectives {
namespace {

Tuning example() {
  Tuning tuning;
  tuning.set({8,
              2,
              4,
              {{Collective::allreduce, 1024, find_algorithm(Collective::allreduce, "kary"), 3.5},
               {Collective::broadcast, 64, find_algorithm(Collective::broadcast, "chain"), 1},
               {Collective::allreduce, 65536, find_algorithm(Collective::allreduce, "ring"), 80}}});
  return tuning;
}

Problem allreduce(std::uint64_t bytes, int size = 8, NodeShape shape = {2, 4}) {
  return {.collective = Collective::allreduce, .size = size, .count = bytes, .shape = shape};
}

std::string_view found(const Tuning& tuning, const Problem& problem) {
  const Algorithm* known = tuning.find(problem);
  return known == nullptr ? "nothing" : known->name;
}

TEST(Tuning, AnswersForTheShapeAndTheSizeThatWereMeasured) {
  const Tuning tuning = example();
  EXPECT_EQ(found(tuning, allreduce(8)), "kary");
  EXPECT_EQ(found(tuning, allreduce(1024)), "kary");
  EXPECT_EQ(found(tuning, allreduce(1025)), "ring");
  EXPECT_EQ(found(tuning, allreduce(1 << 30)), "ring") << "as the largest that was measured";
  EXPECT_EQ(found(tuning, allreduce(8, 8, {1, 8})), "nothing");
  EXPECT_EQ(found(tuning, allreduce(8, 4, {1, 4})), "nothing");
  EXPECT_EQ(found(tuning, {.collective = Collective::scan, .size = 8, .count = 8, .shape = {2, 4}}), "nothing");
}

TEST(Tuning, ComesBackFromItsText) {
  const Tuning tuning = example(), again = Tuning::parse(tuning.text(), "here");
  EXPECT_EQ(again.text(), tuning.text());
  EXPECT_EQ(again.hash(), tuning.hash());
  EXPECT_NE(tuning.hash(), 0U);
  EXPECT_EQ(Tuning().hash(), 0U);
}

TEST(Tuning, AShapeTakesThePlaceOfItsForerunnerOnly) {
  Tuning tuning = example();
  tuning.set({4, 1, 4, {{Collective::allreduce, 8, find_algorithm(Collective::allreduce, "ring"), 1}}});
  tuning.set({8, 2, 4, {{Collective::allreduce, 8, find_algorithm(Collective::allreduce, "binomial"), 1}}});
  EXPECT_EQ(found(tuning, allreduce(8)), "binomial");
  EXPECT_EQ(found(tuning, allreduce(8, 4, {1, 4})), "ring");
}

TEST(Tuning, WhatIsWrongWithAFileIsSaid) {
  const auto with = [](std::string_view what) {
    return std::string(R"({"godwit_tuning":1,"shapes":[{"ranks":2,"nodes":1,"ranks_per_node":2,"ranges":[)") +
           std::string(what) + "]}]}";
  };
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"", "not a table of algorithms"},
      {"[]", "not a table of algorithms"},
      {R"({"godwit_tuning":7,"shapes":[]})", "version 7 of the table, 1 is understood"},
      {R"({"godwit_tuning":1,"shapes":[{"ranks":0,"nodes":1,"ranks_per_node":1,"ranges":[]}]})", "cannot be"},
      {with(R"({"collective":"allreduse","bytes":8,"algorithm":"ring"})"), "no collective 'allreduse'"},
      {with(R"({"collective":"scan","bytes":8,"algorithm":"ring"})"), "scan has no algorithm 'ring', but doubling"},
      {with(R"({"collective":"scan","algorithm":"chain"})"), "bytes"},
  };
  for (const auto& [text, words] : cases) {
    try {
      Tuning::parse(text, "the file");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("the file: "), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(Tuning::load("/nonexistent/table.json"), Error);
}

TEST(Tuning, ComesBeforePricesButNotBeforeRules) {
  const Tuning tuning = example();
  const Selector tuned({}, {}, {}, &tuning);
  EXPECT_EQ(tuned.choose(allreduce(8)).name, "kary") << "on request, but measured";
  EXPECT_TRUE(tuned.candidates(allreduce(8)).front().measured);
  EXPECT_NE(tuned.choose(allreduce(8, 4, {1, 4})).name, "kary");
  const Selector ruled(SelectionRules::parse("allreduce:binomial,ring"), {}, {}, &tuning);
  EXPECT_NE(ruled.choose(allreduce(8)).name, "kary");
  EXPECT_EQ(ruled.choose(allreduce(65536)).name, "ring");
}

}  // namespace
}  // namespace godwit::collectives
