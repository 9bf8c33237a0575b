// `godwit perf`: point-to-point benchmarks, to be started by any launcher.
#include "tool/commands.hpp"
#include "tool/perf/runner.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace godwit::apps {

void add_perf(CLI::App& godwit, Action& chosen) {
  auto words = std::make_shared<PerfWords>();
  CLI::App* command = godwit.add_subcommand("perf", "Measure latency, bandwidth or message rate between ranks");
  add_perf_flags(*command, *words);
  command->callback([words, &chosen] {
    chosen = [words] {
      const PerfOptions options = perf_options(*words);
      Context context({.threads = options.thread_mode, .set = {}});
      return run_perf(context, options);
    };
  });
}

}  // namespace godwit::apps
