// UpdateDistances: the squared Euclidean distances between all updates of a round, and between each and 0, added up
// tile by tile.
//
// Differences are taken in double before they are squared: |x|^2 + |y|^2 - 2xy would cancel where updates are small
// beside what they have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregation/robust/sums_by_place.h"

namespace coterie {

class UpdateDistances {
 public:
  explicit UpdateDistances(size_t updates);

  // Values first, first + 1, ... of every update, in the order of updates; tiles come in order. Values that are not
  // given (padding) do not count. Precondition: one row an update, all of one length.
  void add(uint64_t first, std::span<const std::span<const float>> rows);

  size_t updates() const { return updates_; }
  double squared(size_t one, size_t other) const;
  double squared_norm(size_t update) const;
  // From each update to the sum of all updates, each times its share: what is missing to 1 is the share of 0. At least
  // 0; exact but for some last places of the largest distance involved.
  std::vector<double> squared_to_mixture(std::span<const double> shares) const;

 private:
  // 0 is the point behind the last update.
  const SumsByPlace& pair(size_t low, size_t high) const { return pairs_[high * (high - 1) / 2 + low]; }
  double between(size_t one, size_t other) const;

  size_t updates_;
  std::vector<SumsByPlace> pairs_;  // low < high, by high and then by low
};

}  // namespace coterie
