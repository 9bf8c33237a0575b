// `godwit perf`: point-to-point benchmarks, started by any launcher, or by hand as a server and a client.
#include "common/run_report.hpp"
#include "common/together.hpp"
#include "common/usage.hpp"
#include "pmi/pair.hpp"
#include "tool/commands.hpp"
#include "tool/perf/pair.hpp"
#include "tool/perf/perftest_run.hpp"
#include "tool/perf/runner.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

namespace godwit::apps {

namespace {

/// The options of the context that the flags of the adapter stand for. GODWIT_TRANSPORTS is stronger than what they
/// imply.
std::map<std::string, std::string> context_options(const PerfOptions& options) {
  auto set = adapter_options(options.adapter);
  const char* const wish = std::getenv("GODWIT_TRANSPORTS");
  if (wish != nullptr && *wish != '\0') set.erase("TRANSPORTS");
  return set;
}

int run_in_job(const PerfOptions& options) {
  Context context({.threads = options.thread_mode, .set = context_options(options)});
  Communicator world = context.world();
  if (world.size() < 2)
    fail_together(world, 2,
                  fmt::format("perf {} needs two ranks, this job has one; try: godwit run -n 2 -- godwit perf {}",
                              options.test.name, options.test.name));
  if (options.form == Form::own) return run_perf(context, world, options);
  const auto files = open_run_report(world, options.json_file, options.html_file);
  const int status = run_perftest(context, world, options, {}, files.get());
  world.barrier();
  return status;
}

}  // namespace

void add_perf(CLI::App& godwit, Action& chosen) {
  auto words = std::make_shared<PerfWords>();
  CLI::App* command = godwit.add_subcommand("perf", "Measure latency, bandwidth or message rate between two ranks");
  add_perf_flags(*command, *words);
  command->callback([words, &chosen] {
    chosen = [words] {
      const bool in_job = pmi::started_by_launcher();
      const PerfOptions options = perf_options(*words, in_job);
      return in_job ? run_in_job(options) : run_pair(options, context_options(options));
    };
  });
}

}  // namespace godwit::apps
