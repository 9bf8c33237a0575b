// Everything at once, in random order, over random transports; the content of every message is checked.
#include <algorithm>
#include <random>

#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

class Soak : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  std::mt19937_64 random_{GetParam()};
  std::size_t random_size() {
    switch (random_() % 5) {
      case 0: return 0;
      case 1: return random_() % 64;
      case 2: return random_() % 2000;
      case 3: return 8000 + random_() % 400;
      default: return random_() % 40'000;
    }
  }
  ClusterSettings random_settings(int ranks) {
    const Variant& variant = variants()[random_() % variants().size()];
    ClusterSettings settings{
        .ranks = ranks, .fabric = variant.settings(true), .options = {{"EAGER_WINDOW", "64K"}}, .self = true};
    settings.fabric.queue_depth = 1 + random_() % 20;
    return settings;
  }
};

struct Flow {
  Rank from, to;
  Tag tag;
  std::size_t sent = 0, posted = 0;
};

Bytes content(const Flow& flow, std::size_t index, std::size_t size) {
  return pattern(size, static_cast<std::uint64_t>(flow.from * 7919 + flow.to * 104729) +
                           static_cast<std::uint64_t>(flow.tag) * 31 + index * 1009);
}

// Several flows (source, target, tag); each must arrive complete and in order, whoever receives with whatever wildcard.
TEST_P(Soak, MessagesOfManyFlows) {
  constexpr int ranks = 3;
  Cluster cluster(random_settings(ranks));
  std::vector<Flow> flows;
  for (Rank from = 0; from < ranks; ++from)
    for (Rank to = 0; to < ranks; ++to)
      for (Tag tag = 0; tag < 2; ++tag) flows.push_back({from, to, tag});
  constexpr std::size_t per_flow = 25;
  std::vector<std::vector<std::size_t>> sizes(flows.size());
  for (auto& of_flow : sizes)
    for (std::size_t i = 0; i < per_flow; ++i) of_flow.push_back(random_size());
  std::vector<Pending> outs;
  struct In {
    std::size_t flow;
    std::size_t index;
    Pending pending;
  };
  std::vector<In> ins;
  for (std::size_t left = 2 * per_flow * flows.size(); left > 0;) {
    const std::size_t which = random_() % flows.size();
    Flow& flow = flows[which];
    if (random_() % 2 == 0 && flow.sent < per_flow) {
      const std::size_t size = sizes[which][flow.sent];
      outs.push_back(cluster.send(flow.from, flow.to, content(flow, flow.sent, size), flow.tag, random_() % 8 == 0));
      ++flow.sent;
      --left;
    } else if (flow.posted < per_flow) {
      // Tags tell flows to one rank apart only with the source: so the source is never wild here, the tag never either.
      ins.push_back({which, flow.posted, cluster.recv(flow.to, flow.from, 40'000, flow.tag)});
      ++flow.posted;
      --left;
    }
    for (auto i = random_() % 4; i > 0; --i) cluster.fabric().step(random_);
    const auto rank = static_cast<Rank>(random_() % ranks);
    if (random_() % 2 == 0) cluster.worker(rank).progress();
  }
  cluster.settle(random_);
  for (In& in : ins) {
    const std::size_t size = sizes[in.flow][in.index];
    ASSERT_TRUE(in.pending.done());
    ASSERT_EQ(in.pending.status(), ErrorCode::ok);
    ASSERT_EQ(in.pending.info().size, size);
    in.pending.buffer().resize(size);
    ASSERT_TRUE(in.pending.buffer() == content(flows[in.flow], in.index, size));
  }
  for (const Pending& out : outs) ASSERT_TRUE(out.done());
  outs.clear();
  ins.clear();
  cluster.expect_clean();
}

// Wildcards: each receive takes the oldest message of its flow, whichever flow it is.
TEST_P(Soak, WildReceivesKeepTheOrderOfEachFlow) {
  Cluster cluster(random_settings(4));
  constexpr std::size_t per_source = 60;
  std::vector<Flow> flows;
  for (Rank from = 0; from < 4; ++from) flows.push_back({from, 0, 0});
  std::vector<Pending> outs, ins;
  const auto size_of = [](const Flow& flow, std::size_t index) {
    return (static_cast<std::size_t>(flow.from) * 37 + index * 211) % 12'000;
  };
  while (outs.size() < 4 * per_source || ins.size() < 4 * per_source) {
    Flow& flow = flows[random_() % 4];
    if (random_() % 2 == 0 && flow.sent < per_source) {
      outs.push_back(
          cluster.send(flow.from, 0, content(flow, flow.sent, size_of(flow, flow.sent)), static_cast<Tag>(flow.sent)));
      ++flow.sent;
    } else if (ins.size() < 4 * per_source) {
      ins.push_back(cluster.recv(0, any_source, 12'000, any_tag));
    }
    cluster.fabric().step(random_);
    cluster.worker(static_cast<Rank>(random_() % 4)).progress();
  }
  cluster.settle(random_);
  // Receives were posted in order, so the messages of one source appear in them in order.
  std::vector<std::size_t> next(4, 0);
  for (Pending& in : ins) {
    ASSERT_TRUE(in.done());
    ASSERT_EQ(in.status(), ErrorCode::ok);
    const auto source = static_cast<std::size_t>(in.info().source);
    const std::size_t index = next[source]++;
    ASSERT_EQ(in.info().tag, static_cast<Tag>(index));
    in.buffer().resize(in.info().size);
    ASSERT_TRUE(in.buffer() == content(flows[source], index, size_of(flows[source], index)));
  }
  outs.clear();
  ins.clear();
  cluster.expect_clean();
}

// Faults: a random cut, death, failed request or full queue in the middle of one of everything.
TEST_P(Soak, FaultsInTheMiddle) {
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    Cluster cluster(random_settings(3));
    if (random_() % 2 == 0) cluster.connect_all();
    Scenario scenario(cluster);
    const std::uint64_t from = cluster.fabric().accepted();
    if (random_() % 2 == 0) cluster.fabric().refuse_posts(cluster.fabric().posted() + random_() % 30, random_() % 5);
    const std::uint64_t fault = random_() % 4;
    if (fault == 0) cluster.fabric().fail_request(from + random_() % 40, ErrorCode::transport);
    scenario.post();
    for (auto i = random_() % 60; i > 0; --i) {
      cluster.fabric().step(random_);
      cluster.worker(static_cast<Rank>(random_() % 3)).progress();
    }
    Rank dead = any_source;
    if (fault == 1) cluster.fabric().cut(0, 1, ErrorCode::transport);
    if (fault == 2) cluster.kill(dead = static_cast<Rank>(random_() % 2));
    if (fault == 3) {
      const auto aborter = static_cast<Rank>(random_() % 3);
      cluster.worker(aborter).abort_group(cluster.world(aborter), ErrorCode::aborted, "soak");
    }
    cluster.settle(random_);
    if (dead != any_source)
      scenario.expect_consistent(1 - dead);
    else
      scenario.expect_consistent();
    scenario.clear(dead);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Soak, ::testing::Range<std::uint64_t>(1, 13));

}  // namespace
}  // namespace godwit::engine_test
