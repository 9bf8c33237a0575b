// Ranks, tags, element types and reductions: the vocabulary of the whole API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace godwit {

/// Number of a process in a communicator, 0..size-1.
using Rank = std::int32_t;
/// Receive from whoever sends first (MPI_ANY_SOURCE).
inline constexpr Rank any_source = -1;

/// Message tag: 0..max_tag, chosen by the user; the whole 63 bits are compared.
using Tag = std::int64_t;
/// Receive whatever tag comes first (MPI_ANY_TAG).
inline constexpr Tag any_tag = -1;
inline constexpr Tag max_tag = INT64_MAX;

/// Where a buffer lives. `shared` is host memory made by godwit::allocate: peers on the host map it.
enum class MemoryKind : std::uint8_t { host, shared, device };

/// `single`: one thread per worker, asserted in debug builds. `multiple`: any thread, one lock per worker.
enum class ThreadMode : std::uint8_t { single, multiple };

/// Element type of a collective.
enum class DataType : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64
};

/// Reduction of a collective; `avg` divides the sum by the number of ranks (integers truncate toward zero).
enum class ReduceOp : std::uint8_t { sum, prod, min, max, avg };

inline constexpr ReduceOp sum = ReduceOp::sum;
inline constexpr ReduceOp prod = ReduceOp::prod;
inline constexpr ReduceOp min = ReduceOp::min;
inline constexpr ReduceOp max = ReduceOp::max;
inline constexpr ReduceOp avg = ReduceOp::avg;

/// Bytes of one element.
constexpr std::size_t size_of(DataType type) noexcept {
  switch (type) {
    case DataType::int8:
    case DataType::uint8: return 1;
    case DataType::int16:
    case DataType::uint16:
    case DataType::float16:
    case DataType::bfloat16: return 2;
    case DataType::int32:
    case DataType::uint32:
    case DataType::float32: return 4;
    case DataType::int64:
    case DataType::uint64:
    case DataType::float64: return 8;
  }
  return 0;
}

/// "float32", "sum", ... as nccl-tests and the log print them ("float", "double", "half" for the tools).
std::string_view to_string(DataType type) noexcept;
std::string_view to_string(ReduceOp op) noexcept;
std::string_view to_string(MemoryKind kind) noexcept;

/// IEEE 754 binary16 as storage; arithmetic happens in float. Conversion rounds to nearest even.
struct half {
  std::uint16_t bits = 0;
  half() = default;
  explicit half(float value) noexcept;
  explicit operator float() const noexcept;
  friend bool operator==(half, half) = default;  // bits, so that -0 and NaN compare as stored
};

/// bfloat16 as storage; arithmetic happens in float. Conversion rounds to nearest even.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value) noexcept;
  explicit operator float() const noexcept;
  friend bool operator==(bfloat16, bfloat16) = default;
};

/// DataType of a C++ type; only the specialised ones can be reduced.
template <class T>
struct data_type_of;
template <>
struct data_type_of<std::int8_t> {
  static constexpr DataType value = DataType::int8;
};
template <>
struct data_type_of<std::uint8_t> {
  static constexpr DataType value = DataType::uint8;
};
template <>
struct data_type_of<std::int16_t> {
  static constexpr DataType value = DataType::int16;
};
template <>
struct data_type_of<std::uint16_t> {
  static constexpr DataType value = DataType::uint16;
};
template <>
struct data_type_of<std::int32_t> {
  static constexpr DataType value = DataType::int32;
};
template <>
struct data_type_of<std::uint32_t> {
  static constexpr DataType value = DataType::uint32;
};
template <>
struct data_type_of<long long> {
  static constexpr DataType value = DataType::int64;
};
template <>
struct data_type_of<unsigned long long> {
  static constexpr DataType value = DataType::uint64;
};
template <>
struct data_type_of<long> {
  static constexpr DataType value = DataType::int64;
};
template <>
struct data_type_of<unsigned long> {
  static constexpr DataType value = DataType::uint64;
};
template <>
struct data_type_of<half> {
  static constexpr DataType value = DataType::float16;
};
template <>
struct data_type_of<bfloat16> {
  static constexpr DataType value = DataType::bfloat16;
};
template <>
struct data_type_of<float> {
  static constexpr DataType value = DataType::float32;
};
template <>
struct data_type_of<double> {
  static constexpr DataType value = DataType::float64;
};

}  // namespace godwit
