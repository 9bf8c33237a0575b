// Reductions against a scalar reference written differently: one element at a time, modulo 2^64.
#include "collectives/reductions.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace godwit::collectives {
namespace {

template <class T>
T reference(ReduceOp op, T a, T b) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return T(reference(op, static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    const std::uint64_t x = static_cast<U>(a), y = static_cast<U>(b);
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::avg: return static_cast<T>(static_cast<U>(x + y));
      case ReduceOp::prod: return static_cast<T>(static_cast<U>(x * y));
      case ReduceOp::min: return std::min(a, b);
      case ReduceOp::max: return std::max(a, b);
    }
  } else {
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::avg: return a + b;
      case ReduceOp::prod: return a * b;
      case ReduceOp::min: return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : std::fmin(a, b);
      case ReduceOp::max: return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : std::fmax(a, b);
    }
  }
  return a;
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a == b;
  } else {
    const auto x = static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(a));
    const auto y = static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(b));
    return (std::isnan(x) && std::isnan(y)) || x == y;  // zeros of both signs are equal
  }
}

/// Each instruction set of the CPU, the best last.
template <class F>
void for_each_set(F&& test) {
  for (const char* set : {"baseline", "avx2", "avx512"})
    if (use_reduction_instructions(set)) {
      EXPECT_STREQ(reduction_instructions(), set);
      SCOPED_TRACE(set);
      test();
    }
}

template <class T>
class Reductions : public testing::Test {
 protected:
  static constexpr DataType type = data_type_of<T>::value;

  static std::vector<T> values(std::size_t count, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<T> v(count);
    for (T& value : v) {
      const std::uint64_t bits = random();
      if constexpr (std::is_floating_point_v<T>) {
        value = random() % 4 == 0 ? static_cast<T>(static_cast<std::int64_t>(bits % 200)) - 100 : T{};
        if (value == T{})
          std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));  // any bits: NaN, infinities, subnormals
      } else {
        std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
      }
    }
    return v;
  }

  /// A copy of `v` at `offset` bytes into memory with guard bytes around it.
  struct Placed {
    std::vector<std::byte> memory;
    std::size_t offset, bytes;
    Placed(const std::vector<T>& v, std::size_t at)
        : memory(at + v.size() * sizeof(T) + 64, std::byte{0xa5}), offset(at), bytes(v.size() * sizeof(T)) {
      if (bytes != 0) std::memcpy(data(), v.data(), bytes);
    }
    std::byte* data() { return memory.data() + offset; }
    T at(std::size_t i) {
      T value;
      std::memcpy(&value, data() + i * sizeof(T), sizeof(T));
      return value;
    }
    bool guards_intact() const {
      for (std::size_t i = 0; i < memory.size(); ++i)
        if ((i < offset || i >= offset + bytes) && memory[i] != std::byte{0xa5}) return false;
      return true;
    }
  };
};

using Types = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                             std::int64_t, std::uint64_t, half, bfloat16, float, double>;
TYPED_TEST_SUITE(Reductions, Types);

constexpr ReduceOp every_op[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg};

TYPED_TEST(Reductions, AgreeWithTheReferenceForAnyLengthAndAlignment) {
  for_each_set([&] {
    for (ReduceOp op : every_op)
      for (std::size_t count : {0, 1, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 1023})
        for (std::size_t offset : {0, 1, 2, 3, 8, 13}) {
          const auto a = this->values(count, 1), b = this->values(count, 2);
          typename TestFixture::Placed left(a, offset), right(b, (offset * 5) % 16), out(a, offset + 1);
          reduce(this->type, op, left.data(), right.data(), out.data(), count);
          for (std::size_t i = 0; i < count; ++i)
            ASSERT_TRUE(same(out.at(i), reference(op, a[i], b[i])))
                << to_string(op) << " element " << i << " of " << count;
          EXPECT_TRUE(out.guards_intact() && left.guards_intact() && right.guards_intact());
        }
  });
}

