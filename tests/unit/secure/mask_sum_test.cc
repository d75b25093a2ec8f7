#include "secure/mask/mask_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"
#include "tests/support/throwing_asserts.h"
#include "tests/unit/secure/vectors/stream_cipher_vectors.h"

namespace coterie {
namespace {

constexpr CipherSuite kSuites[] = {CipherSuite::aes256_ctr, CipherSuite::chacha20};

Secret<32> seed_of(uint64_t number) {
  Prng prng = Prng::derived(number, 32);
  Secret<32> seed;
  for (uint8_t& byte : seed.mutable_bytes()) byte = static_cast<uint8_t>(prng.next());
  return seed;
}

struct Signed {
  uint64_t seed;
  MaskSign sign;
};

MaskSign opposite(MaskSign sign) { return sign == MaskSign::plus ? MaskSign::minus : MaskSign::plus; }

std::vector<Signed> random_masks(size_t count, Prng& prng) {
  std::vector<Signed> masks;
  while (masks.size() < count) {
    masks.push_back({prng.next(), prng.chance(0.5) ? MaskSign::plus : MaskSign::minus});
  }
  return masks;
}

MaskSum sum_of(const std::vector<Signed>& masks, CipherSuite suite = CipherSuite::aes256_ctr) {
  MaskSum sum = *MaskSum::make(suite);
  for (const Signed& mask : masks) EXPECT_TRUE(sum.add(seed_of(mask.seed), mask.sign));
  return sum;
}

template <typename Lane>
std::vector<Lane> random_lanes(size_t count, uint64_t seed) {
  Prng prng(seed);
  std::vector<Lane> lanes(count);
  for (Lane& lane : lanes) lane = static_cast<Lane>(prng.next());
  return lanes;
}

// The header's formula, lane by lane, from each seed's key stream.
template <typename Lane>
void apply_plainly(const std::vector<Signed>& masks, CipherSuite suite, uint64_t first_lane, std::span<Lane> lanes) {
  for (const Signed& mask : masks) {
    std::vector<Lane> stream(lanes.size());
    KeyStream::make(suite, seed_of(mask.seed))
        ->write(first_lane * sizeof(Lane), {reinterpret_cast<uint8_t*>(stream.data()), stream.size() * sizeof(Lane)});
    for (size_t i = 0; i < lanes.size(); ++i) {
      lanes[i] = static_cast<Lane>(mask.sign == MaskSign::plus ? lanes[i] + stream[i] : lanes[i] - stream[i]);
    }
  }
}

template <typename Lane>
class MaskSumOf : public testing::Test {};
using Lanes = testing::Types<uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(MaskSumOf, Lanes);

TYPED_TEST(MaskSumOf, IsItsFormulaForEveryShortRange) {
  Prng prng(1);
  const std::vector<Signed> masks = random_masks(3, prng);
  for (const CipherSuite suite : kSuites) {
    const MaskSum sum = sum_of(masks, suite);
    for (size_t count = 0; count <= 300; count += count < 40 ? 1 : 13) {
      const uint64_t first = prng.below(40);
      auto got = random_lanes<TypeParam>(count, count), expected = got;
      apply_plainly<TypeParam>(masks, suite, first, expected);
      sum.apply(first, got);
      ASSERT_EQ(got, expected) << count << " lanes from " << first;
    }
  }
}

TYPED_TEST(MaskSumOf, IsItsFormulaAroundTheBordersOfTiles) {
  Prng prng(2);
  const std::vector<Signed> masks = random_masks(2, prng);
  const MaskSum sum = sum_of(masks);
  constexpr uint64_t kTile = kMaskTileBytes / sizeof(TypeParam);
  const uint64_t far = (uint64_t{1} << 32) / sizeof(TypeParam), end = kKeyStreamBytesMax / sizeof(TypeParam);
  const std::pair<uint64_t, size_t> ranges[] = {
      {0, kTile},         {1, kTile},     {kTile - 1, 2},   {kTile - 1, kTile + 2}, {kTile, 1},       {kTile + 1, 9},
      {7, 2 * kTile + 5}, {far - 3, 700}, {far + 1, kTile}, {end - 1, 1},           {end - 777, 777}, {end, 0}};
  for (const auto& [first, count] : ranges) {
    auto got = random_lanes<TypeParam>(count, first), expected = got;
    apply_plainly<TypeParam>(masks, CipherSuite::aes256_ctr, first, expected);
    sum.apply(first, got);
    ASSERT_EQ(got, expected) << count << " lanes from " << first;
  }
}

TYPED_TEST(MaskSumOf, AndOfTheOppositeSignsCancelsBitForBit) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Prng prng(seed);
    std::vector<Signed> masks = random_masks(1 + prng.below(30), prng);
    const auto before = random_lanes<TypeParam>(1000 + prng.below(9000), seed);
    auto lanes = before;
    sum_of(masks).apply(seed, lanes);
    EXPECT_NE(lanes, before);
    prng.shuffle(masks);  // another order
    for (Signed& mask : masks) mask.sign = opposite(mask.sign);
    sum_of(masks).apply(seed, lanes);
    EXPECT_EQ(lanes, before) << "seed " << seed;
  }
}

