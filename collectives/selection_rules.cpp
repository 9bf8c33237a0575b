#include "collectives/selection_rules.hpp"

#include "collectives/direct.hpp"
#include "core/text.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace godwit::collectives {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string normal(std::string_view word) {
  std::string text;
  for (char c : word)
    if (c != '_' && c != '-' && std::isspace(static_cast<unsigned char>(c)) == 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Those that are schedules and those that are not.
const std::vector<const Algorithm*>& every_way() {
  static const std::vector<const Algorithm*> all = [] {
    std::vector<const Algorithm*> ways(algorithms().begin(), algorithms().end());
    ways.insert(ways.end(), direct_algorithms().begin(), direct_algorithms().end());
    return ways;
  }();
  return all;
}

bool names(const std::string& word, const Algorithm& algorithm) {
  return word == normal(algorithm.name) || (!algorithm.family.empty() && word == algorithm.family);
}

/// Words for algorithms: of one collective, or of all.
std::vector<std::string> known_words(std::optional<Collective> collective) {
  std::set<std::string> words;
  for (const Algorithm* algorithm : every_way()) {
    if (collective && algorithm->collective != *collective) continue;
    words.emplace(algorithm->name);
    if (!algorithm->family.empty()) words.emplace(algorithm->family);
  }
  return {words.begin(), words.end()};
}

/// "unknown algorithm 'rign', did you mean 'ring'?; known are ..."
std::string unknown(std::string_view what, std::string_view word, const std::vector<std::string>& known) {
  const auto near = core::nearest(normal(word), known);
  return fmt::format("unknown {} '{}'{}; known are {}", what, word,
                     near ? fmt::format(", did you mean '{}'?", *near) : "", fmt::join(known, ", "));
}

std::vector<std::string> known_collectives() {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < collective_count; ++i) words.emplace_back(to_string(static_cast<Collective>(i)));
  return words;
}

std::optional<Collective> find_collective(std::string_view word) {
  for (std::size_t i = 0; i < collective_count; ++i)
    if (normal(word) == normal(to_string(static_cast<Collective>(i)))) return static_cast<Collective>(i);
  return {};
}

bool known_to(Collective collective, const std::set<std::string>& words) {
  return std::ranges::any_of(every_way(), [&](const Algorithm* algorithm) {
    return algorithm->collective == collective &&
           std::ranges::any_of(words, [&](const std::string& word) { return names(word, *algorithm); });
  });
}

}  // namespace

void SelectionRules::fail(const std::string& what) const {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", given_, what));
}

SelectionRules SelectionRules::parse(std::string_view text, std::string_view origin) {
  SelectionRules rules;
  rules.given_ = fmt::format("{}={}", origin, text);
  if (normal(text).empty()) return rules;
  for (const bool with_collective : {false, true})  // what is said of a collective stands over the default
    for (std::string_view rule : split(text, ';')) rules.apply(rule, with_collective);
  return rules;
}

void SelectionRules::apply(std::string_view rule, bool with_collective) {
  const std::size_t colon = rule.find(':');
  if ((colon != std::string_view::npos) != with_collective || normal(rule).empty()) return;
  std::optional<Collective> only;
  if (with_collective) {
    only = find_collective(rule.substr(0, colon));
    if (!only) fail(unknown("collective", rule.substr(0, colon), known_collectives()));
    rule.remove_prefix(colon + 1);
  }
  const std::size_t caret = rule.find_first_not_of(' ');
  const bool exclude = caret != std::string_view::npos && rule[caret] == '^';
  if (exclude) rule.remove_prefix(caret + 1);
  std::set<std::string> words;
  for (std::string_view word : split(rule, ',')) {
    const auto known = known_words(only);
    if (std::ranges::none_of(known, [&](const std::string& k) { return normal(k) == normal(word); }))
      fail(unknown(only ? fmt::format("algorithm of {}", to_string(*only)) : "algorithm", word, known));
    words.insert(normal(word));
  }
  for (std::size_t i = 0; i < collective_count; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (only ? collective == *only : known_to(collective, words)) apply(collective, words, exclude);
  }
}

void SelectionRules::apply(Collective collective, const std::set<std::string>& words, bool exclude) {
  bool some_left = false;
  for (const Algorithm* algorithm : every_way()) {
    if (algorithm->collective != collective) continue;
    const bool named = std::ranges::any_of(words, [&](const std::string& word) { return names(word, *algorithm); });
    some_left |= named != exclude && algorithm->build != nullptr;  // the others do not serve every call
    if (named != exclude)
      forbidden_.erase(algorithm);
    else
      forbidden_.insert(algorithm);
  }
  if (!some_left)
    fail(fmt::format("this leaves no algorithm for {}; known are {}", to_string(collective),
                     fmt::join(known_words(collective), ", ")));
}

bool SelectionRules::allows(const Algorithm& algorithm, const Problem& problem) const noexcept {
  if (forbidden_.contains(&algorithm)) return false;
  if (problem.bytes() < tree_threshold_ || algorithm.family == "ring") return true;
  return std::ranges::none_of(algorithms(), [&](const Algorithm* other) {
    return other->collective == algorithm.collective && other->family == "ring" && !forbidden_.contains(other);
  });
}

}  // namespace godwit::collectives
