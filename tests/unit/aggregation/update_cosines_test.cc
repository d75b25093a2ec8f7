#include "aggregation/robust/update_cosines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace coterie {
namespace {

using Matrix = std::vector<std::vector<float>>;

// The step is the last row.
UpdateCosines cosines_of(const Matrix& rows, size_t tile = 1000) {
  UpdateCosines cosines(rows.size() - 1);
  const size_t count = rows[0].size();
  for (size_t first = 0; first < count; first += tile) {
    std::vector<std::span<const float>> parts;
    for (const auto& row : rows) parts.push_back(std::span(row).subspan(first, std::min(tile, count - first)));
    cosines.add(first, std::span(parts).first(rows.size() - 1), parts.back());
  }
  return cosines;
}

TEST(UpdateCosines, AreThoseOfTheirDefinition) {
  Prng prng(7);
  Matrix rows(4, std::vector<float>(5000));
  for (std::vector<float>& row : rows) {
    for (float& value : row) value = static_cast<float>(prng.uniform(-1, 2));
  }
  const UpdateCosines cosines = cosines_of(rows);
  for (size_t update = 0; update < 3; ++update) {
    long double product = 0, squares = 0, step = 0;
    for (size_t i = 0; i < rows[0].size(); ++i) {
      const long double a = rows[update][i], b = rows[3][i];
      product += a * b;
      squares += a * a;
      step += b * b;
    }
    EXPECT_NEAR(*cosines.cosine(update), static_cast<double>(product / std::sqrt(squares * step)), 1e-13);
  }
}

TEST(UpdateCosines, HaveTheSameBitsWhereverTilesEnd) {
  Prng prng(3);
  Matrix rows(3, std::vector<float>(5003));
  for (std::vector<float>& row : rows) {
    for (float& value : row) value = static_cast<float>(prng.uniform(-1, 1));
  }
  const UpdateCosines whole = cosines_of(rows, 10'000);
  for (const size_t tile : {1, 7, 2048, 2051}) {
    for (size_t update = 0; update < 2; ++update) {
      EXPECT_EQ(*cosines_of(rows, tile).cosine(update), *whole.cosine(update)) << tile;
    }
  }
}

// What a device may send at all is finite. Nothing finite makes a cosine that is no number.
TEST(UpdateCosines, StayNumbersAtTheEndsOfWhatAFloatHas) {
  constexpr float kMost = std::numeric_limits<float>::max(), kLeast = std::numeric_limits<float>::denorm_min();
  const std::vector<float> most(3000, kMost), least(3000, kLeast), opposite(3000, -kMost), nothing(3000, 0.0f);
  for (const std::vector<float>& step : {most, least}) {
    const UpdateCosines cosines = cosines_of({most, least, opposite, nothing, step});
    EXPECT_DOUBLE_EQ(*cosines.cosine(0), 1);
    EXPECT_DOUBLE_EQ(*cosines.cosine(1), 1) << "length does not count";
    EXPECT_DOUBLE_EQ(*cosines.cosine(2), -1);
    EXPECT_FALSE(cosines.cosine(3)) << "nothing points nowhere";
    const CosineHistogram counted = cosines.histogram();
    EXPECT_EQ(counted.counts.back(), 2u);
    EXPECT_EQ(counted.counts.front(), 1u);
    EXPECT_EQ(counted.undirected, 1u);
  }
  EXPECT_EQ(cosines_of({most, least, nothing}).histogram().undirected, 2u) << "nor does a step of zeros";
  const std::vector<float> beyond(3000, std::numeric_limits<float>::infinity());
  EXPECT_EQ(cosines_of({most, nothing, beyond}).histogram().undirected, 2u) << "nor what a float does not have";
}

}  // namespace
}  // namespace coterie
