// NoiseTable: the cumulative table (CDT) that turns uniform random words into noise.
//
// A draw takes one word of kWordBits random bits: its highest bit is the sign, the others are u. The magnitude is the
// number of thresholds above u, where
//
//   threshold[k] = round(P(|X| > k) * 2^(word_bits - 1)),  k = 0, 1, ... until it is 0.
//
// The sign of zero does not count, so this is exact but for the rounding, and `total_variation` says what that costs.
// The table ends where a tail is below half a unit: at 9.2 sigma for words of 64 bits, at 13.2 for words of 128
// (Skellam of a small variance later).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "secure/dp/noise/noise_weights.h"

namespace coterie {

enum class NoiseWord : uint8_t { bits64, bits128 };

struct NoiseTable {
  NoiseWord word = NoiseWord::bits64;

  // threshold[k] falls with k. Words of 64 bits: high[k], below 2^63. Words of 128: high[k] * 2^64 + low[k], below
  // 2^127.
  std::vector<uint64_t> high;
  std::vector<uint64_t> low;  // empty for words of 64 bits

  // The same as a complete search tree for vector lanes: node 1 is the root, node i has children 2i (fewer thresholds
  // are above u) and 2i + 1; 2^levels entries, at least 16, the first of which is unused. Beyond the table thresholds
  // are 0.
  int levels = 0;
  std::vector<uint64_t> tree_high;
  std::vector<uint64_t> tree_low;

  // Total variation distance between one draw and the distribution that is meant, rounded up.
  double total_variation = 0;
};

// Precondition: kNoiseVarianceMin <= variance <= kNoiseVarianceMax. Takes milliseconds for sigma up to 100, some tens
// of them for 1024.
NoiseTable make_noise_table(NoiseKind kind, double variance, NoiseWord word);

}  // namespace coterie
