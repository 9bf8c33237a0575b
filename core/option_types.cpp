// How each type of option is read from text and shown.
#include "core/options.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <strings.h>
#include <algorithm>
#include <charconv>

namespace godwit::core {

namespace {

constexpr const char* size_example = "a size such as 8, 4K, 64M";

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// type_name(value): for the tables. read(text, value): sets value and returns an empty string, or returns what is
// accepted. show(value): text that read() takes back.

std::string type_name(const bool&) { return "yes or no"; }
std::string show(const bool& value) { return value ? "yes" : "no"; }
std::string read(std::string_view text, bool& value) {
  const auto is_text = [&](std::string_view word) { return same_word(text, word); };
  if (std::ranges::any_of(std::vector{"1", "yes", "true", "on"}, is_text))
    value = true;
  else if (std::ranges::any_of(std::vector{"0", "no", "false", "off"}, is_text))
    value = false;
  else
    return "yes or no (1 or 0, true or false, on or off)";
  return {};
}

std::string type_name(const std::int64_t&) { return "number"; }
std::string show(const std::int64_t& value) { return fmt::format("{}", value); }
std::string read(std::string_view text, std::int64_t& value) {
  const char* end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && after == end ? "" : "a whole number";
}

std::string type_name(const Bytes&) { return "size"; }
std::string show(const Bytes& value) { return format_size(value.value); }
std::string read(std::string_view text, Bytes& value) {
  const auto size = parse_size(text);
  if (!size) return size_example;
  value.value = *size;
  return {};
}

std::string type_name(const std::optional<Bytes>&) { return "size"; }
std::string show(const std::optional<Bytes>& value) { return value ? show(*value) : ""; }
std::string read(std::string_view text, std::optional<Bytes>& value) { return read(text, value.emplace()); }

std::string type_name(const Seconds&) { return "seconds"; }
std::string show(const Seconds& value) { return fmt::format("{}", value.value); }
std::string read(std::string_view text, Seconds& value) {
  constexpr const char* accepted = "a time in seconds such as 5, 0.25, 250ms, 2m";
  const char* end = text.data() + text.size();
  if (text.empty() || text[0] < '0' || text[0] > '9') return accepted;
  double number = 0;
  const auto [after, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const std::string_view unit(after, static_cast<std::size_t>(end - after));
  const bool known = unit.empty() || unit == "s" || unit == "ms" || unit == "m";
  if (error != std::errc{} || !known) return accepted;
  const double scale = unit == "ms" ? 1e-3 : unit == "m" ? 60 : 1;
  constexpr double ten_years = 3.2e8;  // so that milliseconds and time points never overflow
  if (number * scale > ten_years) return "a time of at most 10 years";
  value.value = number * scale;
  return {};
}

std::string type_name(const Choice& value) { return fmt::format("one of {}", fmt::join(value.accepted, ", ")); }
std::string show(const Choice& value) { return value.value; }
std::string read(std::string_view text, Choice& value) {
  for (const std::string& word : value.accepted) {
    if (!same_word(word, text)) continue;
    value.value = word;
    return {};
  }
  const auto near = nearest(text, value.accepted);
  return type_name(value) + (near ? fmt::format(" (did you mean {}?)", *near) : "");
}

std::string type_name(const Secret&) { return "secret text"; }
std::string show(const Secret& value) { return value.value.empty() ? "" : "(hidden)"; }
std::string read(std::string_view text, Secret& value) {
  value.value = text;
  return {};
}

std::string type_name(const std::string&) { return "text"; }
std::string show(const std::string& value) { return value; }
std::string read(std::string_view text, std::string& value) {
  value = text;
  return {};
}

std::string type_name(const std::vector<std::string>&) { return "list: a,b,..."; }
std::string show(const std::vector<std::string>& value) { return fmt::format("{}", fmt::join(value, ",")); }
std::string read(std::string_view text, std::vector<std::string>& value) {
  value.clear();
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    word = word.substr(0, word.find_last_not_of(' ') + 1);
    if (!word.empty()) value.emplace_back(word);
  }
  return {};
}

}  // namespace

template <class T>
Option<T>::Option(OptionGroup& group, std::string_view name, T default_value, std::string_view help, Check check)
    : OptionBase(group, name, help),
      value_(default_value),
      default_(std::move(default_value)),
      check_(std::move(check)) {}

template <class T>
std::string Option<T>::type_text() const {
  return type_name(default_);
}

template <class T>
std::string Option<T>::default_text() const {
  return show(default_);
}

template <class T>
std::string Option<T>::value_text() const {
  return show(value_);
}

template <class T>
std::string Option<T>::parse(std::string_view text) {
  T candidate = default_;
  std::string accepted = read(text, candidate);
  if (accepted.empty() && check_) accepted = check_(candidate);
  if (accepted.empty()) value_ = std::move(candidate);
  return accepted;
}

template class Option<bool>;
template class Option<std::int64_t>;
template class Option<Bytes>;
template class Option<std::optional<Bytes>>;
template class Option<Seconds>;
template class Option<Choice>;
template class Option<Secret>;
template class Option<std::string>;
template class Option<std::vector<std::string>>;

}  // namespace godwit::core
