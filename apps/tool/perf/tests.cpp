// The list of tests. A new one is a line here, and a file with a class Exchange if it exchanges something new.
#include "tool/perf/options.hpp"

namespace godwit::apps {

namespace {

constexpr std::size_t kilo = 1024, mega = 1024 * 1024;
constexpr SizeRange wide{.first = 8, .last = 4 * mega, .step = mega, .factor = 2};
constexpr SizeRange small{.first = 8, .last = 4 * kilo, .step = kilo, .factor = 2};
constexpr SizeRange word{.first = 8, .last = 8, .step = 4, .factor = 2};

}  // namespace

const std::vector<PerfTest>& perf_tests() {
  using enum Measured;
  constexpr MemoryKind host = MemoryKind::host, shared = MemoryKind::shared;
  static const std::vector<PerfTest> tests = {
      {"write_lat", Exchanged::write, latency, wide, shared,
       "ping-pong of puts whose target watches the last byte; half round trip", "RDMA_Write Latency Test",
       Form::perftest},
      {"write_bw", Exchanged::put, bandwidth, wide, shared, "puts one way (-b: both), -t in flight",
       "RDMA_Write BW Test", Form::perftest},
      {"read_lat", Exchanged::get, latency, wide, shared, "one get after the other; until the data is there",
       "RDMA_Read Latency Test", Form::perftest},
      {"read_bw", Exchanged::get, bandwidth, wide, shared, "gets one way (-b: both), -t in flight", "RDMA_Read BW Test",
       Form::perftest},
      {"send_lat", Exchanged::send, latency, wide, host, "ping-pong of messages; half round trip", "Send Latency Test"},
      {"send_bw", Exchanged::send, bandwidth, wide, host, "messages one way (perftest's table, -b: both), -t in flight",
       "Send BW Test"},
      {"atomic_lat", Exchanged::atomic, latency, word, shared,
       "fetch-and-add (-A: compare-and-swap) of 8 (or 4) bytes; until the value is there",
       "Atomic FETCH_AND_ADD Latency Test"},
      {"put_lat", Exchanged::put, latency, wide, shared, "ping-pong of puts with notification; half round trip"},
      {"put_watch_lat", Exchanged::watched_put, latency, wide, shared,
       "ping-pong of puts whose target watches its memory; half round trip"},
      {"put_bw", Exchanged::put, bandwidth, wide, shared, "puts one way, -t in flight, flushed at the end"},
      {"get_lat", Exchanged::get, latency, wide, shared, "one get after the other; until the data is there"},
      {"get_bw", Exchanged::get, bandwidth, wide, shared, "gets, -t in flight"},
      {"am_lat", Exchanged::active, latency, small, host, "ping-pong of active messages; half round trip"},
      {"msg_rate", Exchanged::send, bandwidth, small, host, "messages one way, -t in flight; small sizes"},
      {"wake_lat", Exchanged::send, wake, word, host,
       "ping to a rank that has waited --idle-ms for it; until its answer is there (whole round trip), and the CPU "
       "time of the waiting process in percent of the time it waited"},
  };
  return tests;
}

}  // namespace godwit::apps
