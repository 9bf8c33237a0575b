// Access to JSON that says, when something is not as expected, in which file, under which key, and what was expected.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace godwit::apps::report {

/// "bench.json: charts[0].y_scale: expected log or linear, found \"cubic\"".
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value and where it stands. Refers to the document, which must outlive it.
class Checked {
 public:
  Checked(const nlohmann::json& value, std::string file, std::string path = {})
      : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

  [[noreturn]] void fail(const std::string& expected) const;

  bool has(const std::string& key) const;
  /// The value under `key` of an object. All throw InputError.
  Checked at(const std::string& key) const;
  std::vector<Checked> list() const;
  std::string text() const;
  /// Within 0 and 1e200: what is measured is not negative, and computing with it does not overflow.
  double number() const;
  int whole_number() const;
  bool boolean() const;
  bool is_text() const { return value_->is_string(); }
  bool is_negative() const { return value_->is_number() && value_->get<double>() < 0; }

 private:
  const nlohmann::json* value_;
  std::string file_, path_;
};

/// Throws InputError that says where the text ceases to be JSON.
nlohmann::json parse_json(const std::string& text, const std::string& file);

}  // namespace godwit::apps::report
