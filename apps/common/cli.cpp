#include "common/cli.hpp"

#include "common/usage.hpp"

#include <CLI/CLI.hpp>

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

}  // namespace godwit::apps
