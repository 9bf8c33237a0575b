#include "tool/perf/agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace godwit::apps {

namespace {

std::string sizes_text(const SizeSweep& sizes) {
  if (!sizes.list.empty()) return fmt::format("{}", fmt::join(sizes.list, ","));
  const SizeRange& range = sizes.range;
  if (range.first == range.last) return fmt::format("{}", range.first);
  return fmt::format("{} to {} {} {}", range.first, range.last, range.factor > 1 ? "times" : "plus",
                     range.factor > 1 ? range.factor : range.step);
}

std::string iterations_text(const PerfOptions& options) {
  if (options.duration_s > 0) return "unset";
  if (options.iterations > 0 || options.form == Form::perftest) return fmt::format("{}", options.iterations_for(0));
  return "the default";
}

std::string number_text(const std::optional<int>& value) { return value ? fmt::format("{}", *value) : "unset"; }
std::string switch_text(bool value) { return value ? "set" : "unset"; }

}  // namespace

Terms terms_of(const PerfOptions& options, std::string host, std::string problem) {
  Terms terms{.host = std::move(host), .problem = std::move(problem), .values = {}};
  const auto add = [&terms](std::string_view flag, std::string value) {
    terms.values.emplace_back(flag, std::move(value));
  };
  add("the test", std::string(options.test.name));
  add("--table", options.form == Form::perftest ? "perftest" : "godwit");
  add("the size (-s, -a, --sizes, --minbytes ...)", sizes_text(options.sizes));
  add("-n", iterations_text(options));
  add("-D", options.duration_s > 0 ? fmt::format("{}", options.duration_s) : "unset");
  add("-w", options.warmup ? fmt::format("{}", *options.warmup) : "the default");
  add("-t", fmt::format("{}", options.depth));
  add("-l", fmt::format("{}", options.post_list));
  add("-b", switch_text(options.bidirectional));
  add("--check", fmt::format("{}", options.checks));
  add("--threads", fmt::format("{}", options.threads));
  add("-A", options.atomic.swaps ? "CMP_AND_SWAP" : "FETCH_AND_ADD");
  const std::optional<Atomics> by = options.atomic.by;
  add("--atomics", !by ? "the default" : *by == Atomics::adapter ? "adapter" : "target");
  add("-q", number_text(options.adapter.queue_pairs));
  add("-R", switch_text(options.adapter.rdma_cm));
  return terms;
}

std::string encode(const Terms& terms) {
  const nlohmann::json text = {{"host", terms.host}, {"problem", terms.problem}, {"values", terms.values}};
  return text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Terms decode(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return {.host = json.at("host").get<std::string>(),
            .problem = json.at("problem").get<std::string>(),
            .values = json.at("values").get<decltype(Terms::values)>()};
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("the other side is another version of godwit perf: {}", error.what()));
  }
}

std::string disagreement(const Terms& server, const Terms& client) {
  std::string text;
  const auto differ = [&text](std::string_view flag, std::string_view at_server, std::string_view at_client) {
    text += fmt::format("{}{} is {} at the server and {} at the client", text.empty() ? "" : "; ", flag, at_server,
                        at_client);
  };
  const std::size_t common = std::min(server.values.size(), client.values.size());
  if (server.values.size() != client.values.size())
    differ("the number of flags that must agree (another version?)", fmt::format("{}", server.values.size()),
           fmt::format("{}", client.values.size()));
  for (std::size_t i = 0; i < common; ++i) {
    const auto& [flag, at_server] = server.values[i];
    if (client.values[i].first != flag || client.values[i].second != at_server)
      differ(flag, at_server, client.values[i].second);
  }
  if (text.empty()) return {};
  return fmt::format("the server ({}) and the client ({}) do not agree: {}. Start both with the same flags",
                     server.host, client.host, text);
}

}  // namespace godwit::apps
