#include "secure/dp/noise/wide_uint.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

WideUint random_wide(Prng& prng, int bits) {
  WideUint value;
  for (int i = 0; i < bits / 64; ++i) {
    value = value << 64;
    value += WideUint(prng.next());
  }
  if (bits % 64 == 0) return value;
  value = value << (bits % 64);
  value += WideUint(prng.next() >> (64 - bits % 64));
  return value;
}

TEST(WideUint, DividesWhatItMultiplied) {
  Prng prng(1);
  for (int round = 0; round < 200; ++round) {
    const WideUint a = random_wide(prng, 500);
    const uint64_t b = prng.next() >> prng.below(60);
    if (b == 0) continue;
    EXPECT_EQ(a.times(b).divided_by(b), a);
    WideUint product = a.times(b);
    product += WideUint(b - 1);
    EXPECT_EQ(product.divided_by(b), a) << "rounded down";
  }
}

TEST(WideUint, MultipliesWideByWideAsBySums) {
  Prng prng(2);
  for (int round = 0; round < 100; ++round) {
    const WideUint a = random_wide(prng, 300), b = random_wide(prng, 320);
    WideUint sum;  // school multiplication, bit by bit of b
    for (int bit = 0; bit < 320; ++bit) {
      if (((b >> bit).low() & 1) != 0) sum += a << bit;
    }
    EXPECT_EQ(a.times(b, 0), sum);
    const int shift = static_cast<int>(prng.below(400));
    EXPECT_EQ(a.times(b, shift), sum >> shift);
  }
}

TEST(WideUint, SubtractsWhatItAdded) {
  Prng prng(3);
  for (int round = 0; round < 200; ++round) {
    const WideUint a = random_wide(prng, 620), b = random_wide(prng, 630);
    WideUint c = a;
    c += b;
    EXPECT_TRUE(a < c);
    EXPECT_FALSE(c < a);
    c -= b;
    EXPECT_EQ(c, a);
  }
}

TEST(WideUint, ShiftsBackAndForthAndKnowsItsWidth) {
  for (int count = 0; count < WideUint::kBits; ++count) {
    EXPECT_EQ(WideUint::power_of_two(count).bit_width(), count + 1);
    EXPECT_EQ(WideUint::power_of_two(count) >> count, WideUint(1));
    EXPECT_EQ((WideUint(0x9e3779b97f4a7c15u) >> count).low(), count < 64 ? 0x9e3779b97f4a7c15u >> count : 0);
  }
}

TEST(WideUint, AssertsWhereANumberDoesNotFit) {
  const test::ThrowingAsserts guard;
  const WideUint top = WideUint::power_of_two(639);
  EXPECT_THROW(static_cast<void>(top << 1), AssertionFailure);
  EXPECT_THROW(static_cast<void>(top.times(2)), AssertionFailure);
  EXPECT_THROW(static_cast<void>(top.times(top, 638)), AssertionFailure);
  EXPECT_THROW(WideUint(top) += top, AssertionFailure);
  EXPECT_THROW(WideUint(1) -= WideUint(2), AssertionFailure);
  EXPECT_THROW(static_cast<void>(top.divided_by(0)), AssertionFailure);
}

}  // namespace
}  // namespace coterie
