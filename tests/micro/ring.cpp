// Write and read of one entry by one thread: instructions and cache of one core, no transfer between cores.
#include <benchmark/benchmark.h>

#include <vector>

#include "memory_ring.hpp"

namespace godwit::micro {
namespace {

void ring(benchmark::State& state) {
  MemoryRing ring(64 * 1024);
  const std::vector<std::byte> payload(static_cast<std::size_t>(state.range(0)), std::byte{1});
  core::WireHeader header;
  for (auto _ : state) {
    shm::RingReader::Entry entry;
    if (!ring.writer.send(header, payload) || !ring.reader.next(entry) ||
        entry.bytes.size() != sizeof(header) + payload.size()) {
      state.SkipWithError("the entry did not come through");
      return;
    }
    benchmark::DoNotOptimize(entry.bytes.data());
    ring.reader.release();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ring)->Arg(8)->Arg(64)->Arg(1024);

void ring_notify(benchmark::State& state) {
  MemoryRing ring(64 * 1024);
  for (auto _ : state) {
    shm::RingReader::Entry entry;
    if (!ring.writer.notify(7) || !ring.reader.next(entry)) {
      state.SkipWithError("the notification did not come through");
      return;
    }
    ring.reader.release();
  }
}
BENCHMARK(ring_notify);

void ring_empty(benchmark::State& state) {
  MemoryRing ring(64 * 1024);
  for (auto _ : state) {
    shm::RingReader::Entry entry;
    benchmark::DoNotOptimize(ring.reader.next(entry));
  }
}
BENCHMARK(ring_empty);

}  // namespace
}  // namespace godwit::micro