TYPED_TEST(MaskSumOf, IsTheSameHoweverTheRangeIsCut) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Prng prng(seed);
    const MaskSum sum = sum_of(random_masks(3, prng));
    const uint64_t first = prng.below(100'000);
    auto whole = random_lanes<TypeParam>(30'000, seed), cut = whole;
    sum.apply(first, whole);
    for (size_t at = 0; at < cut.size();) {
      const size_t count = std::min<size_t>(prng.below(prng.chance(0.5) ? 12'000 : 20), cut.size() - at);
      sum.apply(first + at, std::span(cut).subspan(at, count));
      at += count;
    }
    EXPECT_EQ(whole, cut) << "seed " << seed;
  }
}

// Five devices, each pair with a seed of its own: one adds what the other subtracts (CCS 2017, section 4).
TYPED_TEST(MaskSumOf, TakesTheMasksOfAnother) {
  Prng prng(23);
  const std::vector<Signed> masks = random_masks(7, prng);
  std::vector<TypeParam> expected(100), seen(100);
  sum_of(masks).apply(3, std::span(expected));
  MaskSum sum = sum_of({masks.begin(), masks.begin() + 2});
  sum.take(sum_of({masks.begin() + 2, masks.end()}));
  sum.take(sum_of({}));
  EXPECT_EQ(sum.size(), 7u);
  sum.apply(3, std::span(seen));
  EXPECT_EQ(seen, expected);
}

TYPED_TEST(MaskSumOf, OfPairsVanishesInTheSumOfAllDevices) {
  constexpr uint64_t kDevices = 5;
  constexpr size_t kLanes = 5000;
  std::vector<TypeParam> plain(kLanes), masked(kLanes);
  for (uint64_t u = 0; u < kDevices; ++u) {
    std::vector<Signed> masks;
    for (uint64_t v = 0; v < kDevices; ++v) {
      if (v != u) masks.push_back({100 * std::min(u, v) + std::max(u, v), v < u ? MaskSign::plus : MaskSign::minus});
    }
    const auto update = random_lanes<TypeParam>(kLanes, u);
    auto sent = update;
    sum_of(masks).apply(0, sent);
    for (size_t i = 0; i < kLanes; ++i) {
      plain[i] = static_cast<TypeParam>(plain[i] + update[i]);
      masked[i] = static_cast<TypeParam>(masked[i] + sent[i]);
    }
  }
  EXPECT_EQ(masked, plain);
}

TYPED_TEST(MaskSumOf, SplitsIntoPartsThatMeetAtTiles) {
  constexpr size_t kTile = kMaskTileBytes / sizeof(TypeParam);
  for (const size_t lanes : {size_t{0}, size_t{1}, kTile - 1, kTile, 3 * kTile + 1, 100 * kTile - 1, SIZE_MAX / 16}) {
    for (const size_t parts : {1u, 2u, 3u, 7u, 64u}) {
      size_t next = 0, largest = 0, smallest = SIZE_MAX;
      for (size_t part = 0; part < parts; ++part) {
        const LaneRange range = part_of_lanes(lanes, sizeof(TypeParam), part, parts);
        EXPECT_EQ(range.first, next);
        EXPECT_TRUE(range.first % kTile == 0 || range.first == lanes) << range.first;
        next = range.first + range.count;
        largest = std::max(largest, range.count), smallest = std::min(smallest, range.count);
      }
      EXPECT_EQ(next, lanes);
      EXPECT_LT(largest - smallest, 2 * kTile) << lanes << " lanes in " << parts << " parts";
    }
  }
}

// A ring of b bits in wider lanes: clearing once at the end is clearing after every addition.
TEST(MaskSum, ServesRingsOfFewerBitsThanTheLaneHas) {
  for (const unsigned bits : {1u, 13u, 26u, 31u}) {
    const uint32_t ring = (1u << bits) - 1;
    Prng prng(bits);
    std::vector<Signed> masks = random_masks(9, prng);
    const auto before = random_lanes<uint32_t>(500, bits);
    auto lanes = before;
    sum_of(masks).apply(0, lanes);
    for (uint32_t& lane : lanes) lane &= ring;  // as they would be sent
    for (Signed& mask : masks) mask.sign = opposite(mask.sign);
    sum_of(masks).apply(0, lanes);
    for (size_t i = 0; i < lanes.size(); ++i) ASSERT_EQ(lanes[i] & ring, before[i] & ring) << bits << " bits";
  }
}

// Zeros and one mask: the stream itself.
TEST(MaskSum, GivesTheKnownStreamsOfEverySuiteByEveryKernel) {
  for (const CipherSuite suite : kSuites) {
    for (const MaskKernel& kernel : mask_kernels(suite)) {
      MaskSum sum(kernel);
      ASSERT_TRUE(sum.add(Secret<32>(std::span<const uint8_t, 32>(*from_hex(vectors::kCountingKey))), MaskSign::plus));
      std::vector<uint32_t> lanes((1 << 20) / sizeof(uint32_t));
      sum.apply(0, lanes);
      const ByteView bytes(reinterpret_cast<const uint8_t*>(lanes.data()), 1 << 20);
      const bool aes = suite == CipherSuite::aes256_ctr;
      EXPECT_EQ(sha256(bytes).hex(), aes ? vectors::kAesSha256 : vectors::kChaChaSha256) << kernel.name;
      if (!aes) continue;
      EXPECT_EQ(to_hex(bytes.first(32)), vectors::kAesFirst32) << kernel.name;
      std::vector<uint64_t> last(4);
      sum.apply(((1 << 20) - 32) / sizeof(uint64_t), last);
      EXPECT_EQ(to_hex({reinterpret_cast<const uint8_t*>(last.data()), 32}), vectors::kAesLast32) << kernel.name;
    }
  }
}

TEST(MaskSum, OfNothingChangesNothing) {
  const MaskSum sum = *MaskSum::make(CipherSuite::aes256_ctr);
  std::vector<uint32_t> lanes = {1, 2, 3};
  sum.apply(5, lanes);
  EXPECT_EQ(lanes, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(sum.size(), 0u);
  EXPECT_EQ(sum.kernel_name(), mask_kernels(CipherSuite::aes256_ctr).front().name);
  sum_of({{1, MaskSign::plus}}).apply(0, std::span<uint64_t>());
}

TEST(MaskSum, RefusesASuiteNobodyKnows) {
  for (const int suite : {0, 3, 255}) {
    EXPECT_ERROR(MaskSum::make(static_cast<CipherSuite>(suite)), ErrorCode::invalid_argument,
                 "no suite " + std::to_string(suite));
  }
}

TEST(MaskSum, InsistsOnTheStreamsEnd) {
  const test::ThrowingAsserts guard;
  const MaskSum sum = sum_of({{1, MaskSign::plus}});
  std::vector<uint32_t> lanes(2);
  constexpr uint64_t kLanesMax = kKeyStreamBytesMax / 4;
  sum.apply(kLanesMax - 2, lanes);
  EXPECT_THROW(sum.apply(kLanesMax - 1, lanes), AssertionFailure);
  EXPECT_THROW(sum.apply(kLanesMax + 1, lanes), AssertionFailure);
  EXPECT_THROW(sum.apply(UINT64_MAX, lanes), AssertionFailure);
  EXPECT_THROW((void)part_of_lanes(10, 4, 2, 2), AssertionFailure);
  EXPECT_THROW((void)part_of_lanes(10, 3, 0, 2), AssertionFailure);
}

}  // namespace
}  // namespace coterie
