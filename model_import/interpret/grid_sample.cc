// GridSample of images: values at places between the pixels, from -1 to 1.
#include <algorithm>
#include <cmath>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

struct Sampler {
  const Array& x;
  std::string padding;
  bool aligns;

  // Where [-1, 1] lies in pixels.
  double position(double at, int64_t size) const {
    const auto length = static_cast<double>(size);
    return aligns ? (at + 1) / 2 * (length - 1) : ((at + 1) * length - 1) / 2;
  }
  // Back and forth between the edges.
  double reflected(double at, int64_t size) const {
    const double low = aligns ? 0 : -0.5, high = static_cast<double>(size) - (aligns ? 1 : 0.5), range = high - low;
    if (!(range > 0)) return 0;
    const double away = std::fmod(std::fabs(at - low), 2 * range);
    return low + (away > range ? 2 * range - away : away);
  }
  double kept(double at, int64_t size) const {
    if (padding == "border") return std::clamp(at, 0.0, static_cast<double>(size - 1));
    return padding == "reflection" ? reflected(at, size) : at;
  }
  // The pixel (or what the padding says) of plane b, c.
  double pixel(int64_t b, int64_t c, double row, double column) const {
    const int64_t height = x.shape[2], width = x.shape[3];
    const int64_t h = whole(std::nearbyint(kept(row, height))), w = whole(std::nearbyint(kept(column, width)));
    if (h < 0 || w < 0 || h >= height || w >= width) return 0;
    return x.values[offset_of(x.shape, {b, c, h, w})];
  }
};

// Keys' weights of the pixel at `away`, with a = -0.75.
double cubic(double away) {
  constexpr double kA = -0.75;
  const double t = std::fabs(away);
  if (t <= 1) return ((kA + 2) * t - (kA + 3)) * t * t + 1;
  return t < 2 ? ((kA * t - 5 * kA) * t + 8 * kA) * t - 4 * kA : 0;
}

Result<Outputs> compute_grid_sample(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &x = call.operand(0), &grid = call.operand(1);
  if (x.rank() != 4 || grid.rank() != 4) return unknown_form("an operand that is no image");
  if (grid.shape[0] != x.shape[0] || grid.shape[3] != 2)
    return bad_form("a grid that is not [batch, height, width, 2]");
  const std::string mode = call.node.text("mode", call.opset < 20 ? "bilinear" : "linear");
  const bool is_cubic = mode == "bicubic" || mode == "cubic", is_linear = mode == "bilinear" || mode == "linear";
  if (!is_cubic && !is_linear && mode != "nearest") return unknown_form("mode " + mode);
  const Sampler sampler{x, call.node.text("padding_mode", "zeros"), call.node.integer("align_corners", 0) != 0};
  if (sampler.padding != "zeros" && sampler.padding != "border" && sampler.padding != "reflection")
    return unknown_form("padding_mode " + sampler.padding);
  for (const double place : grid.values) {
    if (!std::isfinite(place)) return bad_form("a place that is no number");
  }
  if (x.values.empty()) return bad_form("an operand without elements");
  COT_ASSIGN(Array y, zeros_like(x, {x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]}));
  for_each_index(y.shape, [&](const Index& at, size_t i) {
    const size_t place = offset_of(grid.shape, {at[0], at[2], at[3], 0});
    double column = sampler.position(grid.values[place], x.shape[3]);
    double row = sampler.position(grid.values[place + 1], x.shape[2]);
    if (mode == "nearest") {
      y.values[i] = sampler.pixel(at[0], at[1], std::nearbyint(row), std::nearbyint(column));
      return;
    }
    if (is_linear) {
      row = sampler.kept(row, x.shape[2]);
      column = sampler.kept(column, x.shape[3]);
    }
    const double top = std::floor(row), left = std::floor(column);
    for (int dh = is_cubic ? -1 : 0; dh <= (is_cubic ? 2 : 1); ++dh) {
      for (int dw = is_cubic ? -1 : 0; dw <= (is_cubic ? 2 : 1); ++dw) {
        const double h = top + dh, w = left + dw;
        const double weight =
            is_cubic ? cubic(row - h) * cubic(column - w) : (1 - std::fabs(row - h)) * (1 - std::fabs(column - w));
        if (weight != 0) y.values[i] += weight * sampler.pixel(at[0], at[1], h, w);
      }
    }
  });
  return one(std::move(y));
}

}  // namespace

Operator grid_sample_operator(const std::string& op) { return op == "GridSample" ? compute_grid_sample : nullptr; }

}  // namespace coterie::model_import
