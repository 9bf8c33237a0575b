// Declaring options and loading them from variables. One thread: whoever makes the context.
#include "core/options.hpp"

#include "core/text.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>
#include <algorithm>

namespace godwit::core {

namespace {

constexpr std::string_view prefix = "GODWIT_";
constexpr std::string_view nccl_prefix = "NCCL_";

std::string_view without_prefix(std::string_view name) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

}  // namespace

OptionBase::OptionBase(OptionGroup& group, std::string_view name, std::string_view help) : name_(name), help_(help) {
  group.options_.push_back(this);
}

void OptionBase::set(std::string_view text, std::string_view origin) {
  const std::string accepted = parse(text);
  if (!accepted.empty()) throw Error(ErrorCode::invalid_argument, fmt::format("{}={}: not {}", origin, text, accepted));
  origin_ = origin;
}

void OptionSet::add_group(std::type_index type, std::unique_ptr<OptionGroup> group) {
  for (const OptionBase* option : group->options()) {
    const auto same = [&](const OptionBase* other) { return other->name() == option->name(); };
    if (find(option->name()) || std::ranges::count_if(group->options(), same) > 1)
      throw Error(ErrorCode::internal,
                  fmt::format("option {} of group {} is declared twice", option->name(), group->title()));
  }
  index_.emplace(type, group.get());
  groups_.push_back(std::move(group));
}

OptionBase* OptionSet::find(std::string_view name) const noexcept {
  for (const auto& group : groups_)
    for (OptionBase* option : group->options())
      if (option->name() == name) return option;
  return nullptr;
}

const OptionSet::Alias* OptionSet::find_ignored(std::string_view variable) const noexcept {
  const auto found = std::ranges::find_if(
      aliases_, [&](const Alias& alias) { return alias.foreign == variable && alias.ours.empty(); });
  return found == aliases_.end() ? nullptr : &*found;
}

void OptionSet::alias(std::string_view foreign, std::string_view ours, Convert convert) {
  if (!find(ours)) throw Error(ErrorCode::internal, fmt::format("{} is an alias of unknown option {}", foreign, ours));
  aliases_.push_back({std::string(foreign), std::string(ours), {}, std::move(convert)});
}

void OptionSet::ignore(std::string_view variable, std::string_view why) {
  aliases_.push_back({std::string(variable), {}, std::string(why), {}});
}

std::string OptionSet::unknown_text(std::string_view name, std::string_view shown_prefix) const {
  std::vector<std::string> names;
  for (const auto& group : groups_)
    for (const OptionBase* option : group->options()) names.push_back(option->name());
  for (const Alias& alias : aliases_)
    if (alias.foreign.starts_with(prefix)) names.emplace_back(without_prefix(alias.foreign));

  const auto near = nearest(without_prefix(name), names);
  return fmt::format("there is no option {}{}", name,
                     near ? fmt::format(": did you mean {}{}?", shown_prefix, *near)
                          : std::string("; `godwit info --options` lists all"));
}

std::vector<OptionNote> OptionSet::load(const Variables& variables, const Variables& overrides) {
  std::vector<OptionNote> notes;
  std::vector<std::string> problems;
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  };

  // Names for the pairs' parts: clang 14 cannot capture structured bindings.
  for (const auto& variable : variables) {
    const std::string& name = variable.first;
    const std::string& value = variable.second;
    const bool is_ours = name.starts_with(prefix);
    OptionBase* option = is_ours ? find(without_prefix(name)) : nullptr;
    const Alias* ignored = find_ignored(name);
    if (is_ours && !option && !ignored) problems.push_back(unknown_text(name, prefix));
    if (value.empty()) continue;
    if (ignored) notes.push_back({true, fmt::format("{}={} is set but not used: {}", name, value, ignored->why)});
    if (option) attempt([&] { option->set(value, name); });
  }
  for (const auto& wish : overrides) {
    const std::string& name = wish.first;
    const std::string& value = wish.second;
    const std::string origin = "ContextOptions " + name;
    if (OptionBase* option = find(name))
      attempt([&] { option->set(value, origin); });
    else
      problems.push_back("ContextOptions: " + unknown_text(name, ""));
  }
  for (const Alias& alias : aliases_) {
    const auto found = variables.find(alias.foreign);
    if (alias.ours.empty() || found == variables.end() || found->second.empty()) continue;
    const std::string& text = found->second;
    OptionBase& option = *find(alias.ours);
    if (option.is_set()) {
      notes.push_back(
          {false, fmt::format("{}={} has no effect: {} is stronger", alias.foreign, text, option.origin())});
      continue;
    }
    attempt([&] {
      option.set(alias.convert ? alias.convert(text) : text, alias.foreign);
      notes.push_back({false, fmt::format("{}={} is taken as {}{}={}", alias.foreign, text, prefix, alias.ours,
                                          option.value_text())});
    });
  }
  if (!problems.empty()) throw Error(ErrorCode::invalid_argument, fmt::format("{}", fmt::join(problems, "\n")));
  return notes;
}

OptionSet::Variables OptionSet::environment() {
  Variables variables;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !(text.starts_with(prefix) || text.starts_with(nccl_prefix))) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace godwit::core