TYPED_TEST(Reductions, WorkInPlaceOnEitherSide) {
  for_each_set([&] {
    for (ReduceOp op : every_op) {
      const std::size_t count = 257;
      const auto a = this->values(count, 3), b = this->values(count, 4);
      typename TestFixture::Placed left(a, 0), right(b, 0);
      reduce(this->type, op, right.data(), left.data(), count);  // left = left op right
      for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(same(left.at(i), reference(op, a[i], b[i])));
      typename TestFixture::Placed again(a, 0);
      reduce(this->type, op, again.data(), right.data(), right.data(), count);  // right = left op right
      for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(same(right.at(i), reference(op, a[i], b[i])));
    }
  });
}

TYPED_TEST(Reductions, ScaleDivides) {
  for_each_set([&] {
    for (int ranks : {1, 2, 3, 7, 300})
      for (std::size_t count : {0, 1, 17, 100}) {
        const auto a = this->values(count, 5);
        typename TestFixture::Placed data(a, 3);
        scale(this->type, data.data(), count, ranks);
        for (std::size_t i = 0; i < count; ++i) {
          if constexpr (std::is_integral_v<TypeParam>) {
            const bool negative = a[i] < TypeParam{};
            const std::uint64_t magnitude =
                negative ? 0 - static_cast<std::uint64_t>(a[i]) : static_cast<std::uint64_t>(a[i]);
            const std::uint64_t quotient = magnitude / static_cast<std::uint64_t>(ranks);
            ASSERT_EQ(data.at(i), static_cast<TypeParam>(negative ? 0 - quotient : quotient));
          } else if constexpr (sizeof(TypeParam) == 2) {
            ASSERT_TRUE(same(data.at(i), TypeParam(static_cast<float>(a[i]) / static_cast<float>(ranks))));
          } else {
            ASSERT_TRUE(same(data.at(i), a[i] / static_cast<TypeParam>(ranks)));
          }
        }
        EXPECT_TRUE(data.guards_intact());
      }
  });
}

template <class T>
class SmallTypes : public Reductions<T> {};
using Bytes = testing::Types<std::int8_t, std::uint8_t>;
TYPED_TEST_SUITE(SmallTypes, Bytes);

TYPED_TEST(SmallTypes, AllPairs) {
  for_each_set([&] {
    std::vector<TypeParam> a, b;
    for (int x = 0; x < 256; ++x)
      for (int y = 0; y < 256; ++y) {
        a.push_back(static_cast<TypeParam>(x));
        b.push_back(static_cast<TypeParam>(y));
      }
    std::vector<TypeParam> out(a.size());
    for (ReduceOp op : every_op) {
      reduce(this->type, op, a.data(), b.data(), out.data(), a.size());
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(out[i], reference(op, a[i], b[i]));
    }
  });
}

template <class T>
class HalfTypes : public Reductions<T> {};
using Halves = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(HalfTypes, Halves);

// Each of the 65536 values with some of very different kinds.
TYPED_TEST(HalfTypes, AllValuesWithSome) {
  for_each_set([&] {
    std::vector<TypeParam> a(65536), b(65536), out(65536);
    for (std::size_t i = 0; i < a.size(); ++i) a[i].bits = static_cast<std::uint16_t>(i);
    for (std::uint32_t other :
         {0x0000U, 0x8000U, 0x0001U, 0x3c00U, 0xbc01U, 0x3f80U, 0x7bffU, 0x7c00U, 0x7f80U, 0xff80U, 0x7e01U}) {
      for (TypeParam& value : b) value.bits = static_cast<std::uint16_t>(other);
      for (ReduceOp op : every_op) {
        reduce(this->type, op, a.data(), b.data(), out.data(), a.size());
        for (std::size_t i = 0; i < a.size(); ++i)
          ASSERT_TRUE(same(out[i], reference(op, a[i], b[i]))) << to_string(op) << " of " << i << " and " << other;
      }
    }
  });
}

TEST(ReductionSemantics, MinAndMaxPropagateNaNFromEitherSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float a[] = {nan, 1, nan}, b[] = {1, nan, nan};
  for (ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    float out[3];
    reduce(DataType::float32, op, a, b, out, 3);
    for (float value : out) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(ReductionSemantics, HalvesRoundAfterEachOperation) {
  // 2048 + 1 is not a half: ties to even.
  half a(2048.0F), b(1.0F), out;
  reduce(DataType::float16, ReduceOp::sum, &a, &b, &out, 1);
  EXPECT_EQ(static_cast<float>(out), 2048.0F);
}

}  // namespace
}  // namespace godwit::collectives
