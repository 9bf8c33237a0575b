// torchrun's variables, the store's ports, interface names, ranks in words: pure functions.
#include "core/interfaces.hpp"
#include "pmi/environment.hpp"
#include "pmi/rank_list.hpp"
#include "pmi/tcp_config.hpp"

#include <gtest/gtest.h>
#include <godwit/error.hpp>

#include <algorithm>
#include <numeric>

namespace godwit::pmi {
namespace {

Variables torch(const Variables& changes = {}) {
  Variables all{{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29600"}};
  for (const auto& [name, value] : changes) all[name] = value;
  return all;
}

void expect_refused(const Variables& changes, const std::string& word) {
  try {
    store_config(torch(changes), {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bootstrap);
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(StoreConfig, TakesTorchrunsVariables) {
  const auto config = store_config(
      torch({{"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}, {"GROUP_WORLD_SIZE", "2"}, {"RANK", "3"}}), {});
  EXPECT_EQ(config.rank, 3);
  EXPECT_EQ(config.size, 4);
  EXPECT_EQ(config.local_rank, 1);
  EXPECT_EQ(config.local_size, 2);
  EXPECT_EQ(config.node_count, 2);
  EXPECT_EQ(config.host, "node0");
}

TEST(StoreConfig, RefusesWhatCannotBe) {
  expect_refused({{"RANK", "4"}}, "RANK=4");
  expect_refused({{"RANK", "-1"}}, "RANK=-1");
  expect_refused({{"WORLD_SIZE", "0"}}, "WORLD_SIZE=0");
  expect_refused({{"WORLD_SIZE", "99999999"}}, "WORLD_SIZE=99999999");
  expect_refused({{"WORLD_SIZE", "99999999999999999999999"}}, "WORLD_SIZE");
  expect_refused({{"MASTER_PORT", "70000"}}, "MASTER_PORT=70000");
  expect_refused({{"MASTER_PORT", "0"}}, "MASTER_PORT=0");
  expect_refused({{"MASTER_PORT", "29500/tcp"}}, "MASTER_PORT='29500/tcp'");
  expect_refused({{"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}}, "LOCAL_RANK=2");
  expect_refused({{"LOCAL_WORLD_SIZE", "5"}}, "LOCAL_WORLD_SIZE=5");
  expect_refused({{"MASTER_ADDR", ""}}, "MASTER_ADDR");
}

TEST(StorePorts, BeginWithMasterPortUnlessAnAgentHasIt) {
  const auto plain = store_config(torch(), {}).ports;
  EXPECT_EQ(plain.front(), 29600);
  EXPECT_GT(plain.size(), 1u);
  const auto agent = store_config(torch({{"TORCHELASTIC_RUN_ID", "run1"}}), {}).ports;
  EXPECT_EQ(std::count(agent.begin(), agent.end(), 29600), 0);
  EXPECT_EQ(store_config(torch({{"MASTER_PORT", ""}}), {}).ports.front(), 29500);
  BootstrapSettings settings;
  settings.port = 4711;
  EXPECT_EQ(store_config(torch(), settings).ports, std::vector<std::uint16_t>{4711});
}

TEST(StorePorts, AreTheSameOnAllRanksAndDistinct) {
  for (const char* master : {"1", "29500", "65435", "65436", "65535"}) {
    const Variables job{{"MASTER_PORT", master}, {"TORCHELASTIC_RUN_ID", "a"}};
    const auto one = store_config(torch(job), {}).ports;
    auto other = job;
    other["RANK"] = "2";
    EXPECT_EQ(one, store_config(torch(other), {}).ports);
    auto sorted = one;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
    EXPECT_GT(sorted.front(), 0);
  }
}

TEST(StoreJob, DiffersBetweenRunsAndRestarts) {
  const auto job = [](const Variables& changes) { return store_config(torch(changes), {}).job; };
  EXPECT_EQ(job({{"RANK", "0"}}), job({{"RANK", "1"}}));
  EXPECT_NE(job({{"TORCHELASTIC_RUN_ID", "a"}}), job({{"TORCHELASTIC_RUN_ID", "b"}}));
  EXPECT_NE(job({{"TORCHELASTIC_RUN_ID", "a"}, {"TORCHELASTIC_RESTART_COUNT", "0"}}),
            job({{"TORCHELASTIC_RUN_ID", "a"}, {"TORCHELASTIC_RESTART_COUNT", "1"}}));
  EXPECT_NE(job({}), job({{"MASTER_PORT", "29601"}}));
}

TEST(Interfaces, FollowNcclsGrammar) {
  EXPECT_TRUE(core::interface_allowed("lo", {}));
  EXPECT_TRUE(core::interface_allowed("eth0", {"eth"}));
  EXPECT_FALSE(core::interface_allowed("ib0", {"eth"}));
  EXPECT_TRUE(core::interface_allowed("ib0", {"eth", "ib"}));
  EXPECT_TRUE(core::interface_allowed("eth1", {"=eth1"}));
  EXPECT_FALSE(core::interface_allowed("eth10", {"=eth1"}));
  EXPECT_FALSE(core::interface_allowed("ib01", {"=eth1", "ib0"}));
  EXPECT_FALSE(core::interface_allowed("docker0", {"^docker", "veth"}));
  EXPECT_FALSE(core::interface_allowed("veth5", {"^docker", "veth"}));
  EXPECT_TRUE(core::interface_allowed("eth0", {"^docker", "veth"}));
  EXPECT_FALSE(core::interface_allowed("eth1", {"^=eth1"}));
  EXPECT_TRUE(core::interface_allowed("eth10", {"^=eth1"}));
}

TEST(Interfaces, NameWhatThereIsWhenNoneFits) {
  const auto loopback = core::interface_addresses({"=lo"});
  const auto is_localhost = [](const core::InterfaceAddress& entry) { return entry.address == "127.0.0.1"; };
  EXPECT_TRUE(std::ranges::any_of(loopback, is_localhost));
  try {
    core::interface_addresses({"nosuch"});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("lo"), std::string::npos) << error.what();
  }
}

TEST(RankList, IsShort) {
  EXPECT_EQ(rank_list({3}), "rank 3");
  EXPECT_EQ(rank_list({1, 3, 4, 5, 12}), "ranks 1, 3-5, 12");
  std::vector<Rank> odd(100);
  for (std::size_t i = 0; i < odd.size(); ++i) odd[i] = static_cast<Rank>(2 * i + 1);
  EXPECT_TRUE(rank_list(odd).ends_with("31 and 84 more")) << rank_list(odd);
  std::vector<Rank> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(rank_list(all), "ranks 0-999");
}

}  // namespace
}  // namespace godwit::pmi
