// Which CPUs ranks get: tables, and this host.
#include "pmi/binding.hpp"
#include "pmi/rank_list.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <algorithm>
#include <thread>

namespace godwit::pmi {
namespace {

const std::vector<Cpus> three_cores{{0, 64}, {1, 65}, {3}};

TEST(Binding, RanksTakeUnitsInTurn) {
  const Binding binding(Bind::core, three_cores);
  EXPECT_EQ(binding.cpus_of(0), (Cpus{0, 64}));
  EXPECT_EQ(binding.cpus_of(2), (Cpus{3}));
  EXPECT_EQ(binding.cpus_of(3), (Cpus{0, 64}));
  EXPECT_EQ(binding.cpus_of(7), (Cpus{1, 65}));
}

TEST(Binding, NoneBindsNothing) {
  const Binding binding(Bind::none, {{0, 1, 2, 3}});
  EXPECT_TRUE(binding.cpus_of(0).empty());
  EXPECT_EQ(binding.describe(1), "rank 1 is not bound: CPUs 0-3");
  EXPECT_EQ(binding.shortage(100), "");
}

TEST(Binding, Words) {
  EXPECT_EQ(Binding(Bind::core, three_cores).describe(3), "rank 3 is bound to a core: CPUs 0, 64");
  EXPECT_EQ(Binding(Bind::core, three_cores).describe(2), "rank 2 is bound to a core: CPU 3");
  EXPECT_EQ(Binding(Bind::numa, {{0, 1, 2}, {3, 4, 5}}).describe(1), "rank 1 is bound to a NUMA node: CPUs 3-5");
}

TEST(Binding, ShortageIsOneLine) {
  const Binding binding(Bind::core, three_cores);
  EXPECT_EQ(binding.shortage(3), "");
  EXPECT_EQ(binding.shortage(4), "4 ranks on 3 cores: rank 3 shares CPUs 0, 64 with rank 0, and so on");
  EXPECT_EQ(Binding(Bind::core, {{5}}).shortage(2), "2 ranks on 1 core: rank 1 shares CPU 5 with rank 0, and so on");
  EXPECT_EQ(Binding(Bind::numa, three_cores).shortage(4), "") << "a node is there to be shared";
}

Cpus allowed_here() {
  cpu_set_t mask;
  EXPECT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  Cpus cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  return cpus;
}

Cpus all_of(const std::vector<Cpus>& units) {
  Cpus all;
  for (const Cpus& unit : units) {
    EXPECT_FALSE(unit.empty());
    all.insert(all.end(), unit.begin(), unit.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Cores, EveryCpuIsInOneUnit) {
  EXPECT_EQ(all_of(usable_units(Unit::core)), allowed_here());
  EXPECT_EQ(all_of(usable_units(Unit::numa)), allowed_here());
  EXPECT_GE(core_count(), static_cast<int>(usable_units(Unit::core).size()));
}

TEST(Cores, AffinityLimitsThem) {
  const int cpu = allowed_here().back();
  const int cores = core_count();
  std::thread([&] {  // binds this thread only
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_units(Unit::core), (std::vector<Cpus>{{cpu}}));
    EXPECT_EQ(usable_units(Unit::numa), (std::vector<Cpus>{{cpu}}));
    EXPECT_EQ(core_count(), cores);
    const Binding none = Binding::of_this_host(Bind::none);
    EXPECT_EQ(none.describe(0), "rank 0 is not bound: " + cpu_list({cpu}));
  })
      .join();
}

}  // namespace
}  // namespace godwit::pmi
