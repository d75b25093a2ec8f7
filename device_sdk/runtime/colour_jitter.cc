#include "device_sdk/runtime/colour_jitter.h"

#include <algorithm>
#include <cmath>

namespace coterie {
namespace {

float within(float value) { return std::clamp(value, 0.0f, 1.0f); }

float grey(const float* pixel, size_t channels) {
  return channels == 1 ? pixel[0] : 0.2989f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
}

struct Hsv {
  float hue, saturation, value;
};

Hsv to_hsv(float r, float g, float b) {
  const float most = std::max({r, g, b}), least = std::min({r, g, b});
  const float range = most - least;
  if (range <= 0) return {0, 0, most};
  const float from_r = (most - r) / range, from_g = (most - g) / range, from_b = (most - b) / range;
  const float sixths = most == r ? from_b - from_g : most == g ? 2 + from_r - from_b : 4 + from_g - from_r;
  return {std::fmod(sixths / 6 + 1, 1.0f), range / most, most};
}

void to_rgb(const Hsv& colour, float* out) {
  const float sixth = std::floor(colour.hue * 6);
  const float past = colour.hue * 6 - sixth;
  const float v = colour.value, s = colour.saturation;
  const float p = within(v * (1 - s)), q = within(v * (1 - s * past)), t = within(v * (1 - s * (1 - past)));
  const float table[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  const float* rgb = table[static_cast<size_t>(sixth) % 6];
  std::copy(rgb, rgb + 3, out);
}

}  // namespace

void adjust_brightness(std::span<float> image, float factor) {
  for (float& x : image) x = within(x * factor);
}

void adjust_contrast(std::span<float> image, size_t channels, float factor) {
  double sum = 0;
  for (size_t i = 0; i < image.size(); i += channels) sum += static_cast<double>(grey(&image[i], channels));
  const auto mean = static_cast<float>(sum * static_cast<double>(channels) / static_cast<double>(image.size()));
  for (float& x : image) x = within(factor * x + (1 - factor) * mean);
}

void adjust_saturation(std::span<float> image, size_t channels, float factor) {
  if (channels == 1) return;
  for (size_t i = 0; i < image.size(); i += channels) {
    const float base = (1 - factor) * grey(&image[i], channels);
    for (size_t c = 0; c < channels; ++c) image[i + c] = within(factor * image[i + c] + base);
  }
}

void adjust_hue(std::span<float> image, size_t channels, float turn) {
  if (channels == 1) return;
  for (size_t i = 0; i < image.size(); i += channels) {
    Hsv colour = to_hsv(image[i], image[i + 1], image[i + 2]);
    colour.hue += turn;
    colour.hue -= std::floor(colour.hue);
    to_rgb(colour, &image[i]);
  }
}

}  // namespace coterie
