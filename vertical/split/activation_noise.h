// Noise on a row's activations, and what it costs: each row's vector is cut to an L2 norm, put on a grid, and gets
// discrete Gaussian noise. Epsilon is of a whole vector: whatever it was, it could have been any other one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "secure/dp/noise/noise_sampler.h"
#include "vertical/split/split_random.h"
#include "vertical/split/split_settings.h"

namespace coterie::vertical {

constexpr double kActivationDelta = 1e-6;
constexpr double kActivationGrid = 64;  // steps of the grid in activation_clip

class ActivationNoise {
 public:
  // `rows_a_release`: at most. Precondition: hides_features().
  static Result<ActivationNoise> make(const SplitSettings& settings, uint64_t releases_in_all);

  // Changes rows of `width` in place, with noise drawn from `seed` for this draw and step.
  void release(std::span<float> activations, size_t width, const Secret<32>& seed, SplitDraw draw, uint32_t step) const;
  // What a row was multiplied by to have the norm: its gradient is, too. `row` as it was before.
  double factor(std::span<const float> row) const;

 private:
  ActivationNoise(double clip, NoiseSampler sampler) : clip_(clip), sampler_(std::move(sampler)) {}

  double clip_;
  NoiseSampler sampler_;
};

// What a row pays whose vector is released so many times, at kActivationDelta: once an epoch of a training, once a
// prediction.
Result<double> activation_epsilon(const SplitSettings& settings, uint64_t releases);

}  // namespace coterie::vertical
