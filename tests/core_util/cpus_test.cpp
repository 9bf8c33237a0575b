#include "core/cpus.hpp"

#include <gtest/gtest.h>

#include <sched.h>

namespace godwit::core {
namespace {

using Cpus = std::vector<int>;

TEST(Cpus, KernelLists) {
  EXPECT_EQ(parse_cpu_list("0"), Cpus{0});
  EXPECT_EQ(parse_cpu_list("0-3,8"), (Cpus{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("7,71"), (Cpus{7, 71}));
  EXPECT_EQ(parse_cpu_list("2-2"), Cpus{2});
  for (const char* bad : {"", "-", "a", "1-", "-1", "3-1", "1,", ",1", "1;2", "1 2", "99999999999", "0-99999999"})
    EXPECT_TRUE(parse_cpu_list(bad).empty()) << bad;
}

TEST(Cpus, AllowedAreTheAffinity) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  const Cpus cpus = allowed_cpus();
  EXPECT_EQ(static_cast<int>(cpus.size()), CPU_COUNT(&mask));
  for (const int cpu : cpus) EXPECT_TRUE(CPU_ISSET(cpu, &mask)) << cpu;
}

TEST(Cpus, CoreOf) {
  const int cpu = allowed_cpus().back();
  const auto core = core_of({cpu});
  ASSERT_TRUE(core.has_value());
  EXPECT_LE(*core, cpu);
  EXPECT_EQ(core_of({*core}), core) << "named by a CPU of its own";
  EXPECT_FALSE(core_of({}).has_value());
  EXPECT_FALSE(core_of({0, 1, 2, 3, 4, 5, 6, 7, 8}).has_value()) << "no core has nine";
  // A CPU that this host does not have is nobody's sibling.
  EXPECT_FALSE(core_of({cpu, 1 << 19}).has_value());
  EXPECT_EQ(core_of({1 << 19}), 1 << 19);
}

}  // namespace
}  // namespace godwit::core
