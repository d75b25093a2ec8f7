#include "device_sdk/runtime/bilinear_resize.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace coterie {
namespace {

double reach_of(size_t from, size_t to) { return std::max(1.0, static_cast<double>(from) / static_cast<double>(to)); }

}  // namespace

BilinearResize::BilinearResize(ImageSize from, ImageSize to, size_t channels)
    : from_(from),
      channels_(channels),
      box_{0, 0, from.height, from.width},
      rows_(from.height, to.height),
      columns_(from.width, to.width),
      narrowed_(from.height * to.width * channels) {
  look_at(box_);
}

// Space for the widest there are, those of the whole image.
BilinearResize::Taps::Taps(size_t from, size_t to)
    : most(static_cast<size_t>(2 * reach_of(from, to)) + 2), firsts(to), counts(to), weights(to * most) {}

// The line has `from` pixels; the first of them is the image's pixel `first`.
void BilinearResize::Taps::aim(size_t from, size_t first) {
  const double step = static_cast<double>(from) / static_cast<double>(firsts.size());
  const double reach = reach_of(from, firsts.size());
  const auto weight_of = [&](size_t x, double centre) {
    return std::max(0.0, 1 - std::abs(static_cast<double>(x) + 0.5 - centre) / reach);
  };
  for (size_t i = 0; i < firsts.size(); ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * step;
    const auto begin = static_cast<size_t>(std::max(0.0, std::floor(centre - reach)));
    const size_t end = std::min(from, static_cast<size_t>(std::floor(centre + reach)) + 1);
    COT_ASSERT(end > begin && end - begin <= most);
    // Weights add up to 1 at the image's edges, too, where the triangle is cut off.
    double sum = 0;
    for (size_t x = begin; x < end; ++x) sum += weight_of(x, centre);
    for (size_t x = begin; x < end; ++x) {
      weights[i * most + x - begin] = static_cast<float>(weight_of(x, centre) / sum);
    }
    firsts[i] = first + begin;
    counts[i] = end - begin;
  }
}

void BilinearResize::look_at(const ImageBox& box) {
  COT_ASSERT(box.height > 0 && box.top + box.height <= from_.height);
  COT_ASSERT(box.width > 0 && box.left + box.width <= from_.width);
  box_ = box;
  rows_.aim(box.height, box.top);
  columns_.aim(box.width, box.left);
}

void BilinearResize::run(std::span<const float> from, std::span<float> to) {
  const size_t height = rows_.firsts.size(), width = columns_.firsts.size();
  COT_ASSERT(from.size() == from_.height * from_.width * channels_);
  COT_ASSERT(to.size() == height * width * channels_);
  // Columns first, into narrowed_ [from height, to width, channels], then rows: two passes of few taps.
  const size_t row = width * channels_;
  std::fill(narrowed_.begin(), narrowed_.end(), 0.0f);
  for (size_t y = box_.top; y < box_.top + box_.height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      float* out = &narrowed_[y * row + x * channels_];
      const float* in = &from[(y * from_.width + columns_.firsts[x]) * channels_];
      for (size_t tap = 0; tap < columns_.counts[x]; ++tap) {
        const float weight = columns_.weights[x * columns_.most + tap];
        for (size_t c = 0; c < channels_; ++c) out[c] += weight * *in++;
      }
    }
  }
  std::fill(to.begin(), to.end(), 0.0f);
  for (size_t y = 0; y < height; ++y) {
    float* out = &to[y * row];
    const float* in = &narrowed_[rows_.firsts[y] * row];
    for (size_t tap = 0; tap < rows_.counts[y]; ++tap) {
      const float weight = rows_.weights[y * rows_.most + tap];
      for (size_t i = 0; i < row; ++i) out[i] += weight * *in++;
    }
  }
}

}  // namespace coterie
