// AdaptiveClip: the clip norm follows a quantile of the updates' norms (Andrew, Thakkar, McMahan, Ramaswamy, NeurIPS
// 2021). A pure machine: one step a round.
//
// Each contributor tells one bit, whether its update was within the clip norm; the bits are summed with noise of their
// own, and only that sum comes here.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "proto/messages/clip_rules.h"

namespace coterie {

struct AdaptiveClipOptions {
  double clip_norm_initial = 0.1;  // the paper's start; finite, > 0
  double quantile = 0.5;           // gamma: the share of updates that are not to be clipped, in [0, 1]
  double learning_rate = 0.2;      // eta, in (0, 1]
};

class AdaptiveClip {
 public:
  static Result<AdaptiveClip> make(const AdaptiveClipOptions& options);

  // Stays in [kClipNormMin, kClipNormMax], whatever the noise does.
  double clip_norm() const { return clip_norm_; }

  // C <- C exp(-eta (b - gamma)), b = unclipped_noisy / contributors: what a round of `contributors` updates, at least
  // 1, counted of bits "not clipped", noise included. It may be negative or more than there are; b is cut to [0, 1],
  // which is post-processing. A sum that is not finite is an error, and changes nothing.
  Status step(double unclipped_noisy, uint64_t contributors);

 private:
  explicit AdaptiveClip(const AdaptiveClipOptions& options)
      : options_(options), clip_norm_(options.clip_norm_initial) {}

  AdaptiveClipOptions options_;
  double clip_norm_;
};

// The noise of the updates that leaves room for the bits: with noise multiplier z_delta for the updates, and a standard
// deviation of bits_sigma for the sum of the bits (each moved to +-1/2), both together are as private as one sum with
// `noise_multiplier`: z_delta = (z^-2 - (2 bits_sigma)^-2)^(-1/2). An error unless 2 bits_sigma > noise_multiplier > 0.
// The paper takes bits_sigma = contributors / 20.
Result<double> update_noise_multiplier(double noise_multiplier, double bits_sigma);

}  // namespace coterie
