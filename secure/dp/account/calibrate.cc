#include "secure/dp/account/calibrate.h"

#include <cmath>

#include "secure/dp/account/limits.h"
#include "secure/dp/account/number_words.h"

namespace coterie {
namespace {

using namespace account_limits;

constexpr double kTolerance = 1e-5;

void set_multiplier(GaussianNoise& n, double z) { n.noise_multiplier = z; }
void set_multiplier(LaplaceNoise& n, double z) { n.noise_multiplier = z; }
void set_multiplier(DiscreteGaussianNoise& n, double z) { n.sigma = z * n.l2_sensitivity; }
void set_multiplier(DiscreteLaplaceNoise& n, double z) { n.scale = z * n.l1_sensitivity; }
void set_multiplier(SkellamNoise& n, double z) { n.variance = z * z * n.l2_sensitivity * n.l2_sensitivity; }
void set_multiplier(DistributedGaussianNoise& n, double z) {
  n.local_sigma = z * n.l2_sensitivity / std::sqrt(static_cast<double>(n.parties));
}

void set_multiplier(TreeNoise& n, double z) { n.noise_multiplier = z; }

}  // namespace

Noise with_multiplier(Noise noise, double noise_multiplier) {
  std::visit([noise_multiplier](auto& n) { set_multiplier(n, noise_multiplier); }, noise);
  return noise;
}

Result<Calibration> calibrate_noise(const CompositionAt& at, double target_epsilon, double delta) {
  if (!(target_epsilon >= kEpsilonMin && target_epsilon <= kEpsilonMax)) {
    return Error(ErrorCode::invalid_argument, "the target epsilon must be from " + number_words(kEpsilonMin) + " to " +
                                                  number_words(kEpsilonMax) + ", is " + number_words(target_epsilon));
  }
  // `low` misses the target (or is below the limits), `best` reaches it.
  Calibration best;
  double low = 0;
  for (double z = 1; best.noise_multiplier == 0; z *= 4) {
    z = std::min(z, kNoiseMultiplierMax);
    COT_ASSIGN(PrivacyAccount account, account_for(at(z), delta));
    if (account.epsilon <= target_epsilon) {
      best = {z, std::move(account)};
    } else if (z == kNoiseMultiplierMax) {
      return Error(ErrorCode::invalid_argument, "epsilon " + number_words(target_epsilon) +
                                                    " is not reached even with a noise multiplier of " +
                                                    number_words(z) + ", where it is " + number_words(account.epsilon) +
                                                    "; release less often, or allow more");
    } else {
      low = z;
    }
  }
  // Only `best` is ever answered, which was seen to reach the target: an accountant that is not monotone in the last
  // digits can make the answer larger than need be, and never too small.
  while (best.noise_multiplier > std::max(low, kNoiseMultiplierMin) * (1 + kTolerance)) {
    const double floor = low > 0 ? low : std::max(kNoiseMultiplierMin, best.noise_multiplier / 16);
    const double middle = low > 0 ? std::sqrt(low * best.noise_multiplier) : floor;
    COT_ASSIGN(PrivacyAccount account, account_for(at(middle), delta));
    if (account.epsilon <= target_epsilon) {
      best = {middle, std::move(account)};
    } else {
      low = middle;
    }
  }
  return best;
}

}  // namespace coterie
