// What a label party does to gradients before it sends them, so that they say less of labels (Li et al. 2022, "Label
// Leakage and Protection in Two-party Split Learning", arXiv 2102.08504).
//
//   max_norm  each row's gradient g gets noise along itself, N(0, (|g|max / |g|)^2 - 1) times g: all have the largest
//             one's expected norm
//   marvell   the noise of each class that makes the two classes' sum of KL divergences least for its power: their
//             Theorem 2. Both classes are taken as normal around their means, each with one variance in all directions
//
// Neither promises an epsilon. They need both classes in a batch: a batch of one class is sent with noise along itself
// (max_norm), and marvell sends it as it is beside max_norm's noise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "secure/crypto/secret.h"
#include "vertical/split/split_settings.h"

namespace coterie::vertical {

// Changes `gradients`, rows of `width`, in place. `labels`: 0 or 1, one a row. Noise is drawn from `seed` for `step`.
void protect_gradients(GradientProtection protection, std::span<float> gradients, size_t width,
                       std::span<const uint8_t> labels, const Secret<32>& seed, uint32_t step);

// Variances of marvell's noise for a class: along the difference of the classes' means, and in each other direction.
struct MarvellNoise {
  double along[2] = {0, 0}, across[2] = {0, 0};
};

// `share`: of rows with label 1. `variance`: of each class's gradients in one direction. `gap`: squared distance of
// their means. `power`: expected squared norm of the noise, over both classes.
MarvellNoise marvell_noise(size_t width, double share, const double (&variance)[2], double gap, double power);

// The sum of both KL divergences of the two classes under such noise: their equation (4).
double sum_of_divergences(size_t width, const double (&variance)[2], double gap, const MarvellNoise& noise);

// Noise power over the squared distance of the means.
constexpr double kMarvellPower = 4;

}  // namespace coterie::vertical
