#include "secure/dp/account/exact_gaussian.h"

#include <cmath>
#include <numbers>

#include "base/assert.h"
#include "secure/dp/account/log_math.h"

namespace coterie {

double gaussian_delta(double mu, double epsilon) {
  COT_ASSERT(mu > 0 && epsilon >= 0);
  const double near = epsilon / mu - mu / 2;
  const double far = epsilon / mu + mu / 2;
  // The near ratio overflows far left of zero; there the probabilities are far apart and subtract well.
  if (near < -1) return normal_cdf(-near) - std::exp(epsilon + log_normal_cdf(-far));
  const double density = std::exp(-near * near / 2) / std::sqrt(2 * std::numbers::pi);
  return density * (mills_ratio(near) - mills_ratio(far));  // e^epsilon phi(far) = phi(near)
}

double gaussian_epsilon(double mu, double delta) {
  COT_ASSERT(mu > 0 && delta > 0);
  // Balle and Wang 2018, theorem 8: delta as a function of epsilon falls, so that halving finds the least epsilon. What
  // is returned is the upper end, which is on the safe side.
  if (gaussian_delta(mu, 0) <= delta) return 0;
  double low = 0;
  double high = 1;
  while (gaussian_delta(mu, high) > delta) {
    low = high;
    high *= 2;
  }
  while (high - low > 1e-13 * high) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (gaussian_delta(mu, middle) > delta ? low : high) = middle;
  }
  return high;
}

}  // namespace coterie
