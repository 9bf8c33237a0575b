// The `godwit` tool: info, run, perf, ibstat, report, simulate, tune. One file per subcommand.
#include "common/cli.hpp"
#include "common/usage.hpp"
#include "tool/commands.hpp"
#include "tool/run_options.hpp"

#include <fmt/format.h>
#include <godwit/version.hpp>

#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  using namespace godwit::apps;
  return guarded_main("godwit", [&] {
    CLI::App app("Godwit, an RDMA-first message passing runtime.", "godwit");
    app.set_version_flag("--version", fmt::format("godwit {}", godwit::version()));
    app.require_subcommand(1);
    std::vector<std::string> words = words_of(argc, argv);
    const std::vector<std::string> after_dashes = cut_at_dashes(words);
    Action chosen;
    add_info(app, chosen);
    add_run(app, chosen, after_dashes);
    add_perf(app, chosen);
    add_ibstat(app, chosen);
    add_report(app, chosen);
    add_simulate(app, chosen);
    add_tune(app, chosen);
    parse_command_line(app, words);
    return chosen();
  });
}
