// What every operation pays: an element of the pool, and the choice of a protocol.
#include "core/operation.hpp"

#include <benchmark/benchmark.h>

#include <vector>

#include "core/protocols/protocol.hpp"

namespace godwit::micro {
namespace {

using core::Operation;

void pool_acquire_release(benchmark::State& state) {
  core::OperationPool pool;
  for (auto _ : state) {
    Operation& operation = pool.acquire(Operation::Kind::send);
    benchmark::DoNotOptimize(&operation);
    pool.release(operation);
  }
}
BENCHMARK(pool_acquire_release);

// Many in flight; the oldest goes first.
void pool_in_flight(benchmark::State& state) {
  core::OperationPool pool;
  std::vector<Operation*> window;
  for (std::int64_t i = 0; i < state.range(0); ++i) window.push_back(&pool.acquire(Operation::Kind::send));
  std::size_t oldest = 0;
  for (auto _ : state) {
    pool.release(*window[oldest]);
    window[oldest] = &pool.acquire(Operation::Kind::send);
    if (++oldest == window.size()) oldest = 0;
  }
}
BENCHMARK(pool_in_flight)->Arg(64)->Arg(1024);

void pool_find(benchmark::State& state) {
  core::OperationPool pool;
  Operation& operation = pool.acquire(Operation::Kind::send);
  for (auto _ : state) {
    if (pool.find(operation.id) != &operation) {
      state.SkipWithError("not found");
      return;
    }
  }
}
BENCHMARK(pool_find);

// As over shared memory.
core::Capabilities local_capabilities() {
  core::Capabilities capabilities;
  capabilities.max_inline = capabilities.max_message = 16 * 1024;
  capabilities.max_rdma = std::size_t{1} << 40;
  capabilities.rma = capabilities.private_rma = capabilities.put_notify = true;
  capabilities.latency_s = 2e-7;
  capabilities.bandwidth_Bps = 1e10;
  capabilities.rma_overhead_s = 1e-6;
  return capabilities;
}

void choose_protocol(benchmark::State& state, Operation::Kind kind, bool handle) {
  const core::Capabilities capabilities = local_capabilities();
  const core::ProtocolTable table(core::Route{capabilities, 8 * 1024});
  auto size = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(size);
    const core::Protocol* chosen = table.choose(kind, size, handle);
    if (chosen == nullptr) {
      state.SkipWithError("no protocol");
      return;
    }
    benchmark::DoNotOptimize(chosen);
  }
}
BENCHMARK_CAPTURE(choose_protocol, send, Operation::Kind::send, false)->Arg(8)->Arg(1 << 20);
BENCHMARK_CAPTURE(choose_protocol, put, Operation::Kind::put, true)->Arg(8)->Arg(1 << 20);
BENCHMARK_CAPTURE(choose_protocol, get, Operation::Kind::get, true)->Arg(8)->Arg(1 << 20);

}  // namespace
}  // namespace godwit::micro
