#include "common/names.hpp"
#include "common/pattern.hpp"

#include <cstring>
#include <limits>

namespace godwit::apps {

namespace {

/// Calls `f` with a value-initialised object of the C++ type behind `type`.
template <class F>
auto with_type(DataType type, F&& f) {
  switch (type) {
    case DataType::int8: return f(std::int8_t{});
    case DataType::uint8: return f(std::uint8_t{});
    case DataType::int16: return f(std::int16_t{});
    case DataType::uint16: return f(std::uint16_t{});
    case DataType::int32: return f(std::int32_t{});
    case DataType::uint32: return f(std::uint32_t{});
    case DataType::int64: return f(std::int64_t{});
    case DataType::uint64: return f(std::uint64_t{});
    case DataType::float16: return f(half{});
    case DataType::bfloat16: return f(bfloat16{});
    case DataType::float32: return f(float{});
    case DataType::float64: break;
  }
  return f(double{});
}

template <class T>
constexpr bool is_small_float = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

}  // namespace

double element_as_double(DataType type, const std::byte* element) {
  return with_type(type, [element](auto value) {
    std::memcpy(&value, element, sizeof(value));
    if constexpr (is_small_float<decltype(value)>)
      return static_cast<double>(static_cast<float>(value));
    else
      return static_cast<double>(value);
  });
}

void store_element(DataType type, std::byte* element, double value) {
  with_type(type, [element, value](auto stored) {
    using T = decltype(stored);
    if constexpr (is_small_float<T>)
      stored = T(static_cast<float>(value));
    else
      stored = static_cast<T>(value);
    std::memcpy(element, &stored, sizeof(stored));
  });
}

double epsilon_of(DataType type) {
  switch (type) {
    case DataType::float16: return 0x1p-10;
    case DataType::bfloat16: return 0x1p-7;
    case DataType::float32: return std::numeric_limits<float>::epsilon();
    case DataType::float64: return std::numeric_limits<double>::epsilon();
    default: return 0;
  }
}

}  // namespace godwit::apps
