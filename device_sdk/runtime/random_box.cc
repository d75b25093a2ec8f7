#include "device_sdk/runtime/random_box.h"

#include <algorithm>
#include <cmath>

namespace coterie {
namespace {

constexpr int kTries = 10;
constexpr double kRatioMin = 3.0 / 4, kRatioMax = 4.0 / 3;

// Gamma(shape, 1), shape > 0.
double gamma_variable(Prng& random, double shape) {
  if (shape < 1) {
    const double rest = 1 - random.uniform();  // in (0, 1]
    return gamma_variable(random, shape + 1) * std::pow(rest, 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    const double u = 1 - random.uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

ImageBox middle(ImageSize image) {
  const double ratio = static_cast<double>(image.width) / static_cast<double>(image.height);
  size_t height = image.height, width = image.width;
  if (ratio < kRatioMin) height = static_cast<size_t>(std::lround(static_cast<double>(width) / kRatioMin));
  else if (ratio > kRatioMax) width = static_cast<size_t>(std::lround(static_cast<double>(height) * kRatioMax));
  return {(image.height - height) / 2, (image.width - width) / 2, height, width};
}

}  // namespace

ImageBox random_resized_box(Prng& random, ImageSize image, float scale_min, float scale_max) {
  const double area = static_cast<double>(image.height) * static_cast<double>(image.width);
  for (int i = 0; i < kTries; ++i) {
    const double part = area * random.uniform(static_cast<double>(scale_min), static_cast<double>(scale_max));
    const double ratio = std::exp(random.uniform(std::log(kRatioMin), std::log(kRatioMax)));
    const auto width = static_cast<size_t>(std::lround(std::sqrt(part * ratio)));
    const auto height = static_cast<size_t>(std::lround(std::sqrt(part / ratio)));
    if (width < 1 || height < 1 || width > image.width || height > image.height) continue;
    const size_t top = random.below(image.height - height + 1);
    return {top, random.below(image.width - width + 1), height, width};
  }
  return middle(image);
}

double beta_symmetric(Prng& random, double alpha) {
  const double a = gamma_variable(random, alpha), b = gamma_variable(random, alpha);
  // Both are 0 where alpha is so small that they round to it: such a variable is 0 or 1.
  return a + b > 0 ? a / (a + b) : random.chance(0.5) ? 1 : 0;
}

ImageBox cutmix_box(Prng& random, ImageSize image, double lambda) {
  const double half = 0.5 * std::sqrt(1 - lambda);
  const size_t x = random.below(image.width), y = random.below(image.height);
  const auto half_width = static_cast<size_t>(half * static_cast<double>(image.width));
  const auto half_height = static_cast<size_t>(half * static_cast<double>(image.height));
  const size_t left = x - std::min(x, half_width), top = y - std::min(y, half_height);
  return {top, left, std::min(image.height, y + half_height) - top, std::min(image.width, x + half_width) - left};
}

}  // namespace coterie
