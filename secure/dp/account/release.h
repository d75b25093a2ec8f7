// What is released, with which noise, how often: the events that an account is made of.
//
// Sensitivity: how far the sum before noise moves when one person's data come, go or (sampling without replacement) are
// replaced. Continuous noise is given as a multiple of it; discrete noise in steps of its grid, with the sensitivity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "secure/dp/account/sampling.h"
#include "secure/dp/account/tree.h"

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
  bool is_scalar = false;  // one integer, not a vector: then it has a loss distribution of its own; sensitivity whole
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

// Normal noise on the nodes of one whole tree (tree.h), which is one release. Let tree_noise() make it.
struct TreeNoise {
  double noise_multiplier = 1;  // of a node's noise, over the L2 norm that a person adds to one leaf
  TreeSchedule schedule;
  double squared_sensitivity = 1;  // tree_squared_sensitivity(schedule)
};

using Noise = std::variant<GaussianNoise, LaplaceNoise, DiscreteGaussianNoise, DiscreteLaplaceNoise, SkellamNoise,
                           DistributedGaussianNoise, TreeNoise>;

// invalid_argument for a schedule that tree_squared_sensitivity() does not take.
Result<TreeNoise> tree_noise(const TreeSchedule& schedule, double noise_multiplier);

// 1 / multiplier^2 of normal noise, a whole tree's among them: what adds up over releases without sampling, where they
// are as one with the multiplier 1 / sqrt(sum). Also if each release is chosen by those before it: Denisov et al. 2022
// (arXiv 2202.08312), Theorem 2.1. None for other noise.
std::optional<double> gaussian_precision(const Noise& noise);

// Likewise of the normal noise that a vector of discrete Gaussians is made of (ADR 69): normal noise with kRounded less
// variance, each value then rounded at random by a discrete Gaussian of variance kRounded around it, is discrete
// Gaussian noise but for a factor of 1 +- 2e-34 in the probability of each value (Peikert 2010, Theorem 3.1, with
// Poisson's sum). What is rounded reveals no more. Over all that an account may have, at most 2^40 values a release,
// the factors are within kRoundedSlack: whoever uses this takes so much of delta and adds so much to epsilon.
// None for other noise, for a scalar, which has its exact law, and if the variance is not above kRounded.
std::optional<double> rounded_gaussian_precision(const Noise& noise);
inline constexpr double kRounded = 4;
inline constexpr double kRoundedSlack = 1e-9;

// "gaussian", "laplace", ...
std::string mechanism_name(const Noise& noise);

// One kind of release, `steps` times, each on the data as the releases before have left them (adaptively).
struct Releases {
  Noise noise;
  Sampling sampling = Sampling::none();
  uint64_t steps = 1;
};

using Composition = std::vector<Releases>;

// Everything within account_limits, numbers finite, no sampling of a tree, and one neighbouring relation for all:
// Poisson sampling speaks of a person who comes or goes, sampling without replacement of one who is replaced.
Status check_composition(const Composition& composition);

// delta within [kDeltaMin, kDeltaMax].
Status check_delta(double delta);

}  // namespace coterie
