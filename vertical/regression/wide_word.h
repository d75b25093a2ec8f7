// WideWord: a share or an opened number of Z_2^128, for products that must be as good as those of doubles. In messages
// and mask streams it is two words, the low one first.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "vertical/regression/ring_plan.h"

namespace coterie::vertical {

__extension__ using WideWord = unsigned __int128;

// A standardised number x is round(x * 2^kWideBits). Sums over the rows of products of two columns are at most the
// number of rows, 2^22, times 2^(2 kWideBits): far below 2^127.
constexpr int kWideBits = 44;

inline WideWord to_wide(double value) {
  return static_cast<WideWord>(static_cast<int64_t>(std::llround(std::ldexp(value, kWideBits))));
}
// A product of two numbers, or a sum of such.
inline double from_wide_product(WideWord word) {
  const bool is_negative = (word >> 127) != 0;
  const double size = static_cast<double>(is_negative ? -word : word);
  return std::ldexp(is_negative ? -size : size, -2 * kWideBits);
}

inline std::vector<Word> narrow_words(std::span<const WideWord> wide) {
  std::vector<Word> words;
  words.reserve(2 * wide.size());
  for (const WideWord word : wide) {
    words.push_back(static_cast<Word>(word));
    words.push_back(static_cast<Word>(word >> 64));
  }
  return words;
}
inline std::vector<WideWord> wide_words(std::span<const Word> words) {
  std::vector<WideWord> wide(words.size() / 2);
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = words[2 * i] | (static_cast<WideWord>(words[2 * i + 1]) << 64);
  return wide;
}

}  // namespace coterie::vertical
