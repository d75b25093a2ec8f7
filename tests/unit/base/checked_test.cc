#include "base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace coterie {
namespace {

// All pairs of 8-bit numbers, against arithmetic that cannot overflow.
template <typename T>
void expect_exact_on_all_pairs() {
  for (int a = std::numeric_limits<T>::min(); a <= std::numeric_limits<T>::max(); ++a) {
    for (int b = std::numeric_limits<T>::min(); b <= std::numeric_limits<T>::max(); ++b) {
      const auto fits = [](int value) {
        return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
      };
      const auto sum = checked_add(static_cast<T>(a), static_cast<T>(b));
      const auto product = checked_multiply(static_cast<T>(a), static_cast<T>(b));
      ASSERT_EQ(sum.has_value(), fits(a + b)) << a << " + " << b;
      ASSERT_EQ(product.has_value(), fits(a * b)) << a << " * " << b;
      ASSERT_EQ(sum.value_or(0), fits(a + b) ? a + b : 0);
      ASSERT_EQ(product.value_or(0), fits(a * b) ? a * b : 0);
    }
  }
}

TEST(Checked, IsExactOrNothingOnAllPairsOfBytes) {
  expect_exact_on_all_pairs<uint8_t>();
  expect_exact_on_all_pairs<int8_t>();
}

TEST(Checked, KnowsTheEdgesOf64Bits) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(checked_add<uint64_t>(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add<uint64_t>(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_multiply<uint64_t>(1ull << 32, (1ull << 32) - 1), 0xffffffff00000000u);
  EXPECT_EQ(checked_multiply<uint64_t>(1ull << 32, 1ull << 32), std::nullopt);
  EXPECT_EQ(checked_multiply<uint64_t>(kMax, 0), 0u);
}

TEST(RoundUp, GivesTheSmallestMultipleNotBelowTheValue) {
  for (const uint64_t step : {1u, 2u, 64u}) {
    for (uint64_t value = 0; value < 200; ++value) {
      const uint64_t rounded = round_up(value, step);
      EXPECT_EQ(rounded % step, 0u);
      EXPECT_GE(rounded, value);
      EXPECT_LT(rounded - value, step);
    }
  }
}

TEST(IsWholeInt32, IsTrueOfWhatAnInt32IsInAFloat) {
  for (const float value : {0.0f, -0.0f, 1.0f, -7.0f, 16777217.0f, -0x1p31f, 2147483520.0f}) {
    EXPECT_TRUE(is_whole_int32(value)) << value;
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.5f, -1.25f, 8388607.5f, 0x1p31f, -0x1.000002p31f, kInfinity, -kInfinity,
                            std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::denorm_min()}) {
    EXPECT_FALSE(is_whole_int32(value)) << value;
  }
}

}  // namespace
}  // namespace coterie
