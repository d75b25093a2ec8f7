#include "secure/dp/account/release.h"

#include <cmath>

#include "secure/dp/account/limits.h"
#include "secure/dp/account/number_words.h"

namespace coterie {
namespace {

using namespace account_limits;

Error wrong(std::string message) { return Error(ErrorCode::invalid_argument, std::move(message)); }

Status in_range(const char* what, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return wrong(std::string(what) + " must be from " + number_words(low) + " to " + number_words(high) + ", is " +
               number_words(value));
}

Status check_multiplier(double multiplier) {
  return in_range("the noise multiplier (noise over sensitivity)", multiplier, kNoiseMultiplierMin,
                  kNoiseMultiplierMax);
}

Status check_whole(const char* what, double value) {
  COT_TRY(in_range(what, value, 1, kSensitivityMax));
  if (value == std::floor(value)) return {};
  return wrong(std::string(what) + " must be a whole number of grid steps, is " + number_words(value));
}

// Sensitivities of a vector on a grid: L2 <= L1.
Status check_sensitivities(double l1, double l2) {
  COT_TRY(in_range("the L2 sensitivity", l2, 1e-6, kSensitivityMax));
  COT_TRY(in_range("the L1 sensitivity", l1, 1e-6, kSensitivityMax));
  if (l1 >= l2 * (1 - 1e-9)) return {};
  return wrong("the L1 sensitivity cannot be below the L2 sensitivity, " + number_words(l2) + ", is " +
               number_words(l1));
}

Status check_noise(const GaussianNoise& n) { return check_multiplier(n.noise_multiplier); }
Status check_noise(const LaplaceNoise& n) { return check_multiplier(n.noise_multiplier); }

Status check_noise(const DiscreteGaussianNoise& n) {
  COT_TRY(n.is_scalar ? check_whole("the sensitivity of a single number", n.l2_sensitivity)
                      : in_range("the L2 sensitivity", n.l2_sensitivity, 1e-6, kSensitivityMax));
  return check_multiplier(n.sigma / n.l2_sensitivity);
}

Status check_noise(const DiscreteLaplaceNoise& n) {
  COT_TRY(check_whole("the L1 sensitivity of discrete Laplace noise", n.l1_sensitivity));
  return check_multiplier(n.scale / n.l1_sensitivity);
}

Status check_noise(const SkellamNoise& n) {
  COT_TRY(check_sensitivities(n.l1_sensitivity, n.l2_sensitivity));
  COT_TRY(in_range("the variance of Skellam noise", n.variance, 1e-6, kSensitivityMax * kSensitivityMax));
  return check_multiplier(std::sqrt(n.variance) / n.l2_sensitivity);
}

Status check_noise(const DistributedGaussianNoise& n) {
  COT_TRY(check_sensitivities(n.l1_sensitivity, n.l2_sensitivity));
  COT_TRY(in_range("a party's sigma", n.local_sigma, 0.1, kSensitivityMax));
  COT_TRY(in_range("the number of parties", static_cast<double>(n.parties), 1, 1e9));
  COT_TRY(in_range("the number of dimensions", static_cast<double>(n.dimensions), 1, kDimensionsMax));
  return check_multiplier(n.local_sigma * std::sqrt(static_cast<double>(n.parties)) / n.l2_sensitivity);
}

Status check_noise(const TreeNoise& n) { return check_multiplier(n.noise_multiplier); }

}  // namespace

Result<TreeNoise> tree_noise(const TreeSchedule& schedule, double noise_multiplier) {
  COT_ASSIGN(const double squared, tree_squared_sensitivity(schedule));
  return TreeNoise{noise_multiplier, schedule, squared};
}

std::optional<double> gaussian_precision(const Noise& noise) {
  if (const auto* n = std::get_if<GaussianNoise>(&noise)) return 1 / (n->noise_multiplier * n->noise_multiplier);
  const auto* tree = std::get_if<TreeNoise>(&noise);
  if (tree == nullptr) return std::nullopt;
  return tree->squared_sensitivity / (tree->noise_multiplier * tree->noise_multiplier);
}

std::optional<double> rounded_gaussian_precision(const Noise& noise) {
  const auto* n = std::get_if<DiscreteGaussianNoise>(&noise);
  if (n == nullptr || n->is_scalar || n->sigma * n->sigma <= kRounded) return std::nullopt;
  return n->l2_sensitivity * n->l2_sensitivity / (n->sigma * n->sigma - kRounded);
}

std::string mechanism_name(const Noise& noise) {
  constexpr const char* kNames[] = {
      "gaussian", "laplace", "discrete_gaussian", "discrete_laplace", "skellam", "distributed_discrete_gaussian",
      "tree"};
  static_assert(std::size(kNames) == std::variant_size_v<Noise>);
  return kNames[noise.index()];
}

Status check_composition(const Composition& composition) {
  if (composition.empty() || composition.size() > kGroupsMax) {
    return wrong("an account has from 1 to " + std::to_string(kGroupsMax) + " groups of releases, not " +
                 std::to_string(composition.size()));
  }
  bool has_poisson = false;
  bool has_replacement = false;
  for (const Releases& releases : composition) {
    COT_TRY(std::visit([](const auto& noise) { return check_noise(noise); }, releases.noise));
    if (releases.steps < 1 || releases.steps > kStepsMax) {
      return wrong("the number of steps must be from 1 to " + std::to_string(kStepsMax) + ", is " +
                   std::to_string(releases.steps));
    }
    if (std::holds_alternative<TreeNoise>(releases.noise) && releases.sampling.kind() != Sampling::Kind::none) {
      return wrong("a tree of noise is not amplified by sampling: it counts on the separation of a person's steps");
    }
    has_poisson |= releases.sampling.kind() == Sampling::Kind::poisson;
    has_replacement |= releases.sampling.kind() == Sampling::Kind::without_replacement;
  }
  if (has_poisson && has_replacement) {
    return wrong(
        "Poisson sampling and sampling without replacement cannot be in one account: one protects a person who comes "
        "or "
        "goes, the other a person who is replaced; make two accounts");
  }
  return {};
}

Status check_delta(double delta) { return in_range("delta", delta, kDeltaMin, kDeltaMax); }

}  // namespace coterie
