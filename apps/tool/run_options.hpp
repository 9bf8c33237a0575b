// Flags of `godwit run`. Pure.
#pragma once

#include "pmi/launcher.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace godwit::apps {

/// Cuts `words` at the first "--" and returns what followed it: words that belong to another program.
std::vector<std::string> cut_at_dashes(std::vector<std::string>& words);

/// Adds the flags. Without "--" the first word that is no flag begins the command. `options` must live until the
/// parse.
void add_run_flags(CLI::App& command, pmi::LaunchOptions& options);

/// Takes the command from what the parse left over, or else from what stood after "--", and checks all. Throws
/// UsageError.
void complete_run_options(pmi::LaunchOptions& options, const std::vector<std::string>& remaining,
                          const std::vector<std::string>& after_dashes);

}  // namespace godwit::apps
