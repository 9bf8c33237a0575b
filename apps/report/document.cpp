#include "report/document.hpp"

#include <algorithm>

namespace godwit::apps::report {

std::vector<std::string> runtime_order(const Document& document) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const Runtime& runtime : document.runtimes) add(runtime.name);
  for (const Chart& chart : document.charts)
    for (const Series& series : chart.series) add(series.runtime);
  // The reference comes first, whatever the order of the file.
  const auto first = std::find_if(names.begin(), names.end(), [](const auto& name) { return name == "godwit"; });
  if (first != names.end()) std::rotate(names.begin(), first, first + 1);
  return names;
}

bool is_rival(const std::string& runtime) { return runtime != "machine" && !runtime.starts_with("machine ("); }

std::string reference_runtime(const Document& document) {
  const std::vector<std::string> names = runtime_order(document);
  if (names.empty()) return {};
  const auto found =
      std::find_if(names.begin(), names.end(), [](const auto& name) { return name.starts_with("godwit"); });
  return found == names.end() ? names.front() : *found;
}

}  // namespace godwit::apps::report
