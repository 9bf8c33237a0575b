// Element types and reductions by the names that the flags -d and -o take. Pure.
#pragma once

#include <godwit/types.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace godwit::apps {

inline constexpr std::array all_types = {DataType::int8,    DataType::uint8,    DataType::int16,   DataType::uint16,
                                         DataType::int32,   DataType::uint32,   DataType::int64,   DataType::uint64,
                                         DataType::float16, DataType::bfloat16, DataType::float32, DataType::float64};
inline constexpr std::array all_ops = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg};

bool is_floating(DataType type) noexcept;
bool is_signed(DataType type) noexcept;

/// "float", "half", "int8", ... (also float32, fp16, bf16 and the like), or "all". Throws UsageError with the
/// names that are accepted.
std::vector<DataType> parse_types(std::string_view text);
/// "sum", "prod", "min", "max", "avg" or "all".
std::vector<ReduceOp> parse_ops(std::string_view text);

}  // namespace godwit::apps
