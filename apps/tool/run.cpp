// `godwit run`: starts local ranks; see pmi/launcher.hpp.
#include "tool/commands.hpp"
#include "tool/run_options.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace godwit::apps {

void add_run(CLI::App& godwit, Action& chosen, const std::vector<std::string>& after_dashes) {
  auto options = std::make_shared<pmi::LaunchOptions>();
  CLI::App* command = godwit.add_subcommand("run", "Start ranks on this host, with no other launcher");
  add_run_flags(*command, *options);
  command->callback([options, command, &chosen, &after_dashes] {
    complete_run_options(*options, command->remaining(), after_dashes);
    chosen = [options] { return pmi::run_local_ranks(*options); };
  });
}

}  // namespace godwit::apps
