#include "secure/dp/encode/l2_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

TEST(L2Norm, IsWithinAFewLastPlacesOfTheTruth) {
  Prng prng(1);
  for (const size_t size : {1u, 7u, 8u, 255u, 256u, 257u, 1000u, 100'003u}) {
    std::vector<float> values(size);
    long double sum = 0;
    for (float& value : values) {
      value = static_cast<float>(prng.normal() * std::exp(prng.uniform(-20, 20)));
      sum += static_cast<long double>(value) * value;
    }
    const double expected = static_cast<double>(std::sqrt(sum));
    EXPECT_NEAR(*l2_norm(values), expected, expected * 0x1p-48) << size;
  }
}

TEST(L2Norm, HoldsForTheExtremesOfFloats) {
  EXPECT_EQ(*l2_norm({}), 0);
  const float largest = std::numeric_limits<float>::max(), smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(*l2_norm(std::vector<float>(4, largest)), 2 * static_cast<double>(largest));
  EXPECT_EQ(*l2_norm(std::vector<float>(4, smallest)), 2 * static_cast<double>(smallest));
  EXPECT_EQ(*l2_norm(std::vector<float>{-0.0f, 3, -4}), 5);
}

TEST(L2Norm, RefusesWhatIsNotFiniteAndNamesTheFirst) {
  for (const float bad :
       {std::nanf(""), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (const size_t at : {0u, 1u, 300u, 999u}) {
      std::vector<float> values(1000, 1.0f);
      values[at] = bad;
      EXPECT_TRUE(test::fails_with(l2_norm(values), ErrorCode::invalid_argument,
                                   "update value " + std::to_string(at) + " is not a finite number"));
    }
  }
}

}  // namespace
}  // namespace coterie
