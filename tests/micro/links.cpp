// A poll over 1, 8 and 64 links: all idle, or one of them talking.
#include "shm/link_poller.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <vector>

#include "memory_ring.hpp"

namespace godwit::micro {
namespace {

struct Links {
  explicit Links(std::int64_t count) {
    for (Rank rank = 0; rank < count; ++rank) {
      auto& ring = rings.emplace_back(std::make_unique<MemoryRing>(4096));
      auto& link = links.emplace_back(std::make_unique<shm::Link>(shm::PeerName{rank, "host", 1}));
      link->in = ring->reader;
      poller.add(*link);
    }
    for (int i = 0; i < 10'000; ++i) poll();  // all have cooled down
  }
  ~Links() {
    for (auto& link : links) poller.remove(*link);
  }
  std::size_t poll() {
    poller.release();
    return poller.poll(completions);
  }
  std::vector<std::unique_ptr<MemoryRing>> rings;
  std::vector<std::unique_ptr<shm::Link>> links;
  std::array<core::Completion, 32> completions;
  shm::LinkPoller poller;
};

void poll_idle(benchmark::State& state) {
  Links links(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(links.poll());
}
BENCHMARK(poll_idle)->Arg(1)->Arg(8)->Arg(64);

void poll_one_talking(benchmark::State& state) {
  Links links(state.range(0));
  const std::array<std::byte, 8> payload{};
  shm::RingWriter& talker = links.rings.back()->writer;
  for (auto _ : state) {
    if (!talker.send({}, payload)) {
      state.SkipWithError("the ring is full");
      return;
    }
    while (links.poll() == 0) continue;
  }
}
BENCHMARK(poll_one_talking)->Arg(1)->Arg(8)->Arg(64);

}  // namespace
}  // namespace godwit::micro
