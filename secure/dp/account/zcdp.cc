#include "secure/dp/account/zcdp.h"

#include <cmath>
#include <vector>

namespace coterie {

std::optional<double> rho_of(const Composition& composition) {
  double rho = 0;
  for (const Releases& releases : composition) {
    if (releases.sampling.kind() != Sampling::Kind::none) return std::nullopt;
    double ratio = 0;  // sensitivity over standard deviation
    if (const auto* normal = std::get_if<GaussianNoise>(&releases.noise)) {
      ratio = 1 / normal->noise_multiplier;
    } else if (const auto* discrete = std::get_if<DiscreteGaussianNoise>(&releases.noise)) {
      ratio = discrete->l2_sensitivity / discrete->sigma;
    } else {
      return std::nullopt;
    }
    rho += static_cast<double>(releases.steps) * ratio * ratio / 2;
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
