// The JSON files of -J. One schema for every benchmark:
//
//   {"tool": "all_reduce_perf", "version": "0.1.0", "transport": "shm", "ranks": 4, "hosts": 1,
//    "memory": "shared", "threads": 1, "command": "...", "date": "2026-01-31T12:00:00Z",
//    "machine": {"cpu", "cpus", "caches", "memory", "kernel", "virtual", "pinning"}, "results": [{"size": 8, ...}]}
//
// "transport" joins the names of the transports between the first rank and the others with "+". "memory" is private
// (malloc) or shared (godwit::allocate), "threads" counts those of each rank. A result has
// "size" in bytes and what applies of:
//   iterations                           perftest's table: timed operations, one way
//   count, type, redop, root, in_place   what the *_perf programs measured
//   latency_us {min, median, p99, average}
//                                        *_perf: the iterations of rank 0; godwit perf *_lat: half round trips, but
//                                        whole operations for get and atomics; wake_lat: whole round trips.
//                                        min, median and p99 are those of means over at least 20 us (see
//                                        common/batches.hpp) except for wake_lat and *_perf -z 3
//                                        perftest's table: each iteration by itself, and also max, deviation, p99_9
//   waiting_cpu_percent                  wake_lat: CPU time of the waiting process by the time it waited
//   time_us                              *_perf: as in the table (see -a)
//   algbw_GBps, busbw_GBps               *_perf: as in the table; 10^9 bytes a second
//   bandwidth_MBps, messages_per_s       godwit perf *_bw and msg_rate; 10^6 bytes a second, all pairs together
//   bandwidth_peak_MBps                  perftest's table: the best stretch of the run
//   wrong                                elements (godwit perf: bytes) that failed the check; missing without check
#pragma once

#include "common/machine.hpp"
#include "common/statistics.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace godwit::apps {

struct Result {
  std::size_t size = 0;
  std::optional<long> iterations = {};
  std::optional<std::size_t> count = {};
  std::optional<std::string> type = {}, redop = {};
  std::optional<int> root = {};
  std::optional<bool> in_place = {};
  std::optional<Summary> latency_us = {};
  std::optional<double> time_us = {}, algbw_GBps = {}, busbw_GBps = {}, bandwidth_MBps = {}, bandwidth_peak_MBps = {},
                        messages_per_s = {}, waiting_cpu_percent = {};
  std::optional<std::uint64_t> wrong = {};
};

struct Report {
  std::string tool, version, transport;
  int ranks = 0;
  int hosts = 0;
  std::string memory = "shared";
  int threads = 1;
  std::string command = {}, date = {};
  Machine machine = {};
  std::vector<Result> results = {};
};

/// Indented JSON text with a newline at its end.
std::string to_json(const Report& report);

}  // namespace godwit::apps
