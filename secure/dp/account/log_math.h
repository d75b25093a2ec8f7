// Logarithms of probabilities. An impossible event is -infinity; no function makes a NaN of numbers.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

namespace coterie {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// log(e^a + e^b)
inline double log_add(double a, double b) {
  const double high = a > b ? a : b;
  const double low = a > b ? b : a;
  return low == -kInfinity || high == kInfinity ? high : high + std::log1p(std::exp(low - high));
}

// log of n over k, for 0 <= k <= n <= kChooseMax.
inline constexpr size_t kChooseMax = 1024;
double log_choose(size_t n, size_t k);

// Mills ratio (1 - Phi(x)) / phi(x) of the standard normal, 1e-13 relative: erfc where it has not underflown, else its
// asymptotic series (Abramowitz and Stegun 7.1.23). Infinity below about -38.
double mills_ratio(double x);

// Phi(x), and its logarithm, which stays finite in the lower tail.
double normal_cdf(double x);
double log_normal_cdf(double x);

}  // namespace coterie
