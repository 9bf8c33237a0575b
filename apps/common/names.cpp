#include "common/names.hpp"

#include "common/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

namespace godwit::apps {

namespace {

/// Other names in common use; the first names are those of to_string().
constexpr std::array<std::pair<std::string_view, DataType>, 9> aliases = {{{"float16", DataType::float16},
                                                                           {"fp16", DataType::float16},
                                                                           {"bf16", DataType::bfloat16},
                                                                           {"float32", DataType::float32},
                                                                           {"fp32", DataType::float32},
                                                                           {"float64", DataType::float64},
                                                                           {"fp64", DataType::float64},
                                                                           {"char", DataType::int8},
                                                                           {"int", DataType::int32}}};

template <class T, std::size_t N>
std::string names_of(const std::array<T, N>& values) {
  std::vector<std::string_view> names;
  for (T value : values) names.push_back(to_string(value));
  return fmt::format("{}, all", fmt::join(names, ", "));
}

}  // namespace

bool is_floating(DataType type) noexcept {
  return type == DataType::float16 || type == DataType::bfloat16 || type == DataType::float32 ||
         type == DataType::float64;
}

bool is_signed(DataType type) noexcept {
  return is_floating(type) || type == DataType::int8 || type == DataType::int16 || type == DataType::int32 ||
         type == DataType::int64;
}

std::vector<DataType> parse_types(std::string_view text) {
  if (text == "all") return {all_types.begin(), all_types.end()};
  for (DataType type : all_types)
    if (to_string(type) == text) return {type};
  for (const auto& [name, type] : aliases)
    if (name == text) return {type};
  throw UsageError(fmt::format("-d {}: no such element type; accepted: {}", text, names_of(all_types)));
}

std::vector<ReduceOp> parse_ops(std::string_view text) {
  if (text == "all") return {all_ops.begin(), all_ops.end()};
  for (ReduceOp op : all_ops)
    if (to_string(op) == text) return {op};
  throw UsageError(fmt::format("-o {}: no such reduction; accepted: {}", text, names_of(all_ops)));
}

}  // namespace godwit::apps
