// The bridge to CLI11: its exceptions become ours.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace godwit::apps {

/// Parses the words after the program's name. Throws UsageError, or TextRequested for --help and --version.
void parse_command_line(CLI::App& app, const std::vector<std::string>& words);

std::vector<std::string> words_of(int argc, char** argv);

/// How this process was started, quoted as a shell wants it.
std::string own_command_line();
/// The same for any words.
std::string quoted_words(const std::vector<std::string>& words);

}  // namespace godwit::apps
