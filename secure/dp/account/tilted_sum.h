// The sum of many independent losses around the place where it decides a guarantee (pld.h says why it is tilted).
#pragma once

#include <span>

#include "base/result.h"
#include "secure/dp/account/loss_pmf.h"

namespace coterie {

struct RepeatedPmf {
  LossPmf pmf;
  double count = 1;  // independent losses of this distribution; whole
};

// K(t) = log E e^(t L) of the sum's finite part, and its derivatives: mean and variance of L tilted by t.
struct Cumulant {
  double value = 0;
  double mean = 0;
  double variance = 0;
};
Cumulant cumulant(std::span<const RepeatedPmf> parts, double tilt);

// The tilt where (K(t) + log(1 / delta)) / t is least: about the epsilon at delta is there the tilted mean. Within
// [kTiltMin, kTiltMax].
double best_tilt(std::span<const RepeatedPmf> parts, double delta);
inline constexpr double kTiltMin = 1e-4;
inline constexpr double kTiltMax = 1e3;

// An upper bound of the least epsilon at which the sum, all parts on one grid, has delta at most `delta`; infinity if
// there is none. `points_max`: of the window, a power of two.
double epsilon_of_sum(std::span<const RepeatedPmf> parts, double tilt, double delta, size_t points_max);

}  // namespace coterie
