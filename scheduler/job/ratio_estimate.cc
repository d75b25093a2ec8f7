#include "scheduler/job/ratio_estimate.h"

#include <algorithm>
#include <cmath>

namespace coterie {
namespace {

// Student's t at 97.5 %, by the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5): within 1 % from 3
// degrees of freedom on, within 4 % at 2.
double student_975(double degrees) {
  const double z = 1.959963984540054, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const double terms[] = {(z3 + z) / 4, (5 * z5 + 16 * z3 + 3 * z) / 96, (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / 384};
  double t = z, power = degrees;
  for (const double term : terms) {
    t += term / power;
    power *= degrees;
  }
  return t;
}

}  // namespace

std::optional<RatioEstimate> ratio_estimate(const RatioSums& sums, double at_least, double at_most) {
  if (!(sums.n > 0)) return std::nullopt;
  RatioEstimate estimate{.value = sums.y / sums.n, .low = {}, .high = {}};
  const double p = estimate.value;
  // The draws are devices, not examples: the error is made of sum (y - p n)^2 over devices, which the moments give
  // without naming any of them (Cochran 1977, section 2.11).
  const double residuals = std::max(0.0, sums.yy - 2 * p * sums.ny + p * p * sums.nn);
  // What is left of sums that are exact, and cancel.
  const bool differs = residuals > 1e-9 * sums.yy;
  if (sums.devices < static_cast<double>(kIntervalDevicesMin) || !differs) return estimate;
  const double error = std::sqrt(sums.devices / (sums.devices - 1) * residuals) / sums.n;
  const double reach = student_975(sums.devices - 1) * error;
  estimate.low = std::max(at_least, p - reach);
  estimate.high = std::min(at_most, p + reach);
  return estimate;
}

}  // namespace coterie
