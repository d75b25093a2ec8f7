#include "secure/dp/noise/noise_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

std::vector<SimdLevel> levels_of_this_cpu() {
  std::vector<SimdLevel> levels{SimdLevel::baseline};
  if (cpu_simd_level() >= SimdLevel::avx2) levels.push_back(SimdLevel::avx2);
  if (cpu_simd_level() >= SimdLevel::avx512) levels.push_back(SimdLevel::avx512);
  return levels;
}

// The definition: the number of thresholds above u.
int32_t by_definition(const NoiseTable& table, uint64_t high, uint64_t low) {
  const bool minus = high >> 63 != 0;
  high &= ~uint64_t{0} >> 1;
  int32_t magnitude = 0;
  for (size_t k = 0; k < table.high.size(); ++k) {
    const bool above = table.word == NoiseWord::bits64
                           ? high < table.high[k]
                           : high < table.high[k] || (high == table.high[k] && low < table.low[k]);
    magnitude += static_cast<int32_t>(above);
  }
  return minus ? -magnitude : magnitude;
}

struct Word {
  uint64_t high, low;
};

// Random words, and the words around every threshold: below, at and above it, with either sign.
std::vector<Word> words_for(const NoiseTable& table, Prng& prng) {
  std::vector<Word> words;
  for (int i = 0; i < 1000; ++i) words.push_back({prng.next(), prng.next()});
  for (size_t k = 0; k < table.high.size(); ++k) {
    for (const int64_t step : {-1, 0, 1}) {
      const uint64_t sign = prng.next() << 63;
      const uint64_t moved = table.high[k] + static_cast<uint64_t>(step);
      words.push_back({(moved & (~uint64_t{0} >> 1)) | sign, prng.next()});
      if (!table.low.empty()) words.push_back({table.high[k] | sign, table.low[k] + static_cast<uint64_t>(step)});
    }
  }
  words.push_back({0, 0});
  words.push_back({~uint64_t{0}, ~uint64_t{0}});
  words.push_back({~uint64_t{0} >> 1, ~uint64_t{0}});
  words.push_back({uint64_t{1} << 63, 0});
  while (words.size() % kNoiseGroup != 0) words.push_back({0, uint64_t{1} << 63});
  return words;
}

TEST(NoiseKernel, EveryLevelFollowsTheDefinition) {
  Prng prng(7);
  for (const NoiseKind kind : {NoiseKind::skellam, NoiseKind::discrete_gaussian}) {
    for (const double variance : {0.0025, 0.3, 4.0, 64.0, 1600.0}) {
      for (const NoiseWord word : {NoiseWord::bits64, NoiseWord::bits128}) {
        const NoiseTable table = make_noise_table(kind, variance, word);
        const std::vector<Word> words = words_for(table, prng);
        const size_t size = word == NoiseWord::bits64 ? 8 : 16;
        Bytes bytes(1 + words.size() * size);  // at an odd address
        for (size_t i = 0; i < words.size(); ++i) {
          std::memcpy(&bytes[1 + size * i + size - 8], &words[i].high, 8);
          if (size == 16) std::memcpy(&bytes[1 + size * i], &words[i].low, 8);
        }
        for (const SimdLevel level : levels_of_this_cpu()) {
          std::vector<int32_t> noise(words.size());
          draw_noise(level, table, bytes.data() + 1, words.size(), noise.data());
          for (size_t i = 0; i < words.size(); ++i) {
            ASSERT_EQ(noise[i], by_definition(table, words[i].high, words[i].low))
                << "level " << static_cast<int>(level) << " variance " << variance << " word " << i;
          }
        }
      }
    }
  }
}

TEST(NoiseKernel, TheLevelsAgreeOnTheLargestTable) {
  const NoiseTable table = make_noise_table(NoiseKind::skellam, kNoiseVarianceMax, NoiseWord::bits128);
  Prng prng(8);
  Bytes bytes(16 * 256);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng.next());
  std::vector<int32_t> plain(256), fast(256);
  draw_noise(SimdLevel::baseline, table, bytes.data(), 256, plain.data());
  for (const SimdLevel level : levels_of_this_cpu()) {
    draw_noise(level, table, bytes.data(), 256, fast.data());
    EXPECT_EQ(fast, plain) << static_cast<int>(level);
  }
}

TEST(NoiseKernel, TakesWholeGroups) {
  const test::ThrowingAsserts guard;
  const NoiseTable table = make_noise_table(NoiseKind::skellam, 1, NoiseWord::bits64);
  const Bytes bytes(8 * kNoiseGroup);
  std::vector<int32_t> noise(kNoiseGroup);
  EXPECT_THROW(draw_noise(SimdLevel::baseline, table, bytes.data(), kNoiseGroup - 1, noise.data()), AssertionFailure);
}

}  // namespace
}  // namespace coterie
