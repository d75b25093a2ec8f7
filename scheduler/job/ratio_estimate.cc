#include "scheduler/job/ratio_estimate.h"

#include <algorithm>
#include <cmath>

#include "base/statistics/student_t.h"

namespace coterie {
namespace {

constexpr double kDevicesMax = 1e9;  // beyond, t is that of the normal distribution

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
  // Rounded, not cut: a sum in float32 may lie a little below the whole number that it is of.
  const auto devices = static_cast<size_t>(std::llround(std::min(sums.devices, kDevicesMax)));
  const double reach = student_t(devices - 1) * error;
  estimate.low = std::max(at_least, p - reach);
  estimate.high = std::min(at_most, p + reach);
  return estimate;
}

}  // namespace coterie
