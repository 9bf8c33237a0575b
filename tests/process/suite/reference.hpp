// What collectives must give, computed on one CPU: inputs as a function of rank and index, chosen so that every
// sum and product is exact in every element type.
#pragma once

#include <godwit/godwit.hpp>

#include <cmath>
#include <cstddef>
#include <type_traits>

namespace suite {

template <class T>
inline constexpr bool is_float_v =
    std::is_floating_point_v<T> || std::is_same_v<T, godwit::half> || std::is_same_v<T, godwit::bfloat16>;

template <class T>
double to_double(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

template <class T>
T from_double(double value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(value);
  else
    return T(static_cast<float>(value));
}

/// Small whole numbers; negative ones where the type has them. Products stay within +-2^ranks.
template <class T>
double input_value(int rank, std::size_t index, godwit::ReduceOp op) {
  const auto r = static_cast<std::size_t>(rank);
  const bool is_signed = is_float_v<T> || std::is_signed_v<T>;
  if (op == godwit::prod) {
    const double magnitude = (index + r) % 3 == 0 ? 2 : 1;
    return is_signed && (index + 2 * r) % 5 == 0 ? -magnitude : magnitude;
  }
  return static_cast<double>((index * 5 + r * 3) % 11) - (is_signed ? 5 : 0);
}

/// The reduction over all ranks, before it is rounded to T.
template <class T>
double reduced_value(int ranks, std::size_t index, godwit::ReduceOp op) {
  double result = input_value<T>(0, index, op);
  for (int rank = 1; rank < ranks; ++rank) {
    const double value = input_value<T>(rank, index, op);
    switch (op) {
      case godwit::ReduceOp::sum:
      case godwit::ReduceOp::avg: result += value; break;
      case godwit::ReduceOp::prod: result *= value; break;
      case godwit::ReduceOp::min: result = std::fmin(result, value); break;
      case godwit::ReduceOp::max: result = std::fmax(result, value); break;
    }
  }
  if (op != godwit::avg) return result;
  return is_float_v<T> ? result / ranks : std::trunc(result / ranks);
}

/// Exact, but for the division of a floating-point average: that may be off by rounding.
template <class T>
bool is_right(T got, double expected, godwit::ReduceOp op) {
  if (op != godwit::avg || !is_float_v<T>) return to_double(got) == to_double(from_double<T>(expected));
  const double epsilon = std::is_same_v<T, godwit::bfloat16> ? 0x1p-7
                         : std::is_same_v<T, godwit::half>   ? 0x1p-10
                                                             : 0x1p-22;
  return std::fabs(to_double(got) - expected) <= epsilon * std::fabs(expected);
}

}  // namespace suite
