#include "device_sdk/runtime/ops/folded_norm.h"

#include <cmath>

#include "device_sdk/runtime/ops/in_build.h"

namespace coterie::ops {
namespace {

// w[rows, filters / groups, channels]; filter f / g of group g reads the channels of that group. A weight that ends in
// its filters has one channel and one group here.
struct Settings {
  size_t rows, group_filters, channels, groups;
  float epsilon;

  size_t filters() const { return group_filters * groups; }
  size_t row() const { return group_filters * channels; }
};

void describe(const Settings& s, SettingsText& text) { text.add("epsilon", static_cast<double>(s.epsilon)); }

void run_factors(const Step& step, const StepContext&) {
  const auto& s = step.as<Settings>();
  const auto& [scale, norm_bias, mean, variance, bias, factors, folded_bias] = step.take<7>();
  for (size_t f = 0; f < s.filters(); ++f) {
    const auto value = [f](const float* values) { return static_cast<double>(values[f]); };
    // scale (w x + bias - mean) / sqrt(variance + epsilon) + norm_bias: the factor goes into w, the rest into the bias.
    // In double, so that each is rounded once.
    const double factor = value(scale) / std::sqrt(value(variance) + static_cast<double>(s.epsilon));
    const double above_mean = (bias == nullptr ? 0 : value(bias)) - value(mean);
    factors[f] = static_cast<float>(factor);
    folded_bias[f] = static_cast<float>(above_mean * factor + value(norm_bias));
  }
}

constexpr StepKindOf<Settings> kFactorsStep{"folded_norm.factors", run_factors, describe};

void run_scale(const Step& step, const StepContext&) {
  const auto& s = step.as<Settings>();
  const auto& [w, factors, folded] = step.take<3>();
  const size_t group_channels = s.channels / s.groups;
  for (size_t row = step.part.begin; row < step.part.end; ++row) {
    const float* const from = w + row * s.row();
    float* const to = folded + row * s.row();
    if (s.channels == 1) {
      for (size_t f = 0; f < s.group_filters; ++f) to[f] = from[f] * factors[f];
      continue;
    }
    for (size_t f = 0; f < s.group_filters; ++f) {
      for (size_t c = 0; c < s.channels; ++c) {
        const size_t at = f * s.channels + c;
        to[at] = from[at] * factors[c / group_channels * s.group_filters + f];
      }
    }
  }
}

constexpr StepKindOf<Settings> kScaleStep{"folded_norm.scale", run_scale, describe};

LayerWeights folded_weights(OpBuild& build, Settings s) {
  const OpInfo& norm = *build.folded_norm();
  s.epsilon = std::get<NormAttributes>(norm.attributes).epsilon;
  const uint64_t filter_bytes = s.filters() * kElementBytes;
  const BufferId factors = build.scratch(filter_bytes);
  const LayerWeights folded{build.save(elements(build.input_shape(1)) * kElementBytes), build.prepared(filter_bytes)};
  const auto value = [&](size_t i) { return build.value(norm.inputs[i]); };
  build.emit_prepare(kFactorsStep, s, {value(1), value(2), value(3), value(4), build.input(2), factors, folded.bias});
  build.emit_prepare(kScaleStep, s, {build.input(1), factors, folded.weight}, {.units = s.rows});
  return folded;
}

// Without them there is nothing to fold.
constexpr bool kHasNorms = is_in_build(OpKind::batch_norm);

}  // namespace

LayerWeights layer_weights(OpBuild& build) {
  if (!kHasNorms || build.folded_norm() == nullptr) return {build.input(1), build.input(2)};
  const Shape& w = build.input_shape(1);
  const auto filters = static_cast<size_t>(w.back());
  return folded_weights(build, {elements(w, 0, w.size() - 1), filters, 1, 1, 0});
}

LayerWeights transposed_weights(OpBuild& build, size_t groups) {
  if (!kHasNorms || build.folded_norm() == nullptr) return {build.input(1), build.input(2)};
  const Shape& w = build.input_shape(1);
  return folded_weights(build, {elements(w, 0, 2), static_cast<size_t>(w[2]), static_cast<size_t>(w[3]), groups, 0});
}

BufferId weight_in_backward(const OpBuild& build) {
  return !kHasNorms || build.folded_norm() == nullptr ? build.input(1) : build.saved(0);
}

}  // namespace coterie::ops
