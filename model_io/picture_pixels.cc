#include "model_io/picture_pixels.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace coterie {

void turn_grey(Bytes& pixels) {
  for (size_t i = 0; i < pixels.size() / 3; ++i) {
    const uint8_t* rgb = &pixels[3 * i];
    pixels[i] = static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
  }
  pixels.resize(pixels.size() / 3);
}

Bytes resize_pixels(ByteView pixels, ImageSize from, ImageSize to, size_t channels) {
  const std::vector<float> numbers(pixels.begin(), pixels.end());
  std::vector<float> values(to.height * to.width * channels);
  BilinearResize(from, to, channels).run(numbers, values);
  Bytes result;
  result.reserve(values.size());
  for (const float value : values) result.push_back(static_cast<uint8_t>(std::clamp(std::lround(value), 0l, 255l)));
  return result;
}

}  // namespace coterie
