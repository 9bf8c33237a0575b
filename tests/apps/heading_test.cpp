// What the benchmarks print above their tables.
#include "common/seats.hpp"
#include "common/switches.hpp"
#include "common/usage.hpp"
#include "tool/perf/table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace godwit::apps {
namespace {

CpuSet cpus(std::initializer_list<std::size_t> numbers) {
  CpuSet set;
  for (const std::size_t cpu : numbers) set.add(cpu);
  return set;
}

Seat seat(std::uint64_t boot, const CpuSet& set) {
  Seat made{.boot = boot, .pid = 4711, .host = {}, .cpus = set};
  std::strcpy(made.host.data(), boot == 1 ? "node0" : "node1");
  return made;
}

TEST(Cpus, Text) {
  EXPECT_EQ(cpus_text(cpus({0})), "cpu 0");
  EXPECT_EQ(cpus_text(cpus({0, 1})), "cpus 0-1");
  EXPECT_EQ(cpus_text(cpus({0, 2, 3, 4, 8191})), "cpus 0,2-4,8191");
  EXPECT_EQ(cpus_text(cpus({63, 64})), "cpus 63-64");
}

TEST(Cpus, ThisProcessHasSome) { EXPECT_GE(own_cpus().count(), 1U); }

TEST(Cpus, Parts) {
  EXPECT_TRUE(cpus({1}).is_part_of(cpus({0, 1})));
  EXPECT_TRUE(cpus({0, 1}).is_part_of(cpus({0, 1})));
  EXPECT_FALSE(cpus({0, 1, 200}).is_part_of(cpus({0, 1})));
}

TEST(Seats, Lines) {
  EXPECT_EQ(seat_lines({seat(1, cpus({0})), seat(2, cpus({0, 1}))}),
            "# rank   0  pid   4711  host node0  cpu 0\n"
            "# rank   1  pid   4711  host node1  cpus 0-1\n");
}

TEST(Seats, SharingIsSaidOncePerSetOfCpus) {
  const CpuSet both = cpus({0, 1});
  EXPECT_EQ(sharing_lines({seat(1, cpus({0})), seat(1, cpus({1}))}, 2), "");
  EXPECT_EQ(sharing_lines({seat(1, both), seat(1, both)}, 2), "");
  EXPECT_EQ(sharing_lines({seat(1, cpus({0})), seat(1, cpus({0}))}, 2),
            "# 2 ranks share cpu 0 of node0: results suffer; bind each rank to a core of its own\n");
  EXPECT_EQ(sharing_lines({seat(1, both), seat(1, both), seat(1, both), seat(2, both)}, 4),
            "# 3 ranks share cpus 0-1 of node0: results suffer; bind each rank to a core of its own\n");
  EXPECT_EQ(sharing_lines({seat(1, cpus({0})), seat(2, cpus({0}))}, 2), "");  // two hosts
}

TEST(Seats, RanksInPartsOfASetCount) {
  const CpuSet both = cpus({0, 1});
  EXPECT_EQ(sharing_lines({seat(1, both), seat(1, cpus({0})), seat(1, cpus({1}))}, 3),
            "# 3 ranks share cpus 0-1 of node0: results suffer; bind each rank to a core of its own\n");
}

TEST(Seats, RanksThatRestDoNotCount) {
  const std::vector<Seat> seats(3, seat(1, cpus({0, 1})));
  EXPECT_EQ(sharing_lines(seats, 2), "");
  EXPECT_NE(sharing_lines(seats, 3), "");
}

TEST(Seats, PinningIsShortForManyRanks) {
  EXPECT_EQ(pinning_text({seat(1, cpus({0})), seat(1, cpus({1}))}), "rank 0: cpu 0; rank 1: cpu 1");
  EXPECT_NE(pinning_text(std::vector<Seat>(100, seat(1, cpus({3})))).find("rank 7: cpu 3; and 92 more ranks"),
            std::string::npos);
}

TEST(Switches, Text) {
  const std::vector<ProtocolSwitch> two = {{"eager", 8192}, {"rendezvous", SIZE_MAX}};
  EXPECT_EQ(switches_text("send", two, two), "send: eager up to 8192, rendezvous above");
  const std::vector<ProtocolSwitch> direct = {{"put/direct", SIZE_MAX}}, emulated = {{"put/emulated", SIZE_MAX}};
  EXPECT_EQ(switches_text("put", direct, direct), "put: put/direct");
  EXPECT_EQ(switches_text("put", direct, emulated), "put: put/direct; where memory is out of reach: put/emulated");
  EXPECT_EQ(switches_text("put", {}, {}), "put: not supported");
}

TEST(PerfHeading, SaysWhatBearsOnTheResult) {
  PerfOptions options = perf_options({.test = "msg_rate", .threads = 4});
  EXPECT_EQ(options_line(options),
            "# memory private (malloc); thread mode multiple; 64 in flight in each of 4 threads of a rank, each with a "
            "communicator of its own, all on one worker");
  options = perf_options({.test = "put_lat", .connect = true});
  EXPECT_NE(options_line(options).find("memory shared (godwit::allocate); thread mode single"), std::string::npos);
  EXPECT_NE(options_line(options).find("every rank is connected to rank 0"), std::string::npos);
}

}  // namespace
}  // namespace godwit::apps
