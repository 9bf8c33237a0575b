#include "tool/run_options.hpp"

#include "common/usage.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace godwit::apps {

namespace {

pmi::Bind bind_of(const std::string& word) {
  if (word == "none") return pmi::Bind::none;
  if (word == "core") return pmi::Bind::core;
  if (word == "numa") return pmi::Bind::numa;
  throw UsageError(fmt::format("run --bind {}: write none, core or numa", word));
}

}  // namespace

void add_run_flags(CLI::App& command, pmi::LaunchOptions& options) {
  command.prefix_command();  // the first word that is no flag ends ours: the rest belongs to the program
  command.add_option("-n,--np", options.ranks, "number of ranks (default 1)");
  command.add_option_function<std::string>(
      "--bind", [&options](const std::string& word) { options.bind = bind_of(word); },
      "what each rank is bound to: none (default), core, numa; within the CPUs that this process may use");
  command.add_flag("--report-bindings", options.report_bindings, "say which CPUs each rank may use");
  command.add_flag("--keep-going", options.keep_going, "a rank that dies does not end the others");
  command.add_flag("--tag-output", options.tag_output, "begin every line of output with its rank");
  command.add_option("-x", options.environment, "NAME=VALUE for the environment of the ranks; can be repeated")
      ->allow_extra_args(false);
  command.footer("Example: godwit run -n 4 -x GODWIT_DEBUG=info -- ./app --its-flag");
}

std::vector<std::string> cut_at_dashes(std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) return {};
  std::vector<std::string> after(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return after;
}

void complete_run_options(pmi::LaunchOptions& options, const std::vector<std::string>& remaining,
                          const std::vector<std::string>& after_dashes) {
  if (options.ranks < 1) throw UsageError(fmt::format("run -n {}: at least one rank is needed", options.ranks));
  if (!remaining.empty() && (remaining.front().starts_with("-") || !after_dashes.empty()))
    throw UsageError(fmt::format("run: '{}' is no flag of run; write godwit run -n 4 -- ./app", remaining.front()));
  options.command = remaining.empty() ? after_dashes : remaining;
  if (options.command.empty()) throw UsageError("run: no program; write godwit run -n 4 -- ./app");
  for (const std::string& variable : options.environment)
    if (variable.find('=') == std::string::npos || variable.starts_with("="))
      throw UsageError(fmt::format("run -x {}: write NAME=VALUE", variable));
}

}  // namespace godwit::apps
