// machine_perf: what the machine allows two processes that share memory, without any library: the bounds that a
// runtime's figures are held against. Two pinned processes; the first one measures.
#include "bench/partner.hpp"
#include "common/cli.hpp"
#include "common/output_file.hpp"
#include "common/report.hpp"
#include "common/sizes.hpp"
#include "common/usage.hpp"
#include "core/cpus.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>
#include <godwit/version.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <system_error>

namespace {

using namespace godwit::apps;
using Clock = std::chrono::steady_clock;
using Results = std::vector<Result>;

struct Options {
  std::string test, json_file;
  std::vector<std::string> size_words;
  std::vector<std::size_t> sizes;
  std::vector<int> cpus;
  int batches = 200;
};

/// Microseconds of one call of `once`, summarized over batches of at least 20 us each.
Summary time_batches(int batches, const std::function<void(long)>& repeat) {
  const auto time_us = [&](long times) {
    const auto start = Clock::now();
    repeat(times);
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  long times = 1;
  while (time_us(times) < 20) times *= 2;  // the warm-up as well
  std::vector<double> samples_us;
  for (int i = 0; i < batches; ++i) samples_us.push_back(time_us(times) / static_cast<double>(times));
  return summarize(samples_us);
}

struct alignas(256) Line {  // adjacent lines are fetched in pairs; these are not adjacent
  std::atomic<std::uint64_t> value{0};
};

void await(const Line& line, std::uint64_t value) {
  while (line.value.load(std::memory_order_acquire) != value) {
  }
}

/// Half round trip of a number between two CPUs: with one line in each direction, or with one line for both.
Results lines(const Options& options, bool one_line) {
  constexpr std::uint64_t end = ~std::uint64_t{0};
  SharedMapping mapping(4096);
  auto* line = new (mapping.bytes().data()) Line[2];
  Line &forth = line[0], &back = one_line ? line[0] : line[1];
  const auto answer = [&] {
    for (std::uint64_t turn = 1;; turn += 2) {
      std::uint64_t seen = 0;
      while ((seen = forth.value.load(std::memory_order_acquire)) != turn && seen != end) {
      }
      if (seen == end) return;
      back.value.store(turn + 1, std::memory_order_release);
    }
  };
  Partner partner(options.cpus[0], options.cpus[1], {.prepare = [] {}, .body = answer});
  std::uint64_t turn = 1;
  Summary half = time_batches(options.batches, [&](long times) {
    for (long i = 0; i < times; ++i, turn += 2) {
      forth.value.store(turn, std::memory_order_release);
      await(back, turn + 1);
    }
  });
  forth.value.store(end, std::memory_order_release);
  partner.join();
  for (double* value : {&half.min, &half.median, &half.p99, &half.average}) *value /= 2;
  return {{.size = sizeof(std::uint64_t), .latency_us = half}};
}

/// A process that has touched the mapping and then sleeps until it is ended, as the target of a put does.
Partner sleeping_partner(const Options& options, std::span<std::byte> touched) {
  return Partner(options.cpus[0], options.cpus[1],
                 {.prepare = [touched] { std::memset(touched.data(), 1, touched.size()); },
                  .body =
                      [] {
                        while (true) ::pause();
                      }});
}

std::size_t largest(const Options& options) { return *std::max_element(options.sizes.begin(), options.sizes.end()); }

/// One CPU copies from ordinary memory into memory that another process maps too, always the same buffers.
Results copies(const Options& options) {
  SharedMapping target(largest(options));
  std::vector<std::byte> source(largest(options), std::byte{1});
  std::memset(target.bytes().data(), 0, target.bytes().size());
  const Partner partner = sleeping_partner(options, target.bytes());
  Results results;
  for (std::size_t size : options.sizes) {
    const Summary time = time_batches(options.batches, [&](long times) {
      for (long i = 0; i < times; ++i) {
        std::memcpy(target.bytes().data(), source.data(), size);
        asm volatile("" : : "r"(target.bytes().data()) : "memory");  // each copy counts
      }
    });
    results.push_back({.size = size, .latency_us = time, .bandwidth_MBps = static_cast<double>(size) / time.median});
  }
  return results;
}

/// process_vm_readv out of the ordinary memory of the other process.
Results reads(const Options& options) {
  std::vector<std::byte> remote(largest(options), std::byte{1}), local(largest(options), std::byte{2});
  const Partner partner = sleeping_partner(options, remote);  // at the same address there
  Results results;
  for (std::size_t size : options.sizes) {
    const Summary time = time_batches(options.batches, [&](long times) {
      const iovec to{local.data(), size}, from{remote.data(), size};
      for (long i = 0; i < times; ++i)
        if (::process_vm_readv(partner.pid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(size))
          throw std::system_error(errno, std::generic_category(),
                                  fmt::format("process_vm_readv of {} bytes from process {}", size, partner.pid()));
    });
    results.push_back({.size = size, .latency_us = time, .bandwidth_MBps = static_cast<double>(size) / time.median});
  }
  return results;
}

struct Test {
  const char* name;
  const char* help;
  std::vector<std::size_t> sizes;
  std::function<Results(const Options&)> run;
};

const std::vector<Test>& tests() {
  constexpr std::size_t k = 1024, m = 1024 * k;
  static const std::vector<Test> all = {
      {"line_pair",
       "half round trip of a number, one cache line in each direction",
       {8},
       [](const Options& o) { return lines(o, false); }},
      {"line",
       "the same with one cache line for both directions",
       {8},
       [](const Options& o) { return lines(o, true); }},
      {"memcpy", "one CPU copies into memory that both processes map", {64, k, 4 * k, 64 * k, m, 4 * m}, copies},
      {"vm_read", "process_vm_readv, one call", {64, 256, k, 4 * k, 16 * k, 64 * k}, reads},
  };
  return all;
}

const Test& test_named(const std::string& name) {
  for (const Test& test : tests())
    if (name == test.name) return test;
  throw UsageError(fmt::format("{}: no such test; there are line_pair, line, memcpy, vm_read", name));
}

Options parse(const std::vector<std::string>& words) {
  CLI::App app("Measures what the machine allows two processes on two CPUs, without any library.", "machine_perf");
  app.set_version_flag("--version", fmt::format("godwit {}", godwit::version()));
  Options options;
  bool quick = false;
  app.add_option("test", options.test, "line_pair, line, memcpy or vm_read, see below")->required();
  app.add_option("--sizes", options.size_words, "sizes of memcpy and vm_read: 64,4K,1M")->delimiter(',');
  app.add_option("--cpus", options.cpus, "the two CPUs (default: the first two that are allowed)")
      ->delimiter(',')
      ->expected(2);
  app.add_flag("--quick", quick, "a tenth of the repetitions");
  app.add_option("-J,--output_file", options.json_file, "write the results to this JSON file");
  std::string lines = "Tests:\n";
  for (const Test& test : tests()) lines += fmt::format("  {:<10} {}\n", test.name, test.help);
  app.footer(lines);
  parse_command_line(app, words);
  if (quick) options.batches /= 10;
  for (const std::string& word : options.size_words) options.sizes.push_back(parse_size_flag("--sizes", word));
  if (options.sizes.empty()) options.sizes = test_named(options.test).sizes;
  if (std::count(options.sizes.begin(), options.sizes.end(), 0U) != 0)
    throw UsageError("--sizes 0: nothing to copy; sizes begin at 1");
  if (options.cpus.empty()) options.cpus = godwit::core::allowed_cpus();
  if (options.cpus.size() < 2 || options.cpus[0] == options.cpus[1])
    throw UsageError("two CPUs are needed: name them with --cpus 0,1, and allow them (taskset)");
  return options;
}

int run(const Options& options) {
  OutputFile file("-J", options.json_file);
  const Test& test = test_named(options.test);
  Report report;
  report.results = test.run(options);
  report.tool = fmt::format("machine_perf {}", test.name);
  report.version = godwit::version();
  report.transport = "none";
  report.ranks = 2;
  report.hosts = 1;
  fmt::print("# {}: {}; CPUs {} and {}\n#{:>11}  {:>10}  {:>10}  {:>10}  {:>10}\n", test.name, test.help,
             options.cpus[0], options.cpus[1], "size(B)", "min(us)", "median(us)", "p99(us)", "MB/s");
  for (const Result& result : report.results)
    fmt::print("{:>12}  {:>10.4f}  {:>10.4f}  {:>10.4f}  {:>10.0f}\n", result.size, result.latency_us->min,
               result.latency_us->median, result.latency_us->p99, result.bandwidth_MBps.value_or(0));
  file.write(to_json(report));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("machine_perf", [&] { return run(parse(words_of(argc, argv))); });
}
