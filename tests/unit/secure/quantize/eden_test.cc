#include "secure/quantize/eden.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

constexpr size_t kFew = 256;  // the fewest that updates may have
constexpr float kBound = 64;
// pi / 2 - 1, and 1 / E[c^2] - 1 of the normal variable's nearest centroids c.
constexpr std::array<double, 4> kErrors = {0.570796, 0.133121, 0.035784, 0.009592};

std::vector<float> normal_values(size_t count, uint64_t seed) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.normal());
  return values;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

std::vector<float> there_and_back(const std::vector<float>& values, uint32_t bits, uint64_t seed) {
  const Result<EdenUpdate> update = encode_eden(values, bits, seed);
  EXPECT_OK(update);
  for (const uint16_t level : update->levels) EXPECT_LT(level, 1u << bits);
  std::vector<float> decoded(update->levels.begin(), update->levels.end());
  EXPECT_OK(decode_eden(update->scale, bits, seed, kBound, decoded));
  return decoded;
}

double share_of_error(const std::vector<float>& values, const std::vector<double>& decoded) {
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = decoded[i] - static_cast<double>(values[i]);
    squares += error * error;
  }
  return squares / dot(values, values);
}

// What one turn alone gets wrong: of values with few that are not 0, 1 bit sees the largest alone, whatever the signs.
std::vector<std::vector<float>> hard_vectors() {
  std::vector<float> one(kFew), two(kFew), three(kFew + 44), steps(kFew);
  one[17] = 1;
  two[3] = 3, two[200] = -1;
  three[0] = 1, three[150] = 0.5f, three.back() = 0.25f;
  for (size_t i = 0; i < kFew; ++i) steps[i] = i < 10 ? 1.0f : 0.01f;
  std::vector<float> heavy = normal_values(kFew, 5);
  for (float& value : heavy) value = 0.01f * std::exp(2 * value);
  return {one, two, three, steps, std::vector<float>(kFew, 0.5f), normal_values(kFew + 3, 1), heavy};
}

TEST(Eden, IsTheVectorInTheMeanOverSeeds) {
  constexpr uint64_t kSeeds = 300;
  const std::vector<std::vector<float>> vectors = hard_vectors();
  for (size_t v = 0; v < vectors.size(); ++v) {
    const std::vector<float>& values = vectors[v];
    for (const uint32_t bits : {1u, 2u}) {
      std::vector<double> mean(values.size());
      for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        const std::vector<float> decoded = there_and_back(values, bits, seed);
        for (size_t i = 0; i < values.size(); ++i) mean[i] += static_cast<double>(decoded[i]) / kSeeds;
      }
      // Where it is fair it falls as 1 / n; a bias would stay.
      EXPECT_LT(share_of_error(values, mean), 2 * kErrors[bits - 1] / kSeeds) << "vector " << v << ", bits " << bits;
    }
  }
}

TEST(Eden, HasTheErrorThatIsWritten) {
  for (const size_t count : {size_t{4096}, size_t{5000}}) {
    const std::vector<float> values = normal_values(count, count);
    for (uint32_t bits = 1; bits <= 4; ++bits) {
      double error = 0;
      for (uint64_t seed = 0; seed < 5; ++seed) {
        const std::vector<float> decoded = there_and_back(values, bits, seed);
        error += share_of_error(values, {decoded.begin(), decoded.end()}) / 5;
      }
      EXPECT_NEAR(error / kErrors[bits - 1], 1, 0.05) << bits << " bits, " << count << " values";
    }
  }
}

TEST(Eden, IsAsLongAsTheVectorAlongItAndNeverMuchLonger) {
  for (const std::vector<float>& values : hard_vectors()) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<float> decoded = there_and_back(values, 1, seed);
      EXPECT_NEAR(dot(decoded, values) / dot(values, values), 1, 1e-4);
      EXPECT_LE(std::sqrt(dot(decoded, decoded) / dot(values, values)), kEdenNormMax);
    }
  }
}

TEST(Eden, OfNothingIsNothing) {
  for (const float value : there_and_back(std::vector<float>(kFew), 1, 3)) EXPECT_EQ(value, 0);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> values(kFew);
    values[9] = bad;
    EXPECT_ERROR(encode_eden(values, 1, 3), ErrorCode::invalid_argument, "not a finite number");
  }
}

TEST(Eden, StaysWithinThePlansBoundWhateverTheScale) {
  for (const float scale : {1e3f, 1e30f, std::numeric_limits<float>::max()}) {
    std::vector<float> levels(kFew);
    for (size_t i = 0; i < kFew; ++i) levels[i] = static_cast<float>(i % 4);
    ASSERT_OK(decode_eden(scale, 2, 1, kBound, levels));
    for (const float value : levels) EXPECT_TRUE(std::isnan(value) || std::abs(value) <= kBound) << value;
  }
}

// Servers of one round add what each has decoded, on whatever machine it runs.
TEST(Eden, DecodesToTheSameBitsOnEveryMachine) {
  std::vector<float> levels(300);
  for (size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<float>((i * 7 + i / 3) % 16);
  ASSERT_OK(decode_eden(0.01f, 4, 42, kBound, levels));
  uint64_t digest = 14695981039346656037u;  // FNV-1a
  for (const float value : levels) digest = (digest ^ std::bit_cast<uint32_t>(value)) * 1099511628211u;
  EXPECT_EQ(digest, 357488512355532306u);
  EXPECT_NE(eden_rotation_seed(1), eden_rotation_seed(2));
}

}  // namespace
}  // namespace coterie
