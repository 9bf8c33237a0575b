// Several documents become one.
#include "report/checked_json.hpp"
#include "report/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace godwit::apps::report {

namespace {

/// File names without folder and ending; whole paths if those are not all different.
std::vector<std::string> labels_of(const std::vector<Input>& inputs) {
  std::vector<std::string> labels;
  for (const Input& input : inputs) labels.push_back(std::filesystem::path(input.file).stem().string());
  if (std::set<std::string>(labels.begin(), labels.end()).size() == inputs.size()) return labels;
  for (std::size_t i = 0; i < inputs.size(); ++i) labels[i] = inputs[i].file;
  return labels;
}

/// Puts the label behind every name if another document has one of them, too.
void rename_runtimes(Document& document, const std::map<std::string, int>& documents_with, const std::string& label) {
  const std::vector<std::string> names = runtime_order(document);
  if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return documents_with.at(name) > 1; })) return;
  for (Runtime& runtime : document.runtimes) runtime.name += fmt::format(" ({})", label);
  for (Chart& chart : document.charts)
    for (Series& series : chart.series) series.runtime += fmt::format(" ({})", label);
}

void add_charts(Document& to, const Document& from, const std::string& file) {
  for (const Chart& chart : from.charts) {
    const auto known =
        std::find_if(to.charts.begin(), to.charts.end(), [&](const Chart& other) { return other.id == chart.id; });
    if (known == to.charts.end()) {
      to.charts.push_back(chart);
      continue;
    }
    if (known->x_scale != chart.x_scale || known->y_scale != chart.y_scale || known->y_label != chart.y_label ||
        known->lower_is_better != chart.lower_is_better)
      throw InputError(fmt::format(
          "{}: chart {}: expected the axes that this chart has in the files before (x_scale, y_scale, y_label, better)",
          file, chart.id));
    known->series.insert(known->series.end(), chart.series.begin(), chart.series.end());
  }
}

std::string joined(const std::vector<Document>& documents, std::string Document::*member, const char* between) {
  std::string text;
  std::set<std::string> seen;
  for (const Document& document : documents)
    if (!(document.*member).empty() && seen.insert(document.*member).second)
      text += (text.empty() ? "" : between) + document.*member;
  return text;
}

}  // namespace

Document read_documents(const std::vector<Input>& inputs) {
  std::vector<Document> documents;
  for (const Input& input : inputs) documents.push_back(read_document(input));
  if (documents.empty()) return {};
  std::map<std::string, int> documents_with;
  for (const Document& document : documents)
    for (const std::string& name : runtime_order(document)) ++documents_with[name];
  const std::vector<std::string> labels = labels_of(inputs);
  Document all{.title = joined(documents, &Document::title, " | "),
               .command = joined(documents, &Document::command, "\n"),
               .date = joined(documents, &Document::date, ", "),
               .machine = documents.front().machine,
               .runtimes = {},
               .charts = {},
               .targets = {}};
  for (std::size_t i = 0; i < documents.size(); ++i) {
    rename_runtimes(documents[i], documents_with, labels[i]);
    add_charts(all, documents[i], inputs[i].file);
    all.runtimes.insert(all.runtimes.end(), documents[i].runtimes.begin(), documents[i].runtimes.end());
    all.targets.insert(all.targets.end(), documents[i].targets.begin(), documents[i].targets.end());
  }
  return all;
}

}  // namespace godwit::apps::report
