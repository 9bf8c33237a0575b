// Published figures of other people's machines (NCCL's all_reduce_perf), against predictions by the cluster files of
// docs/clusters with one point of each series calibrated. The tolerances are what docs/simulator.md states: where a
// prediction is off, the test says by how much.
#include "collectives/algorithm.hpp"
#include "simulate/cluster_file.hpp"
#include "simulate/options.hpp"
#include "tool/file_text.hpp"

#include "collectives/simulator/prediction.hpp"

#include <gtest/gtest.h>

#include <string>

namespace godwit::apps {
namespace {

using namespace collectives;
using namespace collectives::simulator;

constexpr std::uint64_t MB = 1 << 20, GB = 1 << 30;

Cluster cluster_of(const std::string& name) {
  const std::string path = std::string(GODWIT_DOCS) + "/clusters/" + name + ".json";
  return parse_cluster(file_text(path), path);
}

const Algorithm& allreduce(std::string_view name) {
  if (const Algorithm* known = find_algorithm(Collective::allreduce, name)) return *known;
  throw std::invalid_argument(std::string(name));
}

/// GB/s, as all_reduce_perf prints it.
double busbw(const Cluster& cluster, const Algorithm& algorithm, int ranks, std::uint64_t bytes) {
  const Problem problem{
      .collective = Collective::allreduce, .size = ranks, .count = bytes / 4, .type = DataType::float32};
  const double seconds = predict(cluster, algorithm, problem).seconds;
  return static_cast<double>(bytes) / seconds / 1e9 *
         bus_factor(Benchmark::all_reduce, static_cast<std::size_t>(ranks));
}

/// With the rail's bandwidth such that a ring of 64 ranks has this bus bandwidth at 1 GB.
Cluster calibrated(Cluster cluster, double published) {
  for (int i = 0; i < 3; ++i) cluster.rail.bandwidth_Bps *= published / busbw(cluster, allreduce("ring"), 64, GB);
  EXPECT_NEAR(busbw(cluster, allreduce("ring"), 64, GB), published, published * 0.01);
  return cluster;
}

void expect_off_by(double predicted, double published, double low_percent, double high_percent) {
  const double off = (predicted / published - 1) * 100;
  EXPECT_GE(off, low_percent) << predicted << " predicted, " << published << " published";
  EXPECT_LE(off, high_percent) << predicted << " predicted, " << published << " published";
}

// An algorithm as the figures at 1 MB need it, whatever the list has: the ranks of a node reduce a part of the vector
// each, the same parts are reduced between the nodes by halving and doubling, and are gathered within the node.
void build_hierarchical(ScheduleBuilder& b) {
  const int locals = b.problem().shape.ranks_per_node, nodes = b.problem().shape.nodes;
  const int local = b.rank() % locals, node = b.rank() / locals;
  const auto rank_of = [&](int n, int l) { return n * locals + l; };
  const Range mine = part(b.count(), locals, local);
  for (int l = 0; l < locals; ++l)
    if (l != local)
      b.send_chunks(rank_of(node, l), b.input(part(b.count(), locals, l).begin), part(b.count(), locals, l).size());
  Place current = b.input(mine.begin);
  for (int l = 0; l < locals; ++l) {
    if (l == local) continue;
    b.recv_reduce(rank_of(node, l), current, b.output(mine.begin), mine.size(), Order::mine_first);
    current = b.output(mine.begin);
  }
  Range range = mine;
  std::vector<std::pair<int, std::pair<Range, Range>>> halves;  // peer, kept, given
  for (int distance = nodes / 2; distance >= 1; distance /= 2) {
    const std::uint64_t middle = range.begin + range.size() / 2;
    const bool upper = (node & distance) != 0;
    const Range low{range.begin, middle}, high{middle, range.end};
    const Range keep = upper ? high : low, give = upper ? low : high;
    const int peer = rank_of(node ^ distance, local);
    b.send_chunks(peer, b.output(give.begin), give.size());
    b.recv_reduce(peer, b.output(keep.begin), b.output(keep.begin), keep.size(), Order::mine_first);
    halves.push_back({peer, {keep, give}});
    range = keep;
  }
  for (auto half = halves.rbegin(); half != halves.rend(); ++half) {
    b.send_chunks(half->first, b.output(half->second.first.begin), half->second.first.size());
    b.recv_chunks(half->first, b.output(half->second.second.begin), half->second.second.size());
  }
  for (int l = 0; l < locals; ++l)
    if (l != local) b.send_chunks(rank_of(node, l), b.output(mine.begin), mine.size());
  for (int l = 0; l < locals; ++l)
    if (l != local)
      b.recv_chunks(rank_of(node, l), b.output(part(b.count(), locals, l).begin), part(b.count(), locals, l).size());
}

Cost cost_hierarchical(const Problem& problem) noexcept {
  return {.messages = 50 * pieces(problem, static_cast<double>(problem.bytes()) / 8)};
}

const Algorithm hierarchical{"hierarchical", "", Collective::allreduce, always, cost_hierarchical, build_hierarchical};

/// The best of the runtime's algorithms.
double best_busbw(const Cluster& cluster, int ranks, std::uint64_t bytes) {
  double best = 0;
  for (const Algorithm* known : algorithms())
    if (known->collective == Collective::allreduce &&
        known->applies(placed(cluster, {.collective = Collective::allreduce, .size = ranks, .count = bytes})))
      best = std::max(best, busbw(cluster, *known, ranks, bytes));
  return best;
}

TEST(Published, EightNodesOverHdr) {
  const Cluster cluster = calibrated(cluster_of("hdr_one_rail"), 23);
  expect_off_by(busbw(cluster, allreduce("ring"), 64, 100 * MB), 22, 0, 8);
  expect_off_by(busbw(cluster, hierarchical, 64, MB), 18, -20, 20);
  // Whatever of that the list of algorithms has.
  expect_off_by(best_busbw(cluster, 64, MB), 18, -80, 20);
}

TEST(Published, EightNodesOverRoce) {
  const Cluster cluster = calibrated(cluster_of("roce100_one_rail"), 12);
  expect_off_by(busbw(cluster, allreduce("ring"), 64, 100 * MB), 11, 0, 12);
  expect_off_by(busbw(cluster, hierarchical, 64, MB), 8, -10, 45);
  expect_off_by(best_busbw(cluster, 64, MB), 8, -70, 45);
}

TEST(Published, OneNodeOfH100) { expect_off_by(busbw(cluster_of("dgx_h100"), allreduce("ring"), 8, GB), 370, -6, 6); }

// Eight adapters of the HDR series above, which was calibrated with one.
TEST(Published, TwoNodesOfA100) {
  Cluster cluster = cluster_of("dgx_a100");
  cluster.rail.bandwidth_Bps = calibrated(cluster_of("hdr_one_rail"), 23).rail.bandwidth_Bps;
  expect_off_by(busbw(cluster, allreduce("ring"), 16, GB), 192, -10, 5);
}

}  // namespace
}  // namespace godwit::apps
