// The hypergeometric distribution: how many of `drawn`, taken without replacement from `total`, are marked.
#pragma once

#include <cstdint>
#include <vector>

namespace coterie::secagg {

// log i! for i up to `total`: made once for many distributions over as many.
class LogFactorials {
 public:
  explicit LogFactorials(uint32_t total);
  double operator[](uint32_t i) const { return values_[i]; }

 private:
  std::vector<double> values_;
};

// marked, drawn <= total <= the table's. Probabilities are sums of at most `drawn` terms of relative error below 1e-9
// for totals up to a million.
class Hypergeometric {
 public:
  Hypergeometric(const LogFactorials& log_factorials, uint32_t total, uint32_t marked, uint32_t drawn)
      : log_factorials_(log_factorials), total_(total), marked_(marked), drawn_(drawn) {}

  // The least x with P[X > x] < probability.
  uint32_t least_seldom_exceeded(double probability) const;
  // The largest x with P[X < x] < probability.
  uint32_t largest_seldom_missed(double probability) const;

 private:
  double probability_of(uint32_t x) const;

  const LogFactorials& log_factorials_;
  uint32_t total_, marked_, drawn_;
};

}  // namespace coterie::secagg
