#include "report/checked_json.hpp"

#include <fmt/format.h>

namespace godwit::apps::report {

namespace {

std::string shown(const nlohmann::json& value) {
  constexpr std::size_t longest = 40;
  if (value.is_structured()) return fmt::format("an {}", value.is_array() ? "array" : "object");
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

}  // namespace

void Checked::fail(const std::string& expected) const {
  throw InputError(fmt::format("{}: {}: expected {}, found {}", file_, path_.empty() ? "the whole file" : path_,
                               expected, shown(*value_)));
}

bool Checked::has(const std::string& key) const {
  if (!value_->is_object()) fail("an object");
  return value_->contains(key);
}

Checked Checked::at(const std::string& key) const {
  const std::string path = path_.empty() ? key : path_ + "." + key;
  if (!has(key)) throw InputError(fmt::format("{}: {}: this key is missing", file_, path));
  return {(*value_)[key], file_, path};
}

std::vector<Checked> Checked::list() const {
  if (!value_->is_array()) fail("an array");
  std::vector<Checked> elements;
  elements.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i)
    elements.emplace_back((*value_)[i], file_, fmt::format("{}[{}]", path_, i));
  return elements;
}

std::string Checked::text() const {
  if (!value_->is_string()) fail("a string");
  return value_->get<std::string>();
}

double Checked::number() const {
  constexpr double largest = 1e200;
  if (!value_->is_number()) fail("a number");
  const double number = value_->get<double>();
  if (!(number >= 0 && number <= largest)) fail("a number from 0 to 1e200");
  return number;
}

int Checked::whole_number() const {
  constexpr int largest = 1'000'000'000;
  if (!value_->is_number_integer()) fail("a whole number");
  const double number = value_->get<double>();
  if (!(number >= 0 && number <= largest)) fail("a whole number from 0 to 10^9");
  return static_cast<int>(number);
}

bool Checked::boolean() const {
  if (!value_->is_boolean()) fail("true or false");
  return value_->get<bool>();
}

nlohmann::json parse_json(const std::string& text, const std::string& file) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {  // syntax, or a number that no double holds
    throw InputError(fmt::format("{}: not JSON: {}", file, error.what()));
  }
}

}  // namespace godwit::apps::report
