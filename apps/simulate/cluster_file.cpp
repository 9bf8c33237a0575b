#include "simulate/cluster_file.hpp"

#include "core/text.hpp"
#include "report/checked_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <godwit/error.hpp>

#include <cmath>
#include <optional>

namespace godwit::apps {

namespace {

using collectives::simulator::Cluster;
using collectives::simulator::KnownWire;
using collectives::simulator::Mover;
using collectives::simulator::RailUse;
using collectives::simulator::Wire;
using report::Checked;
using report::InputError;

constexpr double us = 1e-6, GBps = 1e9;

/// An object whose keys are known.
class Section {
 public:
  Section(const nlohmann::json& value, const std::string& file, const std::string& path,
          const std::vector<std::string>& keys)
      : checked_(value, file, path) {
    checked_.has("");  // an object, or it throws
    for (const auto& [key, unused] : value.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      const auto near = core::nearest(key, keys);
      throw InputError(fmt::format("{}: {}{}: unknown key{}; allowed are {}", file, path.empty() ? "" : path + ".", key,
                                   near ? fmt::format(" (did you mean {}?)", *near) : "", fmt::join(keys, ", ")));
    }
  }

  bool has(const std::string& key) const { return checked_.has(key); }
  Checked at(const std::string& key) const { return checked_.at(key); }
  void number(const std::string& key, double unit, double& value) const {
    if (has(key)) value = at(key).number() * unit;
  }
  void whole(const std::string& key, int& value) const {
    if (has(key)) value = at(key).whole_number();
  }
  void whole(const std::string& key, std::uint64_t& value) const {
    if (has(key)) value = static_cast<std::uint64_t>(at(key).whole_number());
  }
  /// The index of the word that stands there; nothing if the key is missing.
  std::optional<std::size_t> word(const std::string& key, const std::vector<std::string>& words) const {
    if (!has(key)) return std::nullopt;
    const std::string found = at(key).text();
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] == found) return i;
    at(key).fail(fmt::format("one of {}", fmt::join(words, ", ")));
  }

 private:
  Checked checked_;
};

std::vector<std::string> names_of(const std::vector<KnownWire>& known) {
  std::vector<std::string> names;
  for (const KnownWire& wire : known) names.emplace_back(wire.name);
  return names;
}

/// "link" names a known wire, the other keys change it or stand alone. Returns the link's name.
std::string read_wire(const Section& section, const std::vector<KnownWire>& known, Wire& wire) {
  const auto link = section.word("link", names_of(known));
  if (link) wire = known[*link].wire;
  if (!link && !section.has("bandwidth_GBps")) (void)section.at("link");  // throws: it is missing
  section.number("latency_us", us, wire.latency_s);
  section.number("overhead_us", us, wire.overhead_s);
  section.number("bandwidth_GBps", GBps, wire.bandwidth_Bps);
  return link ? std::string(known[*link].name) : "";
}

double port_rate(const Section& network) {
  const auto& inside = collectives::simulator::known_inside();
  if (!network.has("port")) return 0;
  const Checked port = network.at("port");
  if (!port.is_text()) return port.number() * GBps;
  const std::string name = port.text();
  if (!name.starts_with("pcie") || find(inside, name) == nullptr) port.fail("pcie4, pcie5 or a bandwidth in GB/s");
  return find(inside, name)->wire.bandwidth_Bps;
}

void read_inside(const Section& section, Cluster& cluster) {
  const std::string link = read_wire(section, collectives::simulator::known_inside(), cluster.inside);
  cluster.mover = link == "memory" ? Mover::processors : Mover::engine;
  cluster.port_is_inside = link.starts_with("pcie");
  if (const auto mover = section.word("moved_by", {"engine", "processors"}))
    cluster.mover = *mover == 0 ? Mover::engine : Mover::processors;
  section.number("total_GBps", GBps, cluster.inside_total_Bps);
  if (!section.has("measured_us")) return;
  for (const Checked& point : section.at("measured_us").list()) {
    const auto pair = point.list();
    if (pair.size() != 2) point.fail("a pair of bytes and microseconds");
    cluster.inside_times.emplace_back(static_cast<std::uint64_t>(pair[0].whole_number()), pair[1].number() * us);
  }
}

void read_network(const Section& section, Cluster& cluster) {
  read_wire(section, collectives::simulator::known_network(), cluster.rail);
  section.whole("rails", cluster.rails);
  if (const auto use = section.word("rail_use", {"nearest", "all"}))
    cluster.rail_use = *use == 0 ? RailUse::nearest : RailUse::all;
  cluster.port_Bps = port_rate(section);
  if (cluster.port_Bps > 0) cluster.port_is_inside = false;
  section.number("hop_us", us, cluster.hop_s);
  section.whole("nodes_per_leaf", cluster.nodes_per_leaf);
  section.number("oversubscription", 1, cluster.oversubscription);
}

