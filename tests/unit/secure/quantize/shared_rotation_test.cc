#include "secure/quantize/shared_rotation.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "secure/crypto/sha256.h"
#include "secure/dp/encode/l2_norm.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

const test::CounterSource kSigns(42);

std::vector<float> random_update(size_t count, uint64_t seed) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.normal());
  return values;
}

// One step of the definition: rows of the matrix, signs from `first_byte` on.
std::vector<double> turned(const std::vector<double>& before, size_t first_byte) {
  const size_t size = before.size();
  std::vector<uint8_t> signs((size + 7) / 8);
  kSigns.write(first_byte, signs);
  std::vector<double> after(size);
  for (size_t row = 0; row < size; ++row) {
    for (size_t i = 0; i < size; ++i) {
      const bool minus = ((signs[i / 8] >> (i % 8)) & 1) != 0;
      after[row] += (std::popcount(row & i) % 2 == 0 ? 1.0 : -1.0) * (minus ? -before[i] : before[i]);
    }
    after[row] /= std::sqrt(static_cast<double>(size));
  }
  return after;
}

TEST(SharedRotation, IsTwoMatricesOfTheDefinition) {
  for (const size_t count : {1u, 2u, 3u, 8u, 11u, 100u}) {
    const std::vector<float> before = random_update(count, count);
    const size_t width = rotation_width(count);
    std::vector<double> expected(before.begin(), before.end());
    const auto step = [&](size_t first, size_t first_byte) {
      const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(first);
      const auto after = turned({begin, begin + static_cast<std::ptrdiff_t>(width)}, first_byte);
      std::copy(after.begin(), after.end(), begin);
    };
    step(0, 0);
    if (width < count) step(count - width, (width + 7) / 8);
    std::vector<float> values = before;
    rotate_whole(kSigns, values);
    for (size_t i = 0; i < count; ++i) ASSERT_NEAR(values[i], expected[i], 1e-5) << count << " value " << i;
  }
}

TEST(SharedRotation, KeepsTheNormAndComesBack) {
  for (const size_t count : {1u, 2u, 3u, 1000u, 16384u, 100'003u}) {
    const std::vector<float> before = random_update(count, count);
    std::vector<float> values = before;
    rotate_whole(kSigns, values);
    EXPECT_NEAR(*l2_norm(values) / *l2_norm(before), 1, 40 * 0x1p-23);
    rotate_whole_back(kSigns, values);
    double error = 0;
    for (size_t i = 0; i < count; ++i) error += (values[i] - before[i]) * (values[i] - before[i]);
    EXPECT_LT(std::sqrt(error), *l2_norm(before) * 80 * 0x1p-23) << count;
  }
}

// Wherever an update is heavy: this is what the grid's width counts on.
TEST(SharedRotation, SpreadsAHeavyEndOverAllValues) {
  const size_t count = 20'490, width = rotation_width(count);
  ASSERT_EQ(width, 16'384u);
  for (const size_t first : {size_t{0}, count / 2, count - 650}) {
    std::vector<float> values(count);
    const std::vector<float> layer = random_update(650, first);
    std::copy(layer.begin(), layer.end(), values.begin() + static_cast<std::ptrdiff_t>(first));
    const double norm = *l2_norm(values);
    rotate_whole(kSigns, values);
    size_t beyond = 0;
    for (const float value : values) beyond += std::fabs(value) > 3.5 * norm / std::sqrt(width) ? 1 : 0;
    EXPECT_LT(beyond, 25u) << "of a normal value 4.7e-4 are, so of all of them 10";
  }
}

TEST(SharedRotation, OfASumIsTheSumOfRotations) {
  std::vector<float> a = random_update(1500, 1), b = random_update(1500, 2), sum(1500);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
  for (auto* values : {&a, &b, &sum}) rotate_whole(kSigns, *values);
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], a[i] + b[i], 1e-5);
}

TEST(SharedRotation, HasOtherSignsForEachModel) {
  Digest model;
  const auto bytes_of = [](const Digest& digest) {
    const auto signs = update_rotation_signs(digest);
    EXPECT_TRUE(test::is_ok(signs));
    Bytes bytes(32);
    signs->write(0, bytes);
    return bytes;
  };
  const Bytes one = bytes_of(model);
  EXPECT_EQ(bytes_of(model), one);
  model.bytes[0] = 1;
  EXPECT_NE(bytes_of(model), one);
}

// Whatever machine and compiler: a server and its devices must mean the same.
TEST(SharedRotation, GivesTheseBits) {
  std::vector<float> values(100'003);
  Prng prng(5);
  for (float& value : values) value = static_cast<float>(static_cast<int32_t>(prng.below(20001)) - 10000) / 4096;
  rotate_whole(kSigns, values);
  const Digest digest = sha256({reinterpret_cast<const uint8_t*>(values.data()), 4 * values.size()});
  EXPECT_EQ(digest.hex(), "2d694d2a2b44f75ef24008e4baea8f54d4e04013bc8e8393dd87572c6f6d133f");
}

}  // namespace
}  // namespace coterie
