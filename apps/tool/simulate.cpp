// `godwit simulate`: what the collectives would take on a cluster that is only described. Needs no job.
#include "common/cli.hpp"
#include "common/output_file.hpp"
#include "common/usage.hpp"
#include "report/page.hpp"
#include "simulate/cluster_file.hpp"
#include "simulate/describe.hpp"
#include "simulate/print.hpp"
#include "tool/commands.hpp"
#include "tool/file_text.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

namespace godwit::apps {

namespace {

int simulate(const SimulateWords& words) {
  const SimulateOptions options = simulate_options(words);
  if (options.describe) {
    fmt::print("{}", describe_this_machine());
    return 0;
  }
  OutputFile html("--report", options.html_file);
  const Forecaster forecaster(parse_cluster(file_text(options.cluster_file), options.cluster_file), options);
  const Print print = [](std::string_view text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  };
  print(simulation_heading(forecaster, options));
  if (options.parameters > 0)
    print_training(forecaster, options, print);
  else if (options.compare)
    print_comparison(forecaster, options, print);
  else
    print_table(forecaster, options, print);
  if (html.wanted()) html.write(report::html_page(curves(forecaster, options, own_command_line())));
  return 0;
}

}  // namespace

void add_simulate(CLI::App& godwit, Action& chosen) {
  auto words = std::make_shared<SimulateWords>();
  CLI::App* command = godwit.add_subcommand("simulate", "Predict what collectives take on a cluster of a description");
  add_simulate_flags(*command, *words);
  command->callback([words, &chosen] { chosen = [words] { return simulate(*words); }; });
}

}  // namespace godwit::apps
