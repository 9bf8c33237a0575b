#include "collectives/reductions.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define GODWIT_INLINE [[gnu::always_inline]] inline

namespace godwit::collectives {

namespace {

using Kernel = void (*)(const std::byte*, const std::byte*, std::byte*, std::size_t) noexcept;
using Scale = void (*)(std::byte*, std::size_t, int) noexcept;

template <class T>
GODWIT_INLINE T load(const std::byte* from, std::size_t i) noexcept {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  return value;
}

template <class T>
GODWIT_INLINE void store(std::byte* to, std::size_t i, T value) noexcept {
  std::memcpy(to + i * sizeof(T), &value, sizeof(T));
}

// What arithmetic happens in: wide enough not to promote to int and overflow there, unsigned because that wraps.
template <class T>
struct Arithmetic {
  using type =
      std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>, T>;
};

template <ReduceOp op, class T>
GODWIT_INLINE T apply(T a, T b) noexcept {
  using W = typename Arithmetic<T>::type;
  if constexpr (op == ReduceOp::prod) return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  const bool nan = a != a;  // NOLINT(misc-redundant-expression)
  if constexpr (op == ReduceOp::min) return (a < b || nan) ? a : b;
  if constexpr (op == ReduceOp::max) return (a > b || nan) ? a : b;
  return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
}

// bfloat16 as the vectoriser likes it: no branches, no calls.
GODWIT_INLINE float widen(bfloat16 value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
GODWIT_INLINE bfloat16 narrow(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  bfloat16 result;
  result.bits = static_cast<std::uint16_t>(value != value ? (bits >> 16) | 0x40U : rounded);
  return result;
}

template <ReduceOp op>
GODWIT_INLINE bfloat16 apply(bfloat16 a, bfloat16 b) noexcept {
  return narrow(apply<op>(widen(a), widen(b)));
}
template <ReduceOp op>
GODWIT_INLINE half apply(half a, half b) noexcept {
  return half(apply<op>(static_cast<float>(a), static_cast<float>(b)));
}

template <class T, ReduceOp op>
GODWIT_INLINE void loop(const std::byte* left, const std::byte* right, std::byte* out, std::size_t begin,
                        std::size_t end) noexcept {
#pragma GCC ivdep  // out is left or right, or apart from both
  for (std::size_t i = begin; i < end; ++i) store(out, i, apply<op>(load<T>(left, i), load<T>(right, i)));
}

template <class T>
GODWIT_INLINE T divide(T value, int ranks) noexcept {
  if constexpr (std::is_same_v<T, half>)
    return half(static_cast<float>(value) / static_cast<float>(ranks));
  else if constexpr (std::is_same_v<T, bfloat16>)
    return narrow(widen(value) / static_cast<float>(ranks));
  else if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(int))
    // In double, because vector units cannot divide integers; exact: a quotient is never nearer than 1 / ranks to the
    // next integer, and not rounded to it.
    return static_cast<T>(static_cast<std::int32_t>(static_cast<double>(value) / ranks));
  else if constexpr (std::is_integral_v<T> && sizeof(T) == sizeof(int))
    return static_cast<T>(static_cast<std::int64_t>(static_cast<double>(value) / ranks));
  else
    return static_cast<T>(value / static_cast<T>(ranks));
}

template <class T>
GODWIT_INLINE void scale_loop(std::byte* inout, std::size_t begin, std::size_t end, int ranks) noexcept {
#pragma GCC ivdep
  for (std::size_t i = begin; i < end; ++i) store(inout, i, divide(load<T>(inout, i), ranks));
}

struct Baseline {
  static constexpr const char* name = "baseline";
  template <class T, ReduceOp op>
  static void kernel(const std::byte* left, const std::byte* right, std::byte* out, std::size_t count) noexcept {
    loop<T, op>(left, right, out, 0, count);
  }
  template <class T>
  static void scale(std::byte* inout, std::size_t count, int ranks) noexcept {
    scale_loop<T>(inout, 0, count, ranks);
  }
};

#if defined(__x86_64__)

struct Avx2 {
  static constexpr const char* name = "avx2";
  template <class T, ReduceOp op>
  [[gnu::target("avx2,f16c")]] static void kernel(const std::byte* left, const std::byte* right, std::byte* out,
                                                  std::size_t count) noexcept {
    std::size_t i = 0;
    if constexpr (std::is_same_v<T, half>) {
      for (; i + 8 <= count; i += 8) {
        const auto at = [i](auto* p) { return p + 2 * i; };
        const __m256 a = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at(left))));
        const __m256 b = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at(right))));
        __m256 c;
        for (int k = 0; k < 8; ++k) c[k] = apply<op>(a[k], b[k]);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(at(out)), _mm256_cvtps_ph(c, _MM_FROUND_TO_NEAREST_INT));
      }
    }
    loop<T, op>(left, right, out, i, count);
  }
  template <class T>
  [[gnu::target("avx2,f16c")]] static void scale(std::byte* inout, std::size_t count, int ranks) noexcept {
    std::size_t i = 0;
    if constexpr (std::is_same_v<T, half>) {
      for (; i + 8 <= count; i += 8) {
        auto* at = reinterpret_cast<__m128i*>(inout + 2 * i);
        const __m256 c = _mm256_cvtph_ps(_mm_loadu_si128(at)) / static_cast<float>(ranks);
        _mm_storeu_si128(at, _mm256_cvtps_ph(c, _MM_FROUND_TO_NEAREST_INT));
      }
    }
    scale_loop<T>(inout, i, count, ranks);
  }
};

