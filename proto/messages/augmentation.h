// Augmentation: what is done to an image before a model is trained on it, as one text says it in jobs, options and
// plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

inline constexpr size_t kAugmentBytesMax = 1024;

// Done in this order, as torchvision's transforms of these names do it (device_sdk/runtime/augment.h has the sources).
struct Augmentation {
  uint32_t resize_height = 0;  // 0: as it is
  uint32_t resize_width = 0;
  float scale_min = 0;           // random_resized_crop: a random part of the image, of so much of its area and of a
  float scale_max = 0;           // ratio in [3/4, 4/3], made as large as the image; 0: none
  uint32_t crop = 0;             // so many zeros around the image, then a random piece of the image's size
  bool flip = false;             // left and right exchanged, every other time by chance
  float brightness = 0;          // colour_jitter, in random order: factors in [max(0, 1 - x), 1 + x],
  float contrast = 0;            // likewise,
  float saturation = 0;          // likewise,
  float hue = 0;                 // and a part of the circle of hues in [-x, x]. Images have values in [0, 1]
  std::vector<float> mean;       // (x - mean) / deviation: a number a channel, one for all channels, or none
  std::vector<float> deviation;  // as many
  float mixup = 0;   // alpha: lambda x_i + (1 - lambda) x_j and the labels alike, lambda of Beta(alpha, alpha); 0: none
  float cutmix = 0;  // alpha: a rectangle of another image, of 1 - lambda of the area, and the labels by the area; 0:
                     // none. With both, each image gets one of them by chance

  bool jitters() const { return brightness > 0 || contrast > 0 || saturation > 0 || hue > 0; }
  bool mixes() const { return mixup > 0 || cutmix > 0; }
  bool moves() const { return scale_max > 0 || crop > 0 || flip; }
  friend bool operator==(const Augmentation&, const Augmentation&) = default;
};

// "resize=32x48,random_resized_crop=0.08:1,crop=4,flip,colour_jitter=0.4:0.4:0.4:0.1,normalise=0.5/0.25,mixup=0.2,
// cutmix=1": any of them in any order, each once; height x width; parts of the area; brightness to hue, the last ones
// may be left out; mean/deviation, the numbers of several channels with colons between them
// ("0.49:0.48:0.45/0.2:0.2:0.2"). Errors: invalid_argument names the part.
Result<Augmentation> parse_augmentation(std::string_view text);

// What an image that a model is judged by goes through as well: resize and normalise.
Augmentation without_chance(const Augmentation& augmentation);

}  // namespace coterie
