#include "common/pattern.hpp"
#include "common/names.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace godwit::apps {
namespace {

std::vector<std::byte> filled(const Pattern& pattern, DataType type, std::size_t count, std::size_t first = 0) {
  std::vector<std::byte> data(count * size_of(type));
  pattern.fill(data.data(), count, first);
  return data;
}

double apply(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::prod: return a * b;
    case ReduceOp::min: return std::fmin(a, b);
    case ReduceOp::max: return std::fmax(a, b);
    default: return a + b;
  }
}

/// A value after a trip through the type: what a rank that keeps partial results in memory sees.
double rounded(DataType type, double value) {
  std::byte element[8];
  store_element(type, element, value);
  return element_as_double(type, element);
}

class EveryTypeAndOp : public testing::TestWithParam<std::tuple<DataType, ReduceOp, int>> {};

// The promise of the test data: partial results are exact in the type, in rank order and in reverse order, and
// give what reduced() expects. 300 ranks are more than int8 and half can add without the "every k-th" rule.
TEST_P(EveryTypeAndOp, PartialResultsAreExactInAnyOrder) {
  const auto [type, op, ranks] = GetParam();
  std::vector<std::vector<std::byte>> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(filled(Pattern::contribution(type, op, 7, rank, ranks), type, Pattern::period));
  std::vector<std::byte> result(Pattern::period * size_of(type));
  for (std::size_t i = 0; i < Pattern::period; ++i) {
    const std::size_t at = i * size_of(type);
    double up = element_as_double(type, &inputs.front()[at]), down = element_as_double(type, &inputs.back()[at]);
    for (int step = 1; step < ranks; ++step) {
      const double exact = apply(op, up, element_as_double(type, &inputs[static_cast<std::size_t>(step)][at]));
      up = rounded(type, exact);
      ASSERT_EQ(up, exact) << "element " << i << " after rank " << step;
      down = apply(op, down, element_as_double(type, &inputs[static_cast<std::size_t>(ranks - 1 - step)][at]));
      ASSERT_EQ(rounded(type, down), down) << "element " << i << " backwards";
    }
    ASSERT_EQ(up, down) << "element " << i;
    store_element(type, &result[at], op == ReduceOp::avg ? up / ranks : up);
  }
  EXPECT_EQ(Pattern::reduced(type, op, 7, ranks).count_wrong(result.data(), Pattern::period), 0U);
}

/// The reductions in which every contribution shows in the result.
class SensitiveReduction : public EveryTypeAndOp {};

TEST_P(SensitiveReduction, AMissingContributionIsFound) {
  const auto [type, op, ranks] = GetParam();
  const int missing = ranks / 2;
  const double neutral = op == ReduceOp::prod ? 1 : 0;
  std::vector<double> values(Pattern::period, neutral);
  std::size_t different = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto input = filled(Pattern::contribution(type, op, 7, rank, ranks), type, Pattern::period);
    for (std::size_t i = 0; i < Pattern::period; ++i) {
      const double value = element_as_double(type, &input[i * size_of(type)]);
      if (rank != missing)
        values[i] = apply(op, values[i], value);
      else if (value != neutral)
        ++different;
    }
  }
  std::vector<std::byte> result(Pattern::period * size_of(type));
  for (std::size_t i = 0; i < Pattern::period; ++i)
    store_element(type, &result[i * size_of(type)], op == ReduceOp::avg ? values[i] / ranks : values[i]);
  EXPECT_GT(different, 0U);
  EXPECT_EQ(Pattern::reduced(type, op, 7, ranks).count_wrong(result.data(), Pattern::period), different);
}

std::string case_name(const testing::TestParamInfo<EveryTypeAndOp::ParamType>& parameters) {
  const auto& [type, op, ranks] = parameters.param;
  return fmt::format("{}_{}_{}", to_string(type), to_string(op), ranks);
}

INSTANTIATE_TEST_SUITE_P(Types, EveryTypeAndOp,
                         testing::Combine(testing::ValuesIn(all_types), testing::ValuesIn(all_ops),
                                          testing::Values(1, 2, 3, 8, 17)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(SumAndProd, SensitiveReduction,
                         testing::Combine(testing::ValuesIn(all_types), testing::Values(ReduceOp::sum, ReduceOp::prod),
                                          testing::Values(2, 3, 8, 17)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Avg, SensitiveReduction,
                         testing::Combine(testing::Values(DataType::float16, DataType::bfloat16, DataType::float32,
                                                          DataType::float64),
                                          testing::Values(ReduceOp::avg), testing::Values(2, 3, 8, 17)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(ManyRanks, EveryTypeAndOp,
                         testing::Combine(testing::Values(DataType::int8, DataType::uint8, DataType::float16,
                                                          DataType::bfloat16),
                                          testing::Values(ReduceOp::sum, ReduceOp::prod), testing::Values(300)),
                         case_name);

TEST(Pattern, FillContinuesAtAnyElement) {
  const Pattern pattern = Pattern::moved(DataType::int32, 1, 0);
  const auto whole = filled(pattern, DataType::int32, 5000);
  for (std::size_t first : {0, 1, 1020, 1021, 1022, 3000}) {
    const auto part = filled(pattern, DataType::int32, 1500, first);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first * 4))) << first;
    EXPECT_EQ(pattern.count_wrong(part.data(), 1500, first), 0U);
  }
}

TEST(Pattern, PlantedErrorsAreCounted) {
  for (DataType type : all_types) {
    const Pattern pattern = Pattern::moved(type, 3, 2);
    auto data = filled(pattern, type, 3000);
    EXPECT_EQ(pattern.count_wrong(data.data(), 3000), 0U);
    for (std::size_t at : {0, 1020, 1021, 2999}) data[at * size_of(type)] ^= std::byte{1};
    EXPECT_EQ(pattern.count_wrong(data.data(), 3000), 4U) << to_string(type);
  }
}

TEST(Pattern, DataOfAnotherRankSeedOrPlaceIsWrong) {
  const auto data = filled(Pattern::moved(DataType::float64, 1, 0), DataType::float64, 4096);
  EXPECT_EQ(Pattern::moved(DataType::float64, 1, 1).count_wrong(data.data(), 4096), 4096U);
  EXPECT_EQ(Pattern::moved(DataType::float64, 2, 0).count_wrong(data.data(), 4096), 4096U);
  EXPECT_EQ(Pattern::moved(DataType::float64, 1, 0).count_wrong(data.data(), 4096, 1024), 4096U);
}

TEST(Pattern, AverageMayBeOffByOneUnitAndNoMore) {
  const auto type = DataType::float32;
  const Pattern expected = Pattern::reduced(type, ReduceOp::avg, 5, 3);
  std::vector<float> data(Pattern::period);
  expected.fill(data.data(), data.size());
  std::size_t nonzero = 0;
  for (float& value : data) {
    if (value != 0) ++nonzero;
    value = std::nextafter(value, 0.0F);
  }
  EXPECT_EQ(expected.count_wrong(data.data(), data.size()), 0U);
  for (float& value : data) value *= 1 - 3 * std::numeric_limits<float>::epsilon();
  EXPECT_EQ(expected.count_wrong(data.data(), data.size()), nonzero);
}

TEST(Pattern, NotANumberIsWrong) {
  const Pattern expected = Pattern::reduced(DataType::float32, ReduceOp::avg, 5, 3);
  std::vector<float> data(10, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(expected.count_wrong(data.data(), data.size()), 10U);
}

}  // namespace
}  // namespace godwit::apps
