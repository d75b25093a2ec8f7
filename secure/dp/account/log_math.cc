#include "secure/dp/account/log_math.h"

#include <array>
#include <numbers>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr double kSeriesFrom = 25;  // erfc underflows at 38; the series' ninth term is below 1e-16 from here
const double kLogSqrtTwoPi = 0.5 * std::log(2 * std::numbers::pi);

const std::array<double, kChooseMax + 1>& log_factorials() {
  static const auto table = [] {
    std::array<double, kChooseMax + 1> values{};
    for (size_t n = 1; n <= kChooseMax; ++n) values[n] = values[n - 1] + std::log(static_cast<double>(n));
    return values;
  }();
  return table;
}

double mills_series(double x) {
  double term = 1;
  double sum = 1;
  for (int k = 1; k <= 9; ++k) {
    term *= -(2 * k - 1) / (x * x);
    sum += term;
  }
  return sum / x;
}

}  // namespace

double log_choose(size_t n, size_t k) {
  COT_ASSERT(k <= n && n <= kChooseMax);
  const auto& log_factorial = log_factorials();
  return log_factorial[n] - log_factorial[k] - log_factorial[n - k];
}

double mills_ratio(double x) {
  if (x > kSeriesFrom) return mills_series(x);
  return std::sqrt(std::numbers::pi / 2) * std::exp(0.5 * x * x) * std::erfc(x / std::numbers::sqrt2);
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double log_normal_cdf(double x) {
  if (x < -kSeriesFrom) return -0.5 * x * x - kLogSqrtTwoPi + std::log(mills_series(-x));
  return std::log(normal_cdf(x));
}

}  // namespace coterie
