#include "tools/model/int8_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device_sdk/runtime/int8_grid.h"
#include "device_sdk/runtime/stored_weights.h"
#include "proto/codec/stored_integers.h"

namespace coterie {
namespace {

constexpr uint32_t kFewBits = 4;
constexpr int kSteps = 61, kStepsOfFewBits = 91;  // 1, .99, ... .4, and to .1

}  // namespace

std::string_view to_string(RangeRule rule) { return rule == RangeRule::min_max ? "min-max" : "least MSE"; }

int16_t integer_on(float value, float scale, uint32_t bits) {
  if (bits == 1) return value < 0 ? -1 : 1;
  return static_cast<int16_t>(weight_step(value, scale, stored_level_max(bits)));
}

StoredWeights to_integers(std::span<const float> values, const Shape& shape, uint32_t tensor, uint32_t axis,
                          RangeRule rule, uint32_t bits) {
  const int levels = stored_level_max(bits);
  const auto channels = static_cast<size_t>(shape[axis]);
  const std::vector<uint32_t> channel = channels_of(shape, axis);
  std::vector<double> largest(channels), sums(channels);
  for (size_t i = 0; i < values.size(); ++i) {
    const double magnitude = std::fabs(static_cast<double>(values[i]));
    largest[channel[i]] = std::max(largest[channel[i]], magnitude);
    sums[channel[i]] += magnitude;
  }
  StoredWeights weights{.form = {.tensor = tensor, .axis = axis, .scales = {}, .bits = bits}, .values = {}};
  const double in_channel = static_cast<double>(values.size()) / static_cast<double>(channels);
  for (size_t c = 0; c < channels; ++c) {
    weights.form.scales.push_back(weight_scale(bits == 1 ? sums[c] / in_channel : largest[c], levels));
  }
  if (rule == RangeRule::least_mse && bits > 1) {
    std::vector<double> best(channels, std::numeric_limits<double>::infinity());
    for (int step = 0; step < (bits <= kFewBits ? kStepsOfFewBits : kSteps); ++step) {
      std::vector<float> scales;
      for (const double end : largest) scales.push_back(weight_scale(end * (1 - .01 * step), levels));
      std::vector<double> lost(channels);
      for (size_t i = 0; i < values.size(); ++i) {
        const float scale = scales[channel[i]];
        const double apart =
            weight_step(values[i], scale, levels) * static_cast<double>(scale) - static_cast<double>(values[i]);
        lost[channel[i]] += apart * apart;
      }
      for (size_t c = 0; c < channels; ++c) {
        if (lost[c] >= best[c]) continue;
        best[c] = lost[c];
        weights.form.scales[c] = scales[c];
      }
    }
  }
  weights.values.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    weights.values.push_back(integer_on(values[i], weights.form.scales[channel[i]], bits));
  }
  return weights;
}

std::vector<float> from_integers(const StoredWeights& weights, const Shape& shape) {
  const std::vector<uint32_t> channel = channels_of(shape, weights.form.axis);
  std::vector<float> values(weights.values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = weights.form.scales[channel[i]] * static_cast<float>(weights.values[i]);
  }
  return values;
}

Int8Weights to_int8(std::span<const float> values, const Shape& shape, uint32_t tensor, uint32_t axis, RangeRule rule,
                    uint32_t bits) {
  const StoredWeights weights = to_integers(values, shape, tensor, axis, rule, bits);
  return {.form = weights.form, .values = {weights.values.begin(), weights.values.end()}};
}

std::vector<float> from_int8(const Int8Weights& weights, const Shape& shape) {
  return from_integers({.form = weights.form, .values = {weights.values.begin(), weights.values.end()}}, shape);
}

Int8Loss loss_of(std::span<const float> exact, std::span<const float> rounded_values) {
  double squares = 0, dot = 0, a = 0, b = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const auto x = static_cast<double>(exact[i]), y = static_cast<double>(rounded_values[i]);
    squares += (x - y) * (x - y);
    dot += x * y;
    a += x * x;
    b += y * y;
  }
  Int8Loss loss{.mean_squared_error = exact.empty() ? 0 : squares / static_cast<double>(exact.size())};
  if (a > 0 && b > 0) loss.cosine = dot / std::sqrt(a * b);
  return loss;
}

}  // namespace coterie
