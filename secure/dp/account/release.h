// What is released, with which noise, how often: the events that an account is made of.
//
// Sensitivity: how far the sum before noise moves when one person's data come, go or (sampling without replacement) are
// replaced. Continuous noise is given as a multiple of it; discrete noise in steps of its grid, with the sensitivity.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "secure/dp/account/sampling.h"

namespace coterie {

// Normal noise; any number of dimensions, L2 sensitivity.
struct GaussianNoise {
  double noise_multiplier = 1;  // standard deviation / L2 sensitivity
};

// Laplace noise on each number, L1 sensitivity.
struct LaplaceNoise {
  double noise_multiplier = 1;  // scale b / L1 sensitivity
};

// Discrete Gaussian: P(k) ~ exp(-k^2 / (2 sigma^2)) on the integers.
struct DiscreteGaussianNoise {
  double sigma = 1;
  double l2_sensitivity = 1;
  bool is_scalar =
      false;  // one integer, not a vector: only then is there a loss distribution, and the sensitivity whole
};

// Discrete Laplace: P(k) ~ exp(-|k| / scale) on the integers.
struct DiscreteLaplaceNoise {
  double scale = 1;
  double l1_sensitivity = 1;  // whole
};

// Skellam: the difference of two Poisson variables of mean variance / 2.
struct SkellamNoise {
  double variance = 1;  // of the sum of all honest parties' shares
  double l1_sensitivity = 1;
  double l2_sensitivity = 1;
};

// The sum of `parties` discrete Gaussians, which is not one, but nearly.
struct DistributedGaussianNoise {
  double local_sigma = 8;
  uint64_t parties = 1;  // honest ones, whose noise is surely in the sum
  uint64_t dimensions = 1;
  double l1_sensitivity = 1;
  double l2_sensitivity = 1;
};

using Noise = std::variant<GaussianNoise, LaplaceNoise, DiscreteGaussianNoise, DiscreteLaplaceNoise, SkellamNoise,
                           DistributedGaussianNoise>;

// "gaussian", "laplace", ...
std::string mechanism_name(const Noise& noise);

// One kind of release, `steps` times, each on the data as the releases before have left them (adaptively).
struct Releases {
  Noise noise;
  Sampling sampling = Sampling::none();
  uint64_t steps = 1;
};

using Composition = std::vector<Releases>;

// Everything within account_limits, numbers finite, and one neighbouring relation for all: Poisson sampling speaks of a
// person who comes or goes, sampling without replacement of one who is replaced.
Status check_composition(const Composition& composition);

// delta within [kDeltaMin, kDeltaMax].
Status check_delta(double delta);

}  // namespace coterie
