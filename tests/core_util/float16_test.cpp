// half and bfloat16 against arithmetic in double, which holds every value, border and midpoint exactly.
#include <godwit/types.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace godwit {
namespace {

template <class T>
struct Format;
template <>
struct Format<half> {
  static constexpr int mantissa_bits = 10, bias = 15, largest_exponent = 31;
};
template <>
struct Format<bfloat16> {
  static constexpr int mantissa_bits = 7, bias = 127, largest_exponent = 255;
};

template <class T>
T from_bits(std::uint32_t bits) {
  T value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

// Value of a positive pattern by the definition of IEEE 754's binary formats. The pattern of infinity gives the
// value that would follow the largest finite one: the border of rounding.
template <class T>
double value_of(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> Format<T>::mantissa_bits);
  const double mantissa = bits & ((1U << Format<T>::mantissa_bits) - 1);
  const double unit = std::ldexp(1.0, -Format<T>::mantissa_bits);
  if (exponent == 0) return std::ldexp(mantissa * unit, 1 - Format<T>::bias);
  return std::ldexp(1 + mantissa * unit, exponent - Format<T>::bias);
}

template <class T>
struct Float16 : testing::Test {
  static constexpr std::uint32_t infinity = static_cast<std::uint32_t>(Format<T>::largest_exponent)
                                            << Format<T>::mantissa_bits;
};
using Types = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(Float16, Types);

TYPED_TEST(Float16, EveryPatternHasItsValue) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = static_cast<float>(from_bits<TypeParam>(bits));
    const std::uint32_t magnitude = bits & 0x7fff;
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
    if (magnitude > this->infinity)
      ASSERT_TRUE(std::isnan(value)) << bits;
    else if (magnitude == this->infinity)
      ASSERT_TRUE(std::isinf(value)) << bits;
    else
      ASSERT_EQ(std::fabs(static_cast<double>(value)), value_of<TypeParam>(magnitude)) << bits;
  }
}

TYPED_TEST(Float16, EveryPatternComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const TypeParam back{static_cast<float>(from_bits<TypeParam>(bits))};
    if ((bits & 0x7fff) > this->infinity) {  // a NaN stays a NaN of the same sign, whatever else
      ASSERT_GT(back.bits & 0x7fffU, this->infinity) << bits;
      ASSERT_EQ(back.bits & 0x8000U, bits & 0x8000U) << bits;
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

// Between each two neighbours: the middle goes to the even one, what is beside the middle to the nearer one.
TYPED_TEST(Float16, EveryMidpointRoundsToNearestEven) {
  for (std::uint32_t low = 0; low < this->infinity; ++low) {
    const double exact = (value_of<TypeParam>(low) + value_of<TypeParam>(low + 1)) / 2;
    const float middle = static_cast<float>(exact);
    ASSERT_EQ(static_cast<double>(middle), exact) << low;  // the test itself: representable
    const std::uint32_t even = low % 2 ? low + 1 : low;
    ASSERT_EQ(TypeParam(middle).bits, even) << low;
    ASSERT_EQ(TypeParam(-middle).bits, even | 0x8000U) << low;
    ASSERT_EQ(TypeParam(std::nextafter(middle, 0.0F)).bits, low) << low;
    ASSERT_EQ(TypeParam(std::nextafter(middle, std::numeric_limits<float>::infinity())).bits, low + 1) << low;
    ASSERT_EQ(TypeParam(-std::nextafter(middle, 0.0F)).bits, low | 0x8000U) << low;
  }
}

// Within each interval nothing else happens: floats of all exponents against the nearest by search.
TYPED_TEST(Float16, SampledFloatsRoundToTheNearest) {
  for (std::uint64_t pattern = 0; pattern <= 0x7f800000; pattern += 9973) {  // a prime, so that mantissas vary
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(pattern));
    std::uint32_t low = 0, high = this->infinity;  // the largest pattern whose value is not above `value`
    while (low < high) {
      const std::uint32_t middle = (low + high + 1) / 2;
      (value_of<TypeParam>(middle) <= static_cast<double>(value) ? low : high) =
          value_of<TypeParam>(middle) <= static_cast<double>(value) ? middle : middle - 1;
    }
    std::uint32_t expected = low;
    if (low < this->infinity) {
      const double below = static_cast<double>(value) - value_of<TypeParam>(low);
      const double above = value_of<TypeParam>(low + 1) - static_cast<double>(value);
      if (above < below || (above == below && low % 2)) expected = low + 1;
    }
    ASSERT_EQ(TypeParam(value).bits, expected) << value;
  }
}

TYPED_TEST(Float16, SpecialValues) {
  using limits = std::numeric_limits<float>;
  EXPECT_EQ(TypeParam(0.0F).bits, 0U);
  EXPECT_EQ(TypeParam(-0.0F).bits, 0x8000U);
  EXPECT_EQ(TypeParam(limits::infinity()).bits, this->infinity);
  EXPECT_EQ(TypeParam(-limits::infinity()).bits, this->infinity | 0x8000U);
  EXPECT_EQ(TypeParam(limits::max()).bits, this->infinity);  // rounds up to infinity in both
  EXPECT_EQ(TypeParam(1.0F).bits, static_cast<std::uint32_t>(Format<TypeParam>::bias)
                                      << Format<TypeParam>::mantissa_bits);
}

TYPED_TEST(Float16, NanStaysNan) {
  for (const std::uint32_t payload : {0x7f800001U, 0x7fbfffffU, 0x7fc00000U, 0x7fffffffU})
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      const TypeParam value{std::bit_cast<float>(payload | sign)};
      EXPECT_GT(value.bits & 0x7fffU, this->infinity) << payload;
      EXPECT_EQ(value.bits >> 15, sign >> 31) << payload;
    }
}

TEST(Half, KnownPatterns) {
  const std::pair<float, std::uint16_t> cases[] = {
      {0.5F, 0x3800},          {2.0F, 0x4000},     {-2.0F, 0xc000},         {65504.0F, 0x7bff},
      {65519.0F, 0x7bff},      {65520.0F, 0x7c00}, {6.1035156e-5F, 0x0400}, {5.9604645e-8F, 0x0001},
      {2.9802322e-8F, 0x0000}, {1.0F / 3, 0x3555}};
  for (const auto& [value, bits] : cases) EXPECT_EQ(half(value).bits, bits) << value;
}

TEST(Bfloat16, KnownPatterns) {
  const std::pair<float, std::uint16_t> cases[] = {
      {0.5F, 0x3f00}, {2.0F, 0x4000}, {-2.0F, 0xc000}, {3.140625F, 0x4049}, {1.0F / 3, 0x3eab}};
  for (const auto& [value, bits] : cases) EXPECT_EQ(bfloat16(value).bits, bits) << value;
}

}  // namespace
}  // namespace godwit
