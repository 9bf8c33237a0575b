// The matcher against MPI's rules: by hand, and against a naive reference with random input.
#include "core/matcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <set>

namespace godwit::core {
namespace {

// Receives and messages with stable addresses, and short names for what the tests do.
struct Bench {
  Operation& receive(std::uint32_t context, Rank source, Tag tag) {
    Operation& operation = pool.acquire(Operation::Kind::recv);
    operation.context = context;
    operation.source = source;
    operation.tag = tag;
    matcher.post(operation);
    return operation;
  }
  Unexpected& message(std::uint32_t context, Rank source, Tag tag) {
    Unexpected& unexpected = matcher.acquire();
    unexpected.context = context;
    unexpected.source = source;
    unexpected.tag = tag;
    matcher.add(unexpected);
    return unexpected;
  }
  Matcher matcher;
  OperationPool pool;
};

TEST(Matcher, NothingFitsAnEmptyOne) {
  Bench bench;
  EXPECT_EQ(bench.matcher.arrived(0, 0, 0), nullptr);
  EXPECT_EQ(bench.matcher.take(0, any_source, any_tag), nullptr);
  EXPECT_EQ(bench.matcher.find(0, 1, 2), nullptr);
}

TEST(Matcher, EqualReceivesMatchInOrderOfPosting) {
  Bench bench;
  Operation& first = bench.receive(2, 1, 5);
  Operation& second = bench.receive(2, 1, 5);
  EXPECT_EQ(bench.matcher.arrived(2, 1, 5), &first);
  EXPECT_EQ(bench.matcher.arrived(2, 1, 5), &second);
  EXPECT_EQ(bench.matcher.arrived(2, 1, 5), nullptr);
  EXPECT_EQ(bench.matcher.posted_count(), 0U);
}

TEST(Matcher, ContextSourceAndTagMustAllFit) {
  Bench bench;
  Operation& receive = bench.receive(2, 1, 5);
  EXPECT_EQ(bench.matcher.arrived(4, 1, 5), nullptr);
  EXPECT_EQ(bench.matcher.arrived(2, 2, 5), nullptr);
  EXPECT_EQ(bench.matcher.arrived(2, 1, 6), nullptr);
  EXPECT_EQ(bench.matcher.arrived(2, 1, 5), &receive);
}

TEST(Matcher, WildAndExactReceivesMatchInOrderOfPosting) {
  for (const auto& [source, tag] : {std::pair<Rank, Tag>{any_source, 5}, {1, any_tag}, {any_source, any_tag}}) {
    Bench bench;
    Operation& wild_first = bench.receive(2, source, tag);
    Operation& exact = bench.receive(2, 1, 5);
    Operation& wild_last = bench.receive(2, source, tag);
    EXPECT_EQ(bench.matcher.arrived(2, 1, 5), &wild_first);
    EXPECT_EQ(bench.matcher.arrived(2, 1, 5), &exact);
    EXPECT_EQ(bench.matcher.arrived(2, 1, 5), &wild_last);
  }
}

TEST(Matcher, WildReceivesStayWithinTheirContext) {
  Bench bench;
  bench.receive(2, any_source, any_tag);
  EXPECT_EQ(bench.matcher.arrived(3, 1, 5), nullptr);
  EXPECT_EQ(bench.matcher.arrived(0, 1, 5), nullptr);
}

TEST(Matcher, UnexpectedMessagesComeInOrderOfArrival) {
  Bench bench;
  Unexpected& first = bench.message(2, 1, 5);
  Unexpected& other_tag = bench.message(2, 1, 6);
  Unexpected& other_source = bench.message(2, 3, 5);
  Unexpected& last = bench.message(2, 1, 5);
  EXPECT_EQ(bench.matcher.find(2, any_source, any_tag), &first);
  EXPECT_EQ(bench.matcher.unexpected_count(), 4U) << "find() takes nothing";
  EXPECT_EQ(bench.matcher.take(2, 1, 5), &first);
  EXPECT_EQ(bench.matcher.take(2, any_source, 5), &other_source);
  EXPECT_EQ(bench.matcher.take(2, 1, any_tag), &other_tag);
  EXPECT_EQ(bench.matcher.take(2, any_source, any_tag), &last);
  EXPECT_EQ(bench.matcher.unexpected_count(), 0U);
}

TEST(Matcher, ARemovedReceiveIsNeverMatched) {
  Bench bench;
  Operation& exact = bench.receive(2, 1, 5);
  Operation& wild = bench.receive(2, any_source, 5);
  Operation& rest = bench.receive(2, 1, 5);
  EXPECT_TRUE(bench.matcher.remove(exact));
  EXPECT_FALSE(bench.matcher.remove(exact)) << "it is not posted any more";
  EXPECT_TRUE(bench.matcher.remove(wild));
  EXPECT_EQ(bench.matcher.posted_count(), 1U);
  EXPECT_EQ(bench.matcher.arrived(2, 1, 5), &rest);
  EXPECT_FALSE(bench.matcher.remove(rest));
}

TEST(Matcher, OrderSurvivesGrowth) {
  Bench bench;
  constexpr int rounds = 40, tags = 100;
  std::map<Tag, std::vector<Operation*>> posted;
  std::map<Tag, std::vector<Unexpected*>> arrived;
  for (int round = 0; round < rounds; ++round)
    for (Tag tag = 0; tag < tags; ++tag) {
      posted[tag].push_back(&bench.receive(2, 1, tag));
      arrived[tag].push_back(&bench.message(4, 1, tag));
    }
  for (Tag tag = 0; tag < tags; ++tag)
    for (int round = 0; round < rounds; ++round) {
      ASSERT_EQ(bench.matcher.arrived(2, 1, tag), posted[tag][static_cast<std::size_t>(round)]);
      ASSERT_EQ(bench.matcher.take(4, 1, tag), arrived[tag][static_cast<std::size_t>(round)]);
    }
}

TEST(Matcher, ElementsAreReused) {
  Bench bench;
  std::set<Unexpected*> seen;
  for (int i = 0; i < 1000; ++i) {
    bench.message(2, 1, i).data.resize(100);
    Unexpected* taken = bench.matcher.take(2, 1, i);
    seen.insert(taken);
    bench.matcher.recycle(*taken);
  }
  EXPECT_EQ(seen.size(), 1U);
}

// --- against a reference -----------------------------------------------------------------------------------------

struct Entry {
  std::uint32_t context;
  Rank source;
  Tag tag;
  void* element;
};

bool fits(const Entry& receive, const Entry& message) {
  return receive.context == message.context && (receive.source == any_source || receive.source == message.source) &&
         (receive.tag == any_tag || receive.tag == message.tag);
}

// The rules, word for word: the earliest of all that fit.
struct Reference {
  template <class Fits>
  static void* take(std::list<Entry>& entries, Fits&& matches, bool remove = true) {
    const auto found = std::find_if(entries.begin(), entries.end(), matches);
    if (found == entries.end()) return nullptr;
    void* element = found->element;
    if (remove) entries.erase(found);
    return element;
  }
  void* arrived(const Entry& message) {
    return take(receives, [&](const Entry& receive) { return fits(receive, message); });
  }
  void* posted(const Entry& receive, bool remove) {
    return take(
        messages, [&](const Entry& message) { return fits(receive, message); }, remove);
  }
  std::list<Entry> receives, messages;
};

class MatcherRandom : public ::testing::TestWithParam<int> {};

TEST_P(MatcherRandom, AgreesWithTheReference) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()) * 1000 + round);
    Bench bench;
    Reference reference;
    // Few values make many matches, many values make long queues.
    const std::uint64_t contexts = 1 + random() % 3, sources = 1 + random() % 8;
    const std::uint64_t tags = random() % 2 == 0 ? 1 + random() % 4 : 1 + random() % 400;
    const std::uint64_t wild = random() % 60, receive_share = 30 + random() % 40;
    std::vector<Operation*> posted;
    const auto draw = [&](bool may_be_wild) {
      Entry entry{static_cast<std::uint32_t>(random() % contexts), static_cast<Rank>(random() % sources),
                  static_cast<Tag>(random() % tags), nullptr};
      if (may_be_wild && random() % 100 < wild) entry.source = any_source;
      if (may_be_wild && random() % 100 < wild) entry.tag = any_tag;
      return entry;
    };
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t choice = random() % 100;
      if (choice < 5) {
        const Entry probe = draw(true);
        ASSERT_EQ(bench.matcher.find(probe.context, probe.source, probe.tag), reference.posted(probe, false));
      } else if (choice < 10 && !posted.empty()) {
        Operation* cancelled = posted[random() % posted.size()];
        const void* there = Reference::take(reference.receives, [&](const Entry& e) { return e.element == cancelled; });
        ASSERT_EQ(bench.matcher.remove(*cancelled), there != nullptr);
      } else if (random() % 100 < receive_share) {
        Entry receive = draw(true);
        Unexpected* taken = bench.matcher.take(receive.context, receive.source, receive.tag);
        ASSERT_EQ(taken, reference.posted(receive, true)) << "step " << step;
        if (taken != nullptr) {
          bench.matcher.recycle(*taken);
          continue;
        }
        receive.element = posted.emplace_back(&bench.receive(receive.context, receive.source, receive.tag));
        reference.receives.push_back(receive);
      } else {
        Entry message = draw(false);
        Operation* matched = bench.matcher.arrived(message.context, message.source, message.tag);
        ASSERT_EQ(matched, reference.arrived(message)) << "step " << step;
        if (matched != nullptr) continue;
        message.element = &bench.message(message.context, message.source, message.tag);
        reference.messages.push_back(message);
      }
      ASSERT_EQ(bench.matcher.posted_count(), reference.receives.size());
      ASSERT_EQ(bench.matcher.unexpected_count(), reference.messages.size());
    }
    std::vector<void*> in_order;
    bench.matcher.for_each_unexpected([&](Unexpected& message) { in_order.push_back(&message); });
    ASSERT_TRUE(std::ranges::equal(in_order, reference.messages, {}, {}, &Entry::element));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MatcherRandom, ::testing::Range(0, 25));

}  // namespace
}  // namespace godwit::core
