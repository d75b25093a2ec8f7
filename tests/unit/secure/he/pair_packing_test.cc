#include "secure/he/pair_packing.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

int128 random_value(Prng& random, size_t bits) {
  // Magnitudes of all sizes, so that borrows run over many limbs.
  const size_t length = random.below(bits);
  int128 value = 0;
  for (size_t i = 0; i < length; ++i) value = 2 * value + static_cast<int128>(random.below(2));
  return random.chance(0.5) ? -value : value;
}

TEST(PairPacking, ComesBack) {
  Prng random(1);
  for (size_t value_bits : {52u, 62u, 64u, 84u, 120u}) {
    const PairPacking packing(value_bits, 2046);
    for (int run = 0; run < 200; ++run) {
      std::vector<SumPair> pairs(1 + random.below(packing.pairs_max()));
      for (SumPair& pair : pairs) pair = {random_value(random, value_bits - 1), random_value(random, value_bits - 1)};
      const auto back = packing.decode(packing.encode(pairs), pairs.size());
      ASSERT_OK(back);
      EXPECT_EQ(*back, pairs);
    }
  }
}

TEST(PairPacking, ExtremesComeBack) {
  for (size_t value_bits : {40u, 64u, 120u}) {
    const PairPacking packing(value_bits, 2046);
    const int128 least = -(int128{1} << (value_bits - 1));
    const int128 most = (int128{1} << (value_bits - 1)) - 1;
    for (const SumPair& extreme :
         {SumPair{least, least}, {least, most}, {most, least}, {most, most}, {-1, -1}, {0, -1}}) {
      const std::vector<SumPair> pairs(packing.pairs_max(), extreme);
      const auto back = packing.decode(packing.encode(pairs), pairs.size());
      ASSERT_OK(back);
      EXPECT_EQ(*back, pairs);
    }
  }
}

TEST(PairPacking, RefusesMoreThanItsPairs) {
  const PairPacking packing(52, 2046);
  const std::vector<SumPair> pairs = {{1, 2}, {3, 4}, {-5, 6}};
  EXPECT_ERROR(packing.decode(packing.encode(pairs), 2), ErrorCode::malformed, "more in it than its numbers");
}

TEST(PairPacking, HasAsManyPairsAsFit) { EXPECT_EQ(PairPacking(62, 2046).pairs_max(), 16u); }

}  // namespace
}  // namespace coterie
