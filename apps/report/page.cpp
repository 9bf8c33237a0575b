#include "report/page.hpp"

#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "report/ratios.hpp"
#include "report/style.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace godwit::apps::report {

namespace {

constexpr std::string_view page_style = R"(:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;max-width:1180px;margin:2em auto;
padding:0 1.2em;color:#1b1f24;background:#ffffff}
h1{font-size:1.5em;margin-bottom:.2em}h2{font-size:1.15em;margin-top:2em}
pre{overflow-x:auto;padding:.7em 1em;border:1px solid #dfe3e8;border-radius:6px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92em}
th,td{padding:.15em .7em;border-bottom:1px solid #dfe3e8;text-align:right;vertical-align:top}
th{font-weight:600}td.word,th.word{text-align:left}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(520px,100%),1fr));gap:1.6em}
figure{margin:0}figure svg{width:100%;height:auto}
figcaption,.note{color:#57606a;font-size:.92em}
summary{cursor:pointer}details{overflow-x:auto}
.good{color:#0b7a4b}.bad{color:#c2410c;font-weight:600}
@media (prefers-color-scheme:dark){body{color:#e6e9ec;background:#15181c}pre,th,td{border-color:#2b3138}
figcaption,.note{color:#9aa4ae}.good{color:#4cc38a}.bad{color:#ff8b5e}}
)";

std::string cell(std::string_view text, std::string_view style = {}) {
  return style.empty() ? fmt::format("<td>{}</td>", escaped(text))
                       : fmt::format("<td class=\"{}\">{}</td>", style, escaped(text));
}

std::string number_cell(const std::optional<double>& value) { return cell(value ? short_number(*value) : "–"); }

std::string ratio_cell(const std::optional<double>& ratio, bool lower_is_better) {
  if (!ratio) return cell("–");
  return cell(fmt::format("{:.2f}", *ratio), favourable(*ratio, lower_is_better) ? "good" : "bad");
}

std::string fact_row(std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  return fmt::format("<tr><th class=\"word\">{}</th>{}</tr>\n", name, cell(value, "word"));
}

std::string machine_table(const Document& document) {
  const Machine& machine = document.machine;
  std::string rows =
      fact_row("processor", machine.cpu) + fact_row("CPUs", machine.cpus > 0 ? fmt::format("{}", machine.cpus) : "") +
      fact_row("caches", machine.caches) + fact_row("memory", machine.memory) + fact_row("kernel", machine.kernel) +
      fact_row("virtual machine", machine.virtual_machine) + fact_row("pinning", machine.pinning);
  for (const Runtime& runtime : document.runtimes)
    rows += fact_row(escaped(runtime.name),
                     fmt::format("{}{}{}", runtime.version, runtime.about.empty() ? "" : ": ", runtime.about));
  return rows.empty() ? rows : fmt::format("<h2>Machine and runtimes</h2>\n<table>\n{}</table>\n", rows);
}

std::string target_table(const std::vector<Target>& targets) {
  if (targets.empty()) return {};
  const auto met = std::count_if(targets.begin(), targets.end(), [](const Target& target) { return target.met; });
  std::string text = fmt::format(
      "<h2>Targets: {} of {} met</h2>\n<table>\n<tr><th class=\"word\">target</th><th class=\"word\">wanted</th>"
      "<th class=\"word\">measured</th><th class=\"word\">met</th><th class=\"word\">note</th></tr>\n",
      met, targets.size());
  for (const Target& target : targets)
    text += fmt::format("<tr>{}{}{}{}{}</tr>\n", cell(target.name, "word"), cell(target.want, "word"),
                        cell(target.got, "word"), cell(target.met ? "✓ yes" : "✗ no", target.met ? "good" : "bad"),
                        cell(target.note, "word"));
  return text + "</table>\n";
}

std::string ratio_sentence(const RatioTable& table) {
  if (!table.mean_to_best) return {};
  const bool lower = table.lower_is_better;
  return fmt::format(
      " {} divided by the best other: <span class=\"{}\">{:.2f}</span> in the geometric mean, <span class=\"{}\">{:.2f}"
      "</span> at worst; {} 1 is better.",
      escaped(table.runtimes.front()), favourable(*table.mean_to_best, lower) ? "good" : "bad", *table.mean_to_best,
      favourable(*table.worst_to_best, lower) ? "good" : "bad", *table.worst_to_best, lower ? "below" : "above");
}

std::string ratio_rows(const Chart& chart, const RatioTable& table) {
  std::string text = fmt::format("<tr><th>{}</th>", escaped(chart.x_label));
  for (const std::string& name : table.runtimes) text += fmt::format("<th>{}</th>", escaped(name));
  for (std::size_t i = 1; i < table.runtimes.size(); ++i)
    text += fmt::format("<th>÷ {}</th>", escaped(table.runtimes[i]));
  const bool several = table.runtimes.size() > 2;
  text += several ? "<th>÷ best</th></tr>\n" : "</tr>\n";
  const auto ratio_cells = [&](const std::vector<std::optional<double>>& ratios, const std::optional<double>& to_best) {
    std::string cells;
    for (std::size_t i = 1; i < ratios.size(); ++i) cells += ratio_cell(ratios[i], table.lower_is_better);
    return several ? cells + ratio_cell(to_best, table.lower_is_better) : cells;
  };
  for (const RatioRow& row : table.rows) {
    text += "<tr>" + cell(row.x);
    for (const auto& median : row.medians) text += number_cell(median);
    text += ratio_cells(row.ratios, row.to_best) + "</tr>\n";
  }
  if (table.runtimes.size() > 1)
    text += fmt::format("<tr><th colspan=\"{}\">geometric mean</th>{}</tr>\n", table.runtimes.size() + 1,
                        ratio_cells(table.means, table.mean_to_best));
  return text;
}

std::string chart_figure(const Chart& chart, const std::vector<std::string>& order, const std::string& reference) {
  const ChartSize size;
  const RatioTable table = ratio_table(chart, reference);
  return fmt::format(
      "<figure id=\"{}\">\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\">\n"
      "<title>{}</title>\n{}</svg>\n<figcaption>Medians in {}.{}</figcaption>\n"
      "<details><summary>Table</summary>\n<table>\n{}</table>\n</details>\n</figure>\n",
      escaped(chart.id), size.width, size.height, escaped(chart.title), draw_chart(chart, order, size, true),
      escaped(chart.y_label), ratio_sentence(table), ratio_rows(chart, table));
}

}  // namespace

std::string html_page(const Document& document) {
  const std::vector<std::string> order = runtime_order(document);
  const std::string reference = reference_runtime(document);
  std::string charts;
  for (const Chart& chart : document.charts) charts += chart_figure(chart, order, reference);
  return fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n<title>{0}</title>\n<style>\n{1}{2}"
      "</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p class=\"note\">{3}</p>\n<pre>{4}</pre>\n{5}"
      "<h2>Results</h2>\n<p class=\"note\">Lines are medians, bands and whiskers go from the least to the largest "
      "round "
      "(of one run: from the minimum to the 99th percentile). Values appear under the pointer.</p>\n"
      "<div class=\"charts\">\n{6}</div>\n{7}</body>\n</html>\n",
      escaped(document.title), page_style, chart_style_sheet(), escaped(document.date), escaped(document.command),
      target_table(document.targets), charts, machine_table(document));
}

}  // namespace godwit::apps::report
