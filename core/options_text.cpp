#include "core/options_text.hpp"

#include "core/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace godwit::core {

namespace {

std::string or_unset(std::string text) { return text.empty() ? "unset" : std::move(text); }

std::string variable(const OptionBase& option) { return "GODWIT_" + option.name(); }

std::size_t widest_name(const OptionSet& options) {
  std::size_t width = 0;
  for (const auto& group : options.groups())
    for (const OptionBase* option : group->options()) width = std::max(width, variable(*option).size());
  for (const auto& alias : options.aliases()) width = std::max(width, alias.foreign.size());
  return width;
}

std::string effect_of(const OptionSet::Alias& alias) {
  return alias.ours.empty() ? "not used: " + alias.why : "taken as GODWIT_" + alias.ours;
}

// Inside a table cell a bar would end the cell.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string options_text(const OptionSet& options) {
  const std::size_t width = widest_name(options);
  std::string text;
  auto out = std::back_inserter(text);
  for (const auto& group : options.groups()) {
    fmt::format_to(out, "{}{}:\n", text.empty() ? "" : "\n", group->title());
    for (const OptionBase* option : group->options()) {
      fmt::format_to(out, "  {:{}}  {}; default {}", variable(*option), width, option->type_text(),
                     or_unset(option->default_text()));
      if (option->is_set()) fmt::format_to(out, "; now {}, from {}", or_unset(option->value_text()), option->origin());
      fmt::format_to(out, "\n  {:{}}  {}\n", "", width, option->help());
    }
  }
  if (!options.aliases().empty()) fmt::format_to(out, "\nother variables:\n");
  for (const auto& alias : options.aliases())
    fmt::format_to(out, "  {:{}}  {}\n", alias.foreign, width, effect_of(alias));
  return text;
}

std::string options_markdown(const OptionSet& options) {
  std::string text =
      "# Options\n\n"
      "Generated from the declarations; do not edit. Each option is an environment variable; `ContextOptions::set`\n"
      "takes the same names without the prefix and is stronger. An unknown `GODWIT_*` name and a bad value are\n"
      "errors. Sizes are powers of 1024 (`8`, `4K`, `64M`, `8G`), times are in seconds (`5`, `0.25`, `250ms`, `2m`).\n";
  auto out = std::back_inserter(text);
  for (const auto& group : options.groups()) {
    fmt::format_to(out, "\n## {}\n\n| variable | type | default | meaning |\n|---|---|---|---|\n", group->title());
    for (const OptionBase* option : group->options())
      fmt::format_to(out, "| `{}` | {} | {} | {} |\n", variable(*option), cell(option->type_text()),
                     cell(or_unset(option->default_text())), cell(option->help()));
  }
  if (options.aliases().empty()) return text;
  fmt::format_to(out, "\n## other variables\n\n| variable | effect |\n|---|---|\n");
  for (const auto& alias : options.aliases())
    fmt::format_to(out, "| `{}` | {} |\n", alias.foreign, cell(effect_of(alias)));
  return text;
}

}  // namespace godwit::core
