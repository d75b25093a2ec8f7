#include "secure/dp/encode/conditional_rounding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

using test::CounterSource;

constexpr uint64_t kNoLimit = uint64_t{1} << 61;

std::vector<int32_t> round_all(const ByteSource& random, const std::vector<float>& values, double factor = 1,
                               uint64_t norm_squared_max = kNoLimit) {
  std::vector<int32_t> rounded(values.size());
  round_conditionally(random, values, factor, norm_squared_max, rounded);
  return rounded;
}

uint64_t norm_squared(const std::vector<int32_t>& values) {
  uint64_t sum = 0;
  for (const int64_t value : values) sum += static_cast<uint64_t>(value * value);
  return sum;
}

// Each 32-bit word is the same; asks are written down.
class ConstantSource final : public ByteSource {
 public:
  explicit ConstantSource(uint32_t word) : word_(word) {}
  void write(uint64_t byte_offset, std::span<uint8_t> out) const override {
    asked.emplace_back(byte_offset, out.size());
    for (size_t i = 0; i < out.size(); i += 4) std::memcpy(&out[i], &word_, 4);
  }
  mutable std::vector<std::pair<uint64_t, size_t>> asked;

 private:
  uint32_t word_;
};

TEST(ConditionalRounding, GoesUpExactlyWhereTheBitsAreBelowTheFraction) {
  const std::vector<float> values{0.25f, -0.25f, 3.75f, -3.75f, 7, -7, 0, -0.0f, 1e-30f, -1e-30f};
  const auto at = [&](uint32_t word) { return round_all(ConstantSource(word), values); };
  EXPECT_EQ(at(0), (std::vector<int32_t>{1, 0, 4, -3, 7, -7, 0, 0, 0, 0}));
  EXPECT_EQ(at(0x3fffffff), (std::vector<int32_t>{1, 0, 4, -3, 7, -7, 0, 0, 0, 0}));
  EXPECT_EQ(at(0x40000000), (std::vector<int32_t>{0, 0, 4, -4, 7, -7, 0, 0, 0, 0}));
  EXPECT_EQ(at(0xffffffff), (std::vector<int32_t>{0, -1, 3, -4, 7, -7, 0, 0, 0, 0}));
}

TEST(ConditionalRounding, KeepsTheMean) {
  Prng prng(3);
  std::vector<float> values(100'000);
  double sum = 0, variance = 0;
  for (float& value : values) {
    value = static_cast<float>(prng.uniform(-5, 5));
    const double fraction = value - std::floor(value);
    sum += value;
    variance += fraction * (1 - fraction);
  }
  double rounded_sum = 0;
  for (const int32_t z : round_all(CounterSource(4), values)) rounded_sum += z;
  EXPECT_LT(std::fabs(rounded_sum - sum) / std::sqrt(variance), 5);  // one in 10^6 seeds
}

TEST(ConditionalRounding, NeverExceedsTheBound) {
  Prng prng(5);
  for (int round = 0; round < 300; ++round) {
    const size_t dimension = 1 + prng.below(400);
    std::vector<float> values(dimension);
    double norm = 0;
    for (float& value : values) value = static_cast<float>(prng.normal());
    for (const float value : values) norm += static_cast<double>(value) * value;
    const double scaled = std::exp(prng.uniform(-2, 6));
    const double factor = scaled / std::sqrt(norm) * (1 - 0x1p-40);
    const uint64_t bound = rounded_norm_squared_max(scaled, dimension);
    const std::vector<int32_t> rounded = round_all(CounterSource(prng.next()), values, factor, bound);
    EXPECT_LE(norm_squared(rounded), bound) << "round " << round;
    for (size_t i = 0; i < dimension; ++i) EXPECT_LT(std::fabs(rounded[i] - values[i] * factor), 1);
  }
}

// Half of the coordinates go up in one try: some tries are below the median, some above.
TEST(ConditionalRounding, TakesTheFirstTryThatIsShortEnough) {
  const std::vector<float> values(400, 0.5f);
  const CounterSource random(6);
  std::vector<std::vector<int32_t>> tries(kRoundingTries, std::vector<int32_t>(values.size()));
  for (size_t t = 0; t < tries.size(); ++t) {
    std::vector<uint32_t> words(values.size());
    random.write(4 * t * values.size(), {reinterpret_cast<uint8_t*>(words.data()), 4 * words.size()});
    for (size_t i = 0; i < words.size(); ++i) tries[t][i] = words[i] < 0x80000000u ? 1 : 0;
  }
  size_t later = 0;
  for (uint64_t bound = 170; bound < 230; ++bound) {
    const auto fits = std::find_if(tries.begin(), tries.end(), [&](const auto& z) { return norm_squared(z) <= bound; });
    const std::vector<int32_t> expected = fits == tries.end() ? std::vector<int32_t>(values.size()) : *fits;
    EXPECT_EQ(round_all(random, values, 1, bound), expected) << bound;
    later += static_cast<size_t>(fits != tries.begin() && fits != tries.end());
  }
  EXPECT_GT(later, 5u);
}

TEST(ConditionalRounding, CutsTowardsZeroWhereNoTryIsShortEnough) {
  const std::vector<float> values{2.9f, -2.9f, 0.9f, -0.9f, 3};
  EXPECT_EQ(round_all(CounterSource(7), values, 1, 17), (std::vector<int32_t>{2, -2, 0, 0, 3}));
}

TEST(ConditionalRounding, AsksForAsManyBytesWhicheverTryItTakes) {
  const std::vector<float> values(3000, 0.5f);
  std::vector<std::vector<size_t>> sizes;
  for (const uint32_t word : {0u, 0xffffffffu}) {  // too long in every try; short enough in the first
    const ConstantSource source(word);
    round_all(source, values, 1, 100);
    sizes.emplace_back();
    for (const auto& [offset, size] : source.asked) {
      sizes.back().push_back(size);
      EXPECT_LE(offset + size, 4 * kRoundingTries * values.size());
    }
  }
  EXPECT_EQ(sizes[0], sizes[1]);
}

TEST(ConditionalRounding, HoldsAtTheLimitOfTheNorm) {
  const std::vector<float> values{1, -1};
  const double factor = kScaledNormMax / std::sqrt(2.0);
  const std::vector<int32_t> rounded =
      round_all(CounterSource(8), values, factor, rounded_norm_squared_max(kScaledNormMax, 2));
  EXPECT_NEAR(rounded[0], factor, 1);
  EXPECT_NEAR(rounded[1], -factor, 1);
}

// secure aggregation's design, section 3.4: scale 64 at 2^20 coordinates inflates 64 to 516.5.
TEST(ConditionalRounding, ItsBoundIsThePublishedOne) {
  EXPECT_EQ(rounded_norm_squared_max(1024, 1 << 20), 1312256u);
  EXPECT_EQ(rounded_norm_squared_max(64, 1 << 20), 266816u);
  EXPECT_NEAR(std::sqrt(rounded_norm_squared_max(64, 1 << 20)), 516.5, 0.1);
  EXPECT_EQ(rounded_norm_squared_max(256, 1 << 16), 82304u);
  EXPECT_EQ(rounded_norm_squared_max(3, 1), 12u);   // 9 + 1/4 + 3.5, which is less than (3 + 1)^2
  EXPECT_EQ(rounded_norm_squared_max(0.1, 1), 0u);  // 0.01 + 1/4 + 0.6 is less than 1.21
}

}  // namespace
}  // namespace coterie
