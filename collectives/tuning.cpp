#include "collectives/tuning.hpp"

#include "core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <godwit/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace godwit::collectives {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int file_version = 1;

[[noreturn]] void refuse(const std::string& origin, const std::string& what) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {}; `godwit tune -o FILE` writes such files", origin, what));
}

std::optional<Collective> collective_of(std::string_view word) {
  for (std::size_t i = 0; i < collective_count; ++i)
    if (word == to_string(static_cast<Collective>(i))) return static_cast<Collective>(i);
  return {};
}

TunedRange range_of(const json& entry, const std::string& origin) {
  const auto word = entry.at("collective").get<std::string>();
  const auto name = entry.at("algorithm").get<std::string>();
  const auto collective = collective_of(word);
  if (!collective) refuse(origin, fmt::format("there is no collective '{}'", word));
  if (const Algorithm* algorithm = find_algorithm(*collective, name))
    return {*collective, entry.at("bytes").get<std::uint64_t>(), algorithm, entry.value("us", 0.0)};
  std::vector<std::string_view> known;
  for (const Algorithm* algorithm : algorithms())
    if (algorithm->collective == *collective) known.push_back(algorithm->name);
  refuse(origin, fmt::format("{} has no algorithm '{}', but {}", word, name, fmt::join(known, ", ")));
}

TunedShape shape_of(const json& entry, const std::string& origin) {
  TunedShape shape{
      entry.at("ranks").get<int>(), entry.at("nodes").get<int>(), entry.at("ranks_per_node").get<int>(), {}};
  if (shape.ranks < 1 || shape.nodes < 1 || shape.ranks_per_node < 1)
    refuse(origin,
           fmt::format("{} ranks on {} nodes, {} on each, cannot be", shape.ranks, shape.nodes, shape.ranks_per_node));
  for (const json& range : entry.at("ranges")) shape.ranges.push_back(range_of(range, origin));
  return shape;
}

bool same(const TunedShape& a, const TunedShape& b) noexcept {
  return a.ranks == b.ranks && a.nodes == b.nodes && a.ranks_per_node == b.ranks_per_node;
}

}  // namespace

Tuning Tuning::parse(std::string_view text, const std::string& origin) {
  Tuning tuning;
  try {
    const json file = json::parse(text);
    if (const int version = file.at("godwit_tuning").get<int>(); version != file_version)
      refuse(origin, fmt::format("version {} of the table, {} is understood", version, file_version));
    for (const json& shape : file.at("shapes")) tuning.set(shape_of(shape, origin));
  } catch (const json::exception& error) {
    refuse(origin, fmt::format("not a table of algorithms: {}", error.what()));
  }
  return tuning;
}

Tuning Tuning::load(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) refuse("GODWIT_TUNE_FILE=" + path, "the file cannot be read");
  return parse(text.str(), "GODWIT_TUNE_FILE=" + path);
}

void Tuning::set(TunedShape shape) {
  std::erase_if(shapes_, [&](const TunedShape& known) { return same(known, shape); });
  std::ranges::stable_sort(shape.ranges, {},
                           [](const TunedRange& range) { return std::pair(range.collective, range.bytes); });
  shapes_.push_back(std::move(shape));
}

std::string Tuning::text() const {
  ordered_json shapes = ordered_json::array();
  for (const TunedShape& shape : shapes_) {
    ordered_json ranges = ordered_json::array();
    for (const TunedRange& range : shape.ranges)
      ranges.push_back({{"collective", to_string(range.collective)},
                        {"bytes", range.bytes},
                        {"algorithm", range.algorithm->name},
                        {"us", std::round(range.microseconds * 100) / 100}});
    shapes.push_back({{"ranks", shape.ranks},
                      {"nodes", shape.nodes},
                      {"ranks_per_node", shape.ranks_per_node},
                      {"ranges", std::move(ranges)}});
  }
  return ordered_json{{"godwit_tuning", file_version}, {"shapes", std::move(shapes)}}.dump(1) + "\n";
}

const Algorithm* Tuning::find(const Problem& problem) const noexcept {
  if (is_uneven(problem.collective)) return nullptr;  // ranks may see other sizes
  const TunedShape here{problem.size, problem.shape.nodes, problem.shape.ranks_per_node, {}};
  const auto shape = std::ranges::find_if(shapes_, [&](const TunedShape& known) { return same(known, here); });
  if (shape == shapes_.end()) return nullptr;
  const Algorithm* last = nullptr;
  for (const TunedRange& range : shape->ranges) {
    if (range.collective != problem.collective) continue;
    last = range.algorithm;
    if (problem.bytes() <= range.bytes) break;
  }
  return last;
}

std::uint64_t Tuning::hash() const { return shapes_.empty() ? 0 : core::hash64(text()) | 1U; }

}  // namespace godwit::collectives
