#include "device_sdk/runtime/bilinear_resize.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace coterie {

BilinearResize::BilinearResize(Size from, Size to, size_t channels)
    : from_(from),
      channels_(channels),
      rows_(taps(from.height, to.height)),
      columns_(taps(from.width, to.width)),
      narrowed_(from.height * to.width * channels) {}

std::vector<BilinearResize::Taps> BilinearResize::taps(size_t from, size_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(1.0, step);
  std::vector<Taps> all;
  for (size_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * step;
    const double last = std::min(std::floor(centre + reach), static_cast<double>(from - 1));
    Taps& taps = all.emplace_back(Taps{static_cast<size_t>(std::max(0.0, std::floor(centre - reach))), {}});
    double sum = 0;
    std::vector<double> weights;
    for (double x = static_cast<double>(taps.first); x <= last; ++x) {
      weights.push_back(std::max(0.0, 1 - std::abs(x + 0.5 - centre) / reach));
      sum += weights.back();
    }
    for (const double weight : weights) taps.weights.push_back(static_cast<float>(weight / sum));
  }
  return all;
}

void BilinearResize::run(std::span<const float> from, std::span<float> to) {
  COT_ASSERT(from.size() == from_.height * from_.width * channels_);
  COT_ASSERT(to.size() == rows_.size() * columns_.size() * channels_);
  const size_t row = columns_.size() * channels_;
  std::fill(narrowed_.begin(), narrowed_.end(), 0.0f);
  for (size_t y = 0; y < from_.height; ++y) {
    for (size_t x = 0; x < columns_.size(); ++x) {
      float* out = &narrowed_[y * row + x * channels_];
      const float* in = &from[(y * from_.width + columns_[x].first) * channels_];
      for (const float weight : columns_[x].weights) {
        for (size_t c = 0; c < channels_; ++c) out[c] += weight * *in++;
      }
    }
  }
  std::fill(to.begin(), to.end(), 0.0f);
  for (size_t y = 0; y < rows_.size(); ++y) {
    float* out = &to[y * row];
    const float* in = &narrowed_[rows_[y].first * row];
    for (const float weight : rows_[y].weights) {
      for (size_t i = 0; i < row; ++i) out[i] += weight * *in++;
    }
  }
}

}  // namespace coterie