void read_ranks(const Section& section, Cluster& cluster) {
  section.number("reduce_GBps", GBps, cluster.reduce_Bps);
  section.number("copy_GBps", GBps, cluster.copy_Bps);
  section.whole("eager_bytes", cluster.eager_bytes);
  section.whole("joint_bytes", cluster.joint_bytes);
  section.number("handshake_us", us, cluster.handshake_s);
  section.whole("chunk_bytes", cluster.chunk_bytes);
}

const std::vector<std::string> file_keys{"name", "about", "nodes", "ranks_per_node", "inside", "network", "ranks"};
const std::vector<std::string> inside_keys{"link",       "latency_us", "overhead_us", "bandwidth_GBps",
                                           "total_GBps", "moved_by",   "measured_us"};
const std::vector<std::string> network_keys{"link",           "latency_us",      "overhead_us", "bandwidth_GBps",
                                            "rails",          "rail_use",        "port",        "hop_us",
                                            "nodes_per_leaf", "oversubscription"};
const std::vector<std::string> rank_keys{"reduce_GBps", "copy_GBps",    "eager_bytes",
                                         "joint_bytes", "handshake_us", "chunk_bytes"};

}  // namespace

Cluster parse_cluster(const std::string& text, const std::string& file) {
  const nlohmann::json json = report::parse_json(text, file);
  const Section whole(json, file, "", file_keys);
  Cluster cluster;
  cluster.name = whole.has("name") ? whole.at("name").text() : file;
  cluster.nodes = whole.at("nodes").whole_number();
  cluster.ranks_per_node = whole.at("ranks_per_node").whole_number();
  const auto section = [&](const std::string& key, const std::vector<std::string>& keys) {
    (void)whole.at(key);  // throws if it is missing
    return Section(json[key], file, key, keys);
  };
  if (cluster.ranks_per_node > 1 || whole.has("inside")) read_inside(section("inside", inside_keys), cluster);
  if (cluster.nodes > 1 || whole.has("network")) read_network(section("network", network_keys), cluster);
  if (whole.has("ranks")) read_ranks(section("ranks", rank_keys), cluster);
  try {
    check(cluster);
  } catch (const Error& error) {
    throw InputError(fmt::format("{}: {}", file, error.what()));
  }
  return cluster;
}

std::string cluster_json(const Cluster& cluster, const std::string& about) {
  const auto rounded = [](double value) { return std::round(value * 1e6) / 1e6; };
  const auto wire = [&](const Wire& w) {
    nlohmann::ordered_json json{{"latency_us", rounded(w.latency_s / us)}, {"overhead_us", rounded(w.overhead_s / us)}};
    if (std::isfinite(w.bandwidth_Bps)) json["bandwidth_GBps"] = rounded(w.bandwidth_Bps / GBps);
    return json;
  };
  nlohmann::ordered_json inside = wire(cluster.inside), network = wire(cluster.rail), ranks;
  inside["moved_by"] = cluster.mover == Mover::engine ? "engine" : "processors";
  if (cluster.inside_total_Bps > 0) inside["total_GBps"] = rounded(cluster.inside_total_Bps / GBps);
  for (const auto& [bytes, seconds] : cluster.inside_times)
    inside["measured_us"].push_back({bytes, rounded(seconds / us)});
  network["rails"] = cluster.rails;
  network["rail_use"] = cluster.rail_use == RailUse::nearest ? "nearest" : "all";
  if (cluster.port_Bps > 0) network["port"] = rounded(cluster.port_Bps / GBps);
  network["hop_us"] = rounded(cluster.hop_s / us);
  network["nodes_per_leaf"] = cluster.nodes_per_leaf;
  network["oversubscription"] = cluster.oversubscription;
  if (std::isfinite(cluster.reduce_Bps)) ranks["reduce_GBps"] = rounded(cluster.reduce_Bps / GBps);
  if (std::isfinite(cluster.copy_Bps)) ranks["copy_GBps"] = rounded(cluster.copy_Bps / GBps);
  constexpr std::uint64_t largest = 1'000'000'000;  // that parse_cluster() takes
  if (cluster.eager_bytes <= largest) ranks["eager_bytes"] = cluster.eager_bytes;
  if (cluster.joint_bytes <= largest) ranks["joint_bytes"] = cluster.joint_bytes;
  ranks["handshake_us"] = rounded(cluster.handshake_s / us);
  ranks["chunk_bytes"] = cluster.chunk_bytes;
  const nlohmann::ordered_json json{{"name", cluster.name},   {"about", about},
                                    {"nodes", cluster.nodes}, {"ranks_per_node", cluster.ranks_per_node},
                                    {"inside", inside},       {"network", network},
                                    {"ranks", ranks}};
  return json.dump(2) + "\n";
}

}  // namespace godwit::apps
