// What a party draws in a training, of its own secret seed: each purpose and step has a stream of its own (AES-256 in
// counter mode), so that a step which is repeated draws the same.
#pragma once

#include <cstdint>
#include <vector>

#include "secure/crypto/secret.h"

namespace coterie::vertical {

enum class SplitDraw : uint32_t {
  network = 1,       // the first weights
  rounding,          // of what is sent, by step
  gradient_noise,    // by step
  label_flips,       // once a row
  activation_noise,  // by step
  scored_rounding,   // of a prediction, by message
  scored_noise,      // likewise
};

std::vector<uint64_t> split_words(const Secret<32>& seed, SplitDraw draw, uint32_t step, size_t count);

// In [0, 1), with 53 bits.
inline double uniform_of(uint64_t word) { return static_cast<double>(word >> 11) * 0x1.0p-53; }

// Standard normal.
std::vector<double> split_normals(const Secret<32>& seed, SplitDraw draw, uint32_t step, size_t count);

// The seed of the stream itself, for whoever makes a source of it.
Secret<32> split_seed(const Secret<32>& seed, SplitDraw draw, uint32_t step);

}  // namespace coterie::vertical
