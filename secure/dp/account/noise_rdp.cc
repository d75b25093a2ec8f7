#include "secure/dp/account/noise_rdp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "secure/dp/account/log_math.h"
#include "secure/dp/account/sampled_gaussian_rdp.h"

namespace coterie {
namespace {

double square(double x) { return x * x; }

double rdp(const GaussianNoise& n, double order) { return order / (2 * square(n.noise_multiplier)); }

double rdp(const DiscreteGaussianNoise& n, double order) { return order / 2 * square(n.l2_sensitivity / n.sigma); }

double rdp(const TreeNoise& n, double order) {
  return order * n.squared_sensitivity / (2 * square(n.noise_multiplier));
}

// log(order/(2 order - 1) e^((order-1)/b) + (order-1)/(2 order - 1) e^(-order/b)) / (order - 1), written so that
// nothing overflows.
double rdp(const LaplaceNoise& n, double order) {
  const double epsilon = 1 / n.noise_multiplier;
  const double part = (order - 1) / (2 * order - 1);
  return epsilon + std::log1p(part * std::expm1((1 - 2 * order) * epsilon)) / (order - 1);
}

// With a = 1 / scale and whole S the loss is a S with probability 1 / (1 + e^-a), -a S with e^(-a S) / (1 + e^-a), and
// a (S - 2 k) with tanh(a / 2) e^(-a k) for 0 < k < S. The middle is a geometric sum of ratio e^(-a (2 order - 1)).
double rdp(const DiscreteLaplaceNoise& n, double order) {
  const double a = 1 / n.scale;
  const double top = a * n.l1_sensitivity;
  const double rate = (2 * order - 1) * a;
  const double share = 1 / (1 + std::exp(-a));
  // E e^((order - 1) loss) / e^((order - 1) top)
  double scaled = share + share * std::exp(-(2 * order - 1) * top);
  const double middle = n.l1_sensitivity - 1;  // values of k
  scaled += std::tanh(a / 2) * std::exp(-rate) * std::expm1(-rate * middle) / std::expm1(-rate);
  return std::max(0.0, top + std::log(scaled) / (order - 1));
}

double rdp(const SkellamNoise& n, double order) {
  const double l2 = square(n.l2_sensitivity);
  const double far = ((2 * order - 1) * l2 + 6 * n.l1_sensitivity) / (4 * square(n.variance));
  return order * l2 / (2 * n.variance) + std::min(far, 3 * n.l1_sensitivity / (2 * n.variance));
}

// Three bounds (Kairouz, Liu and Steinke 2021, theorem 1): which is the least depends on the dimension and on how many
// add noise.
double rdp(const DistributedGaussianNoise& n, double order) {
  const double tau = distributed_gaussian_tau(n.local_sigma, n.parties);
  const double sigma = n.local_sigma * std::sqrt(static_cast<double>(n.parties));
  const double l2 = n.l2_sensitivity / sigma;
  const double l1 = n.l1_sensitivity / sigma;
  const auto d = static_cast<double>(n.dimensions);
  return std::min({order / 2 * square(l2) + tau * d, order / 2 * (square(l2) + 2 * l1 * tau + square(tau) * d),
                   order / 2 * square(l2 + std::sqrt(d) * tau)});
}

Result<std::vector<double>> one_release(const Releases& releases, std::span<const double> orders) {
  const Sampling::Kind kind = releases.sampling.kind();
  if (kind != Sampling::Kind::none && releases.sampling.rate() < 1) {
    const auto* gaussian = std::get_if<GaussianNoise>(&releases.noise);
    if (gaussian == nullptr) {
      return Error(ErrorCode::invalid_argument, "no Renyi bound is known here for sampled " +
                                                    mechanism_name(releases.noise) + " noise; only gaussian has one");
    }
    return kind == Sampling::Kind::poisson
               ? poisson_gaussian_rdp(releases.sampling.rate(), gaussian->noise_multiplier, orders)
               : without_replacement_gaussian_rdp(releases.sampling.rate(), gaussian->noise_multiplier, orders);
  }
  std::vector<double> values;
  for (const double order : orders) values.push_back(unsampled_rdp(releases.noise, order));
  return values;
}

}  // namespace

double distributed_gaussian_tau(double local_sigma, uint64_t parties) {
  const double factor = 2 * square(std::numbers::pi * local_sigma);
  double sum = 0;
  // The terms fall: of many parties each stands for the next few, which rounds up by less than factor / 10^6.
  for (uint64_t k = 1; k < parties;) {
    const uint64_t count = std::min(parties - k, std::max<uint64_t>(1, k / 1000));
    sum += static_cast<double>(count) * std::exp(-factor * (static_cast<double>(k) / static_cast<double>(k + 1)));
    k += count;
  }
  return 10 * sum;
}

double unsampled_rdp(const Noise& noise, double order) {
  return std::visit([order](const auto& n) { return rdp(n, order); }, noise);
}

Result<RdpCurve> rdp_of(const Composition& composition, std::span<const double> orders) {
  RdpCurve curve(orders);
  for (const Releases& releases : composition) {
    COT_ASSIGN(const std::vector<double> values, one_release(releases, orders));
    curve.add(values, static_cast<double>(releases.steps));
  }
  return curve;
}

}  // namespace coterie
