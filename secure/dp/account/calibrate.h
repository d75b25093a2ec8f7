// The least noise for a privacy budget.
#pragma once

#include <functional>

#include "base/result.h"
#include "secure/dp/account/account.h"

namespace coterie {

// What is released if the noise multiplier is that.
using CompositionAt = std::function<Composition(double noise_multiplier)>;

struct Calibration {
  double noise_multiplier = 0;
  PrivacyAccount account;  // of this multiplier: its epsilon is at most the target
};

// By bisection on account_for's epsilon, which falls as the multiplier grows; the multiplier is within 1e-5 of the
// least, and from above. Fails if the target is out of [kEpsilonMin, kEpsilonMax], or not reached within
// account_limits.
Result<Calibration> calibrate_noise(const CompositionAt& at, double target_epsilon, double delta);

// `noise` with another multiplier, its sensitivities kept. A sum of discrete Gaussians gets another sigma for each
// party.
Noise with_multiplier(Noise noise, double noise_multiplier);

}  // namespace coterie
