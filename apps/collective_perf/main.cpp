// One binary, several names: all_reduce_perf, all_gather_perf, ...; the name it is started by says what it measures.
#include "collective_perf/runner.hpp"
#include "common/cli.hpp"
#include "common/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace {

using namespace godwit;
using namespace godwit::apps;

Benchmark benchmark_or_throw(std::string_view program) {
  if (auto benchmark = benchmark_of_program(program)) return *benchmark;
  std::vector<std::string_view> names;
  for (Benchmark benchmark : all_benchmarks) names.push_back(program_name(benchmark));
  throw UsageError(fmt::format("the name of this program says what to measure; '{}' is none of {}", program,
                               fmt::join(names, ", ")));
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("godwit", [&] {
    const Benchmark benchmark = benchmark_or_throw(argc > 0 ? argv[0] : "");
    CollectiveOptions options = parse_collective_options(benchmark, words_of(argc, argv));
    Context context;
    return run_collective_benchmark(context, benchmark, std::move(options));
  });
}
