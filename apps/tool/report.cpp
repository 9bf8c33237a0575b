// `godwit report`: pages with charts from JSON files. Needs no job.
#include "common/output_file.hpp"
#include "common/usage.hpp"
#include "report/page.hpp"
#include "report/read.hpp"
#include "tool/commands.hpp"
#include "tool/file_text.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace godwit::apps {

namespace {

struct ReportWords {
  std::vector<std::string> files;
  std::string html, svg;
};

int write_report(const ReportWords& words) {
  if (words.html.empty() && words.svg.empty()) throw UsageError("report: name what to write: -o FILE.html, --svg FILE");
  OutputFile html("-o", words.html), svg("--svg", words.svg);
  std::vector<report::Input> inputs;
  for (const std::string& file : words.files) inputs.push_back({.file = file, .text = file_text(file)});
  const report::Document document = report::read_documents(inputs);
  if (html.wanted()) html.write(report::html_page(document));
  if (svg.wanted()) svg.write(report::svg_picture(document));
  return 0;
}

}  // namespace

void add_report(CLI::App& godwit, Action& chosen) {
  auto words = std::make_shared<ReportWords>();
  CLI::App* command = godwit.add_subcommand("report", "Draw charts of results: one HTML page, or an SVG picture");
  command
      ->add_option("files", words->files,
                   "JSON files of ./dev bench, or of -J of the perf programs; several are drawn into the same charts")
      ->required();
  command->add_option("-o,--html", words->html, "write this page: charts, tables, machine");
  command->add_option("--svg", words->svg, "write this picture: the first six charts");
  command->footer("Example: godwit report monday.json tuesday.json -o both.html");
  command->callback([words, &chosen] { chosen = [words] { return write_report(*words); }; });
}

}  // namespace godwit::apps
