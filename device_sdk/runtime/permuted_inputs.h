// Inputs of examples among which the values of one feature are dealt out anew, so that they say nothing of their
// example any more: what permutation importance (Breiman 2001) evaluates a model on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace coterie {

// Not thread-safe.
class PermutedInputs {
 public:
  // Room for so many examples of so many numbers each: 4 bytes a number, and 8 an example. The seed draws every order.
  PermutedInputs(uint64_t examples, uint64_t example_values, uint64_t seed);

  uint64_t examples() const { return order_.size(); }
  // The input of an example as it is, to be filled once before any is read.
  std::span<float> kept(uint64_t example);
  // Draws another order, from the one before: the n-th is the same for the same seed, whatever is read in between.
  void shuffle();
  // Writes the values [first, first + count) of the example's input as the order deals them out, over those of `input`.
  void permute(uint64_t example, uint64_t first, uint64_t count, std::span<float> input) const;

 private:
  std::span<const float> kept(uint64_t example) const;

  uint64_t example_values_;
  Prng prng_;
  std::vector<float> values_;
  std::vector<uint64_t> order_;
};

}  // namespace coterie
