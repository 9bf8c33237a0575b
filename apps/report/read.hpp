// From JSON to a Document. Pure.
//
// Two kinds of files are understood: what ./dev bench writes (it has the key "charts", each key is that of a member in
// document.hpp), and what -J of the perf programs writes (it has the key "results", see common/report.hpp).
#pragma once

#include "report/document.hpp"

#include <string>
#include <vector>

namespace godwit::apps::report {

struct Input {
  std::string file;  // for error messages, and to tell equal runtimes of several files apart
  std::string text;
};

/// Throws InputError (see checked_json.hpp).
Document read_document(const Input& input);

/// Charts of the same id become one. Runtimes of files that have one in common get the name of their file behind
/// theirs. Throws InputError if charts of one id differ in their axes.
Document read_documents(const std::vector<Input>& inputs);

}  // namespace godwit::apps::report