struct Avx512 {
  static constexpr const char* name = "avx512";
  static constexpr __mmask16 all = 0xffff;  // the plain intrinsics draw a false warning from GCC 12
  template <class T, ReduceOp op>
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] static void kernel(
      const std::byte* left, const std::byte* right, std::byte* out, std::size_t count) noexcept {
    std::size_t i = 0;
    if constexpr (std::is_same_v<T, half>) {
      for (; i + 16 <= count; i += 16) {
        const auto at = [i](auto* p) { return p + 2 * i; };
        const __m512 a = _mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at(left))));
        const __m512 b = _mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at(right))));
        __m512 c;
        for (int k = 0; k < 16; ++k) c[k] = apply<op>(a[k], b[k]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(at(out)),
                            _mm512_maskz_cvtps_ph(all, c, _MM_FROUND_TO_NEAREST_INT));
      }
    }
    loop<T, op>(left, right, out, i, count);
  }
  template <class T>
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] static void scale(std::byte* inout,
                                                                                                  std::size_t count,
                                                                                                  int ranks) noexcept {
    std::size_t i = 0;
    if constexpr (std::is_same_v<T, half>) {
      for (; i + 16 <= count; i += 16) {
        auto* at = reinterpret_cast<__m256i*>(inout + 2 * i);
        const __m512 c = _mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(at)) / static_cast<float>(ranks);
        _mm256_storeu_si256(at, _mm512_maskz_cvtps_ph(all, c, _MM_FROUND_TO_NEAREST_INT));
      }
    }
    scale_loop<T>(inout, i, count, ranks);
  }
};

#endif

constexpr std::size_t types = static_cast<std::size_t>(DataType::float64) + 1;
constexpr std::size_t ops = static_cast<std::size_t>(ReduceOp::avg) + 1;

struct Table {
  const char* name;
  std::array<std::array<Kernel, ops>, types> kernels;
  std::array<Scale, types> scales;
};

template <class Set, class T>
constexpr void fill(Table& table, DataType type) {
  const auto row = static_cast<std::size_t>(type);
  table.kernels[row] = {Set::template kernel<T, ReduceOp::sum>, Set::template kernel<T, ReduceOp::prod>,
                        Set::template kernel<T, ReduceOp::min>, Set::template kernel<T, ReduceOp::max>,
                        Set::template kernel<T, ReduceOp::sum>};
  table.scales[row] = Set::template scale<T>;
}

template <class Set>
constexpr Table make_table() {
  Table table{Set::name, {}, {}};
  fill<Set, std::int8_t>(table, DataType::int8);
  fill<Set, std::uint8_t>(table, DataType::uint8);
  fill<Set, std::int16_t>(table, DataType::int16);
  fill<Set, std::uint16_t>(table, DataType::uint16);
  fill<Set, std::int32_t>(table, DataType::int32);
  fill<Set, std::uint32_t>(table, DataType::uint32);
  fill<Set, std::int64_t>(table, DataType::int64);
  fill<Set, std::uint64_t>(table, DataType::uint64);
  fill<Set, half>(table, DataType::float16);
  fill<Set, bfloat16>(table, DataType::bfloat16);
  fill<Set, float>(table, DataType::float32);
  fill<Set, double>(table, DataType::float64);
  return table;
}

constexpr Table baseline = make_table<Baseline>();

/// The best table of this name (any if empty) that the CPU can run; nullptr if there is none.
const Table* find_table(std::string_view name) noexcept {
  const auto wanted = [name](const Table& table) { return name.empty() || name == table.name; };
#if defined(__x86_64__)
  static constexpr Table avx512 = make_table<Avx512>(), avx2 = make_table<Avx2>();
  __builtin_cpu_init();
  if (wanted(avx512) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return &avx512;
  if (wanted(avx2) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) return &avx2;
#endif
  return wanted(baseline) ? &baseline : nullptr;
}

const Table*& table() noexcept {
  static const Table* in_use = find_table({});
  return in_use;
}

}  // namespace

void reduce(DataType type, ReduceOp op, const void* left, const void* right, void* out, std::size_t count) noexcept {
  table()->kernels[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)](
      static_cast<const std::byte*>(left), static_cast<const std::byte*>(right), static_cast<std::byte*>(out), count);
}

void scale(DataType type, void* inout, std::size_t count, int ranks) noexcept {
  table()->scales[static_cast<std::size_t>(type)](static_cast<std::byte*>(inout), count, ranks);
}

const char* reduction_instructions() noexcept { return table()->name; }

bool use_reduction_instructions(std::string_view name) noexcept {
  const Table* wanted = find_table(name);
  if (wanted != nullptr) table() = wanted;
  return wanted != nullptr;
}

}  // namespace godwit::collectives
