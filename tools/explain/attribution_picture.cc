#include "tools/explain/attribution_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace coterie {
namespace {

constexpr uint64_t kPanelPixels = 224;  // an image is enlarged by a whole number to about so many
constexpr uint64_t kGap = 8;

using Colour = std::array<uint8_t, 3>;

uint8_t level(double share) { return static_cast<uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0))); }

// A grid of colours, each drawn as `scale` x `scale` pixels.
template <typename ColourAt>
void draw(Picture& picture, uint64_t top, uint64_t left, uint64_t height, uint64_t width, uint64_t scale,
          const ColourAt& colour_at) {
  for (uint64_t y = 0; y < height * scale; ++y) {
    for (uint64_t x = 0; x < width * scale; ++x) {
      const Colour colour = colour_at(y / scale * width + x / scale);
      std::ranges::copy(colour, picture.pixels.begin() +
                                    static_cast<ptrdiff_t>(((top + y) * picture.width + left + x) * colour.size()));
    }
  }
}

// Pixel by pixel: all channels of an attribution added up.
std::vector<double> by_pixel(std::span<const float> values, uint64_t pixels) {
  const uint64_t channels = values.size() / pixels;
  std::vector<double> sums(pixels);
  for (uint64_t i = 0; i < values.size(); ++i) sums[i / channels] += static_cast<double>(values[i]);
  return sums;
}

}  // namespace

Result<Picture> attribution_picture(const Shape& image, std::span<const Explanation> explanations) {
  if (image.size() != 3) {
    return Error(ErrorCode::invalid_argument, "only images [height, width, channels] can be drawn");
  }
  const auto height = static_cast<uint64_t>(image[0]), width = static_cast<uint64_t>(image[1]),
             channels = static_cast<uint64_t>(image[2]), pixels = height * width;
  const uint64_t scale = std::max<uint64_t>(1, kPanelPixels / std::max(height, width));
  const uint64_t row = height * scale + kGap;
  COT_ASSIGN(Picture picture, blank_picture(explanations.size() * row, 2 * width * scale + kGap));
  std::ranges::fill(picture.pixels, uint8_t{255});
  for (size_t i = 0; i < explanations.size(); ++i) {
    const std::vector<float>& input = explanations[i].input;
    const auto [low, high] = std::ranges::minmax(input);
    const double darkest = static_cast<double>(low), span = std::max(static_cast<double>(high) - darkest, 1e-30);
    draw(picture, i * row, 0, height, width, scale, [&](uint64_t pixel) {
      const auto share = [&](uint64_t c) {
        return (static_cast<double>(input[pixel * channels + c]) - darkest) / span;
      };
      if (channels == 3) return Colour{level(share(0)), level(share(1)), level(share(2))};
      double mean = 0;
      for (uint64_t c = 0; c < channels; ++c) mean += share(c) / static_cast<double>(channels);
      return Colour{level(mean), level(mean), level(mean)};
    });
    const std::vector<double> map = by_pixel(explanations[i].attribution.values, pixels);
    double strongest = 0;
    for (const double value : map) strongest = std::max(strongest, std::fabs(value));
    draw(picture, i * row, width * scale + kGap, height, width, scale, [&](uint64_t pixel) {
      const double share = strongest > 0 ? map[pixel] / strongest : 0;
      const uint8_t pale = level(1 - std::fabs(share));
      return share > 0 ? Colour{255, pale, pale} : Colour{pale, pale, 255};
    });
  }
  return picture;
}

}  // namespace coterie
