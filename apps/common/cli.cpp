#include "common/cli.hpp"

#include "common/usage.hpp"

#include <CLI/CLI.hpp>
#include <fstream>

namespace godwit::apps {

void parse_command_line(CLI::App& app, const std::vector<std::string>& words) {
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them last first
  } catch (const CLI::CallForHelp&) {
    throw TextRequested(app.help());
  } catch (const CLI::CallForVersion& version) {
    throw TextRequested(version.what());
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

std::vector<std::string> words_of(int argc, char** argv) { return {argv + (argc > 0 ? 1 : 0), argv + argc}; }

std::string quoted_words(const std::vector<std::string>& words) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=:,+@%-";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::string own_command_line() {
  std::vector<std::string> words;
  std::ifstream file("/proc/self/cmdline");
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return quoted_words(words);
}

}  // namespace godwit::apps
