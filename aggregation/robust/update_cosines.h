// UpdateCosines: the cosine of each update of a round with the round's step, which is what a robust rule has made of
// all updates, before a strategy sees it. Added up tile by tile, as the rule makes it.
//
// Sums are in double: squares and products of float32 are exact there, and neither overflow nor vanish, whatever an
// update sends that is finite. An update counts once, whatever it weighs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregation/robust/sums_by_place.h"
#include "proto/messages/cosine_histogram.h"

namespace coterie {

class UpdateCosines {
 public:
  explicit UpdateCosines(size_t updates) : updates_(updates) {}

  // Values first, first + 1, ... of every update, in the order of updates, and of the step; tiles come in order. Values
  // that are not given (padding, running statistics) do not count. Precondition: one row an update, all as long as the
  // step.
  void add(uint64_t first, std::span<const std::span<const float>> rows, std::span<const float> step);

  // In [-1, 1]. None: the update is zero, or the step is zero or beyond float32.
  std::optional<double> cosine(size_t update) const;
  CosineHistogram histogram() const;

 private:
  struct Sums {
    SumsByPlace products, squares;  // of the update with the step, and with itself
  };

  std::vector<Sums> updates_;
  SumsByPlace step_squares_;
};

}  // namespace coterie
