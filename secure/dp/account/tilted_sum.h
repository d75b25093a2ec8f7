// The sum of many independent losses around the place where it decides a guarantee (pld.h says why it is tilted).
#pragma once

#include <cstdint>
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

// The tilt with which the sum has this mean, within the same limits.
double tilt_with_mean(std::span<const RepeatedPmf> parts, double mean);

// What the transforms compute in. A rounding error is raised to the power of `count` with the spectrum, and the tilt
// makes it large where epsilon lies far below the tilted mean: `extended` (long double) costs three times the time and
// makes it 2,000 times less where long double is more than double (fourier.h).
enum class Precision : uint8_t { standard = 1, extended };

struct SumEpsilon {
  double epsilon = 0;  // infinity: there is none
  double spoiled = 0;  // of delta, at most: cut off, out of the window, back into it, and errors of the transforms
};

// An upper bound of the least epsilon at which the sum, all parts on one grid, has delta at most `delta`.
// `points_max`: of the window, a power of two.
SumEpsilon epsilon_of_sum(std::span<const RepeatedPmf> parts, double tilt, double delta, size_t points_max,
                          Precision precision);

}  // namespace coterie
