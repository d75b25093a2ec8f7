#include "proto/codec/update/bit_packing.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

template <typename Number>
std::vector<Number> random_numbers(size_t count, uint32_t bits, uint64_t seed) {
  Prng prng(seed);
  std::vector<Number> numbers(count);
  for (Number& number : numbers) number = static_cast<Number>(prng.below(uint64_t{1} << bits));
  return numbers;
}

TEST(BitPacking, CountsBytesWithoutWrapping) {
  EXPECT_EQ(packed_bytes(0, 5), 0u);
  EXPECT_EQ(packed_bytes(1, 1), 1u);
  EXPECT_EQ(packed_bytes(8, 3), 3u);
  EXPECT_EQ(packed_bytes(9, 3), 4u);
  EXPECT_EQ(packed_bytes(uint64_t{1} << 32, 32), uint64_t{1} << 34);
  EXPECT_EQ(packed_bytes(uint64_t{1} << 60, 16), std::nullopt);
}

TEST(BitPacking, PutsTheLowestBitsFirst) {
  Bytes packed(4);
  pack_bits(std::vector<uint16_t>{0x123, 0x456}, 12, std::span(packed).first(3));
  EXPECT_EQ(packed, (Bytes{0x23, 0x61, 0x45, 0}));
  pack_bits(std::vector<uint32_t>{1, 0, 1}, 1, std::span(packed).first(1));
  EXPECT_EQ(packed[0], 5);
}

TEST(BitPacking, GivesBackWhatWentInAtEveryWidth) {
  for (uint32_t bits = 1; bits <= kPackedBitsMax; ++bits) {
    for (const size_t count : {0u, 1u, 7u, 8u, 9u, 1000u}) {
      const auto numbers = random_numbers<uint32_t>(count, bits, bits * 1001 + count);
      Bytes packed(packed_bytes(count, bits).value());
      pack_bits(numbers, bits, packed);
      std::vector<uint32_t> back(count);
      ASSERT_OK(unpack_bits(packed, bits, std::span(back)));
      ASSERT_EQ(back, numbers) << bits << " bits, " << count;
      if (bits > 16) continue;
      std::vector<uint16_t> narrow(count);
      std::vector<float> real(count);
      ASSERT_OK(unpack_bits(packed, bits, std::span(narrow)));
      ASSERT_OK(unpack_bits(packed, bits, std::span(real)));
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(narrow[i], numbers[i]);
        ASSERT_EQ(real[i], static_cast<float>(numbers[i]));
      }
    }
  }
}

TEST(BitPacking, RefusesOtherSizesAndBitsBehindTheLast) {
  std::vector<uint32_t> numbers(3);
  for (const size_t size : {0u, 3u, 5u}) {
    EXPECT_ERROR(unpack_bits(Bytes(size), 9, std::span(numbers)), ErrorCode::malformed, "3 numbers of 9 bits");
  }
  for (uint32_t bit = 27; bit < 32; ++bit) {
    Bytes packed(4);
    packed[3] = static_cast<uint8_t>(1u << (bit - 24));
    EXPECT_ERROR(unpack_bits(packed, 9, std::span(numbers)), ErrorCode::malformed, "behind the last") << bit;
  }
  Bytes packed(4);
  packed[3] = 1u << 2;  // bit 26: the last number's highest
  ASSERT_OK(unpack_bits(packed, 9, std::span(numbers)));
  EXPECT_EQ(numbers[2], 256u);
}

}  // namespace
}  // namespace coterie
