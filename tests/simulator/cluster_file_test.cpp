// Cluster files: what they mean, and what is said about wrong ones.
#include "simulate/cluster_file.hpp"

#include "simulate/describe.hpp"
#include "tool/file_text.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace godwit::apps {
namespace {

using collectives::simulator::Cluster;
using collectives::simulator::Mover;
using collectives::simulator::RailUse;

/// A good file with `from` replaced by `to`, and what is said about it.
std::string complaint(const std::string& from, const std::string& to) {
  std::string text = R"({"nodes": 2, "ranks_per_node": 8, "inside": {"link": "nvlink4", "latency_us": 2},
                         "network": {"link": "ndr", "rails": 4, "rail_use": "all", "port": "pcie5"},
                         "ranks": {"reduce_GBps": 100}})";
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    parse_cluster(text, "c.json");
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(ClusterFile, SaysWhatIsWrong) {
  EXPECT_EQ(complaint("pcie5", "pcie5"), "");
  EXPECT_EQ(complaint("\"rails\"", "\"raills\""),
            "c.json: network.raills: unknown key (did you mean rails?); allowed are link, latency_us, overhead_us, "
            "bandwidth_GBps, rails, rail_use, port, hop_us, nodes_per_leaf, oversubscription");
  EXPECT_EQ(
      complaint("\"ndr\"", "\"ndr2\""),
      "c.json: network.link: expected one of edr, hdr, ndr, xdr, roce25, roce100, roce200, roce400, found \"ndr2\"");
  EXPECT_EQ(complaint("\"link\": \"ndr\", ", ""), "c.json: network.link: this key is missing");
  EXPECT_EQ(complaint("\"nodes\": 2, ", ""), "c.json: nodes: this key is missing");
  EXPECT_EQ(complaint("\"nodes\": 2", "\"nodes\": 2.5"), "c.json: nodes: expected a whole number, found 2.5");
  EXPECT_EQ(complaint("\"nodes\": 2", "\"nodes\": 0"),
            "c.json: cluster: the number of nodes is 0; at least 1 is needed");
  EXPECT_EQ(complaint("\"latency_us\": 2", "\"latency_us\": -2"),
            "c.json: inside.latency_us: expected a number from 0 to 1e200, found -2");
  EXPECT_EQ(complaint("\"pcie5\"", "\"pci\""),
            "c.json: network.port: expected pcie4, pcie5 or a bandwidth in GB/s, found \"pci\"");
  EXPECT_EQ(complaint("{\"reduce_GBps\": 100}", "7"), "c.json: ranks: expected an object, found 7");
  EXPECT_EQ(complaint("\"latency_us\": 2", "\"measured_us\": [[8, 1, 2]]"),
            "c.json: inside.measured_us[0]: expected a pair of bytes and microseconds, found an array");
  EXPECT_NE(complaint("}}", "}").find("c.json: not JSON: "), std::string::npos);
}

TEST(ClusterFile, KnowsLinksAndChangesThem) {
  const Cluster cluster = parse_cluster(
      R"({"name": "x", "nodes": 2, "ranks_per_node": 4, "inside": {"link": "pcie4", "bandwidth_GBps": 20},
          "network": {"link": "xdr", "rails": 2}})",
      "c.json");
  EXPECT_EQ(cluster.name, "x");
  EXPECT_EQ(cluster.inside.bandwidth_Bps, 20e9);
  EXPECT_GT(cluster.inside.latency_s, 0);
  EXPECT_TRUE(cluster.port_is_inside);
  EXPECT_EQ(cluster.mover, Mover::engine);
  EXPECT_EQ(cluster.rail.bandwidth_Bps, 94e9);
  EXPECT_EQ(cluster.rails, 2);
}

/// All that a file holds.
void expect_equal(const Cluster& a, const Cluster& b) {
  EXPECT_EQ(cluster_json(a, ""), cluster_json(b, ""));
  EXPECT_EQ(a.mover, b.mover);
  EXPECT_NEAR(a.rail.bandwidth_Bps, b.rail.bandwidth_Bps, 1e3);
  EXPECT_EQ(a.rail_use, b.rail_use);
  EXPECT_EQ(a.eager_bytes, b.eager_bytes);
  EXPECT_EQ(a.inside_times.size(), b.inside_times.size());
}

TEST(ClusterFile, IsReadBackAsItWasWritten) {
  Cluster cluster;
  cluster.name = "all \"there\" is";
  cluster.nodes = 6;
  cluster.ranks_per_node = 2;
  cluster.inside = {0.25e-6, 0.125e-6, 8e9};
  cluster.mover = Mover::processors;
  cluster.inside_times = {{8, 0.5e-6}, {4096, 1.5e-6}};
  cluster.rail = {1e-6, 0.5e-6, 12.5e9};
  cluster.rails = 3;
  cluster.rail_use = RailUse::all;
  cluster.port_Bps = 14e9;
  cluster.hop_s = 0.25e-6;
  cluster.nodes_per_leaf = 2;
  cluster.oversubscription = 3;
  cluster.reduce_Bps = 11e9;
  cluster.copy_Bps = 13e9;
  cluster.eager_bytes = 4096;
  cluster.handshake_s = 1.25e-6;
  expect_equal(parse_cluster(cluster_json(cluster, "words"), "c.json"), cluster);
}

TEST(ClusterFile, ExamplesAreGood) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(GODWIT_DOCS) + "/clusters")) {
    const std::string path = entry.path();
    EXPECT_NO_THROW(parse_cluster(file_text(path), path)) << path;
    ++files;
  }
  EXPECT_GE(files, 5);
}

TEST(ClusterFile, ThisMachineIsDescribed) {
  const Cluster cluster = parse_cluster(describe_this_machine(), "here");
  EXPECT_EQ(cluster.nodes, 1);
  EXPECT_GE(cluster.ranks_per_node, 1);
}

}  // namespace
}  // namespace godwit::apps
