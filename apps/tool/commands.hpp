// The subcommands of `godwit`. A new one is a file with one of these functions, and a line here and in main.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace godwit::apps {

/// What the chosen subcommand does; returns the exit status.
using Action = std::function<int()>;

/// Each adds its subcommand with its flags; parsing the subcommand sets `chosen`.
void add_info(CLI::App& godwit, Action& chosen);
void add_run(CLI::App& godwit, Action& chosen, const std::vector<std::string>& after_dashes);
void add_perf(CLI::App& godwit, Action& chosen);
void add_ibstat(CLI::App& godwit, Action& chosen);
void add_report(CLI::App& godwit, Action& chosen);
void add_simulate(CLI::App& godwit, Action& chosen);
void add_tune(CLI::App& godwit, Action& chosen);

}  // namespace godwit::apps
