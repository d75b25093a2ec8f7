// Changes of an image's colours. Images are float32 height x width x channels with values in [0, 1], and stay so.
//
// Sources: torchvision.transforms.v2.functional adjust_brightness, adjust_contrast, adjust_saturation and adjust_hue of
// float images, with grey = .2989 R + .587 G + .114 B. An image of one channel is grey: it has no saturation and no hue
// to change. Precondition of all: channels is 1 or 3, and divides the image's size.
#pragma once

#include <cstddef>
#include <span>

namespace coterie {

// x * factor.
void adjust_brightness(std::span<float> image, float factor);
// factor * x + (1 - factor) * the mean of the image's grey.
void adjust_contrast(std::span<float> image, size_t channels, float factor);
// factor * x + (1 - factor) * the pixel's grey.
void adjust_saturation(std::span<float> image, size_t channels, float factor);
// The hue, of HSV, goes round by `turn` of the circle.
void adjust_hue(std::span<float> image, size_t channels, float turn);

}  // namespace coterie
