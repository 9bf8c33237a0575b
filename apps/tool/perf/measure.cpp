#include "tool/perf/measure.hpp"

#include "common/batches.hpp"

#include <sys/resource.h>

#include <barrier>
#include <chrono>
#include <exception>
#include <thread>

namespace godwit::apps {

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);  // fails for wrong arguments only
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

int windows(int messages, int depth) { return (messages + depth - 1) / depth; }

void run_windows(Lane& lane, std::size_t bytes, int rounds, int depth, Progress* progress) {
  for (int i = 0; i < rounds; ++i) {
    if (progress != nullptr) progress->update(bytes, i, rounds);
    lane.exchange->window(bytes, depth);
  }
  lane.exchange->finish();
}

}  // namespace

Summary measure_latency_us(Exchange& exchange, Communicator& pair, const Work& work, Progress& progress) {
  exchange.prepare(work.bytes);
  pair.barrier();
  for (int i = 0; i < work.warmup; ++i) exchange.once(work.bytes);
  pair.barrier();
  Batches batches(work.iterations);
  const Clock::time_point start = Clock::now();
  while (const long batch = batches.next()) {
    for (long i = 0; i < batch; ++i) exchange.once(work.bytes);
    batches.ran(seconds(Clock::now() - start));
    progress.update(work.bytes, batches.done(), work.iterations);
  }
  pair.barrier();
  return batches.summary(exchange.round_trip() ? 0.5e6 : 1e6);
}

long messages_of_lane(int iterations, int depth) noexcept {
  return static_cast<long>(windows(iterations, depth)) * depth;
}

double measure_windows_s(std::span<Lane> lanes, const Work& work, int depth, Progress& progress) {
  std::barrier together(static_cast<std::ptrdiff_t>(lanes.size()));
  std::vector<std::exception_ptr> failures(lanes.size());
  std::vector<Clock::time_point> begins(lanes.size()), ends(lanes.size());
  const auto run_lane = [&](std::size_t index) {
    Lane& lane = lanes[index];
    try {
      run_windows(lane, work.bytes, windows(work.warmup, depth), depth, nullptr);
      lane.pair.communicator.barrier();
    } catch (...) {
      failures[index] = std::current_exception();
    }
    together.arrive_and_wait();
    if (failures[index]) return;
    begins[index] = Clock::now();
    try {
      run_windows(lane, work.bytes, windows(work.iterations, depth), depth, index == 0 ? &progress : nullptr);
    } catch (...) {
      failures[index] = std::current_exception();
    }
    ends[index] = Clock::now();
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < lanes.size(); ++i) others.emplace_back(run_lane, i);
    run_lane(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  for (Lane& lane : lanes) lane.pair.communicator.barrier();
  if (!lanes.front().pair.is_origin()) return 0;
  return seconds(*std::max_element(ends.begin(), ends.end()) - *std::min_element(begins.begin(), begins.end()));
}

Wake measure_wake(Exchange& exchange, Communicator& pair, const Work& work, int idle_ms, Progress& progress) {
  std::vector<double> round_trips_us;
  double waited_s = 0, used_s = 0;
  for (int i = -work.warmup; i < work.iterations; ++i) {
    progress.update(work.bytes, i + work.warmup, work.iterations + work.warmup);
    if (pair.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(idle_ms));
    const double used_before = cpu_seconds();
    const Clock::time_point start = Clock::now();
    exchange.once(work.bytes);
    const double passed_s = seconds(Clock::now() - start);
    if (i < 0) continue;
    round_trips_us.push_back(passed_s * 1e6);
    waited_s += passed_s;
    used_s += cpu_seconds() - used_before;
  }
  Wake wake{.round_trip_us = summarize(round_trips_us), .waiting_cpu = waited_s > 0 ? used_s / waited_s : 0};
  pair.broadcast(wake.waiting_cpu, 1);  // rank 1 has waited
  return wake;
}

}  // namespace godwit::apps
