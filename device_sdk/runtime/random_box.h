// Where random crops and mixtures of two images are, and in what parts: what chance decides of an augmentation.
#pragma once

#include <cstddef>

#include "base/random.h"
#include "device_sdk/runtime/bilinear_resize.h"

namespace coterie {

// torchvision's RandomResizedCrop: an area of the image's times a uniform part in [scale_min, scale_max], a ratio width
// / height log-uniform in [3/4, 4/3]; after ten that do not fit, the middle, as large as such a ratio allows.
ImageBox random_resized_box(Prng& random, ImageSize image, float scale_min, float scale_max);

// Beta(alpha, alpha), in [0, 1], alpha > 0: of two gamma variables by Marsaglia and Tsang 2000 (A Simple Method for
// Generating Gamma Variables).
double beta_symmetric(Prng& random, double alpha);

// CutMix (Yun et al. 2019): sides sqrt(1 - lambda) of the image's, its centre uniform, cut off at the border. As
// torchvision does it, half of a side is rounded down: the box may be empty.
ImageBox cutmix_box(Prng& random, ImageSize image, double lambda);

}  // namespace coterie
