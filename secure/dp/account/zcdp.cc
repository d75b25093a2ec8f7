#include "secure/dp/account/zcdp.h"

#include <cmath>
#include <vector>

namespace coterie {

std::optional<double> rho_of(const Composition& composition) {
  double rho = 0;
  for (const Releases& releases : composition) {
    if (releases.sampling.kind() != Sampling::Kind::none) return std::nullopt;
    double squared = 0;  // of sensitivity over standard deviation
    if (const std::optional<double> precision = gaussian_precision(releases.noise)) {
      squared = *precision;
    } else if (const auto* discrete = std::get_if<DiscreteGaussianNoise>(&releases.noise)) {
      squared = std::pow(discrete->l2_sensitivity / discrete->sigma, 2);
    } else {
      return std::nullopt;
    }
    // rho is 1 / (2 z^2) for Gaussian noise, and rhos add up (Bun and Steinke 2016).
    rho += static_cast<double>(releases.steps) * squared / 2;
  }
  return rho;
}

RdpEpsilon zcdp_epsilon(double rho, double delta) {
  RdpCurve curve;
  curve.add(curve.orders(), rho);
  return curve.epsilon(delta);
}

double bun_steinke_epsilon(double rho, double delta) { return rho + 2 * std::sqrt(rho * std::log(1 / delta)); }

}  // namespace coterie
