#include "pmi/tcp_config.hpp"

#include "core/text.hpp"
#include "pmi/environment.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

namespace godwit::pmi {
namespace {

constexpr long max_ranks = 65536;  // every rank holds all cards: more than this wants PMIx
constexpr long default_port = 29500;
constexpr int derived_ports = 4;
constexpr int derived_range = 100;

long number_within(const Variables& variables, const std::string& name, long default_value, long low, long high) {
  const long value = number_of(variables, name).value_or(default_value);
  if (value < low || value > high)
    throw Error(ErrorCode::bootstrap, fmt::format("{}={} is not within {} to {}", name, value, low, high));
  return value;
}

std::string required(const Variables& variables, const std::string& name) {
  const auto value = value_of(variables, name);
  if (!value) {
    throw Error(ErrorCode::bootstrap, fmt::format("{} is not set: the TCP store needs torchrun's variables RANK, "
                                                  "WORLD_SIZE, MASTER_ADDR and MASTER_PORT on every rank",
                                                  name));
  }
  return *value;
}

/// The k-th port near MASTER_PORT for this job: above it, or below where the numbers end.
std::uint16_t derived_port(long master_port, std::uint64_t job, int k) {
  const long offset = 1 + static_cast<long>((job + k) % derived_range);
  const long port = master_port + offset <= 65535 ? master_port + offset : master_port - offset;
  return static_cast<std::uint16_t>(port);
}

StoreWords words_for_ranks(const StoreConfig& config) {
  StoreWords words;
  words.host = "MASTER_ADDR=" + config.host;
  words.join_failed = fmt::format("rank {} could not join the TCP store of rank 0", config.rank);
  words.join_advice =
      "Is rank 0 running, do all ranks have the same MASTER_ADDR and MASTER_PORT, and does a firewall let these ports "
      "through?";
  words.listen_failed = "rank 0 cannot open the TCP store of this job";
  words.listen_advice =
      fmt::format("Set MASTER_PORT, or GODWIT_PORT, on all ranks to a port that is free on {}", config.host);
  words.twice_advice = "is RANK set twice, or is another job at this MASTER_PORT?";
  return words;
}

}  // namespace

StoreConfig store_config(const Variables& variables, const BootstrapSettings& settings) {
  StoreConfig config;
  required(variables, "RANK");
  required(variables, "WORLD_SIZE");
  config.host = required(variables, "MASTER_ADDR");
  config.size = static_cast<int>(number_within(variables, "WORLD_SIZE", 1, 1, max_ranks));
  config.rank = static_cast<Rank>(number_within(variables, "RANK", 0, 0, config.size - 1));
  config.local_size = static_cast<int>(number_within(variables, "LOCAL_WORLD_SIZE", 0, 0, config.size));
  const long local_limit = config.local_size > 0 ? config.local_size : config.size;
  config.local_rank = static_cast<int>(number_within(variables, "LOCAL_RANK", 0, 0, local_limit - 1));
  config.node_count = static_cast<int>(number_within(variables, "GROUP_WORLD_SIZE", 0, 0, config.size));

  config.words = words_for_ranks(config);

  const long master_port = number_within(variables, "MASTER_PORT", default_port, 1, 65535);
  const auto run = value_of(variables, "TORCHELASTIC_RUN_ID");
  // A restarted run must not find the store of the ranks before it.
  config.job = core::hash64(fmt::format("{}/{}/{}", run.value_or(""),
                                        value_of(variables, "TORCHELASTIC_RESTART_COUNT").value_or(""), master_port));
  if (settings.port) {
    config.ports = {*settings.port};
    return config;
  }
  if (!run) config.ports.push_back(static_cast<std::uint16_t>(master_port));
  for (int k = 0; k < derived_ports; ++k) config.ports.push_back(derived_port(master_port, config.job, k));
  return config;
}

}  // namespace godwit::pmi
