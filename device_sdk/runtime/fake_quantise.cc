#include "device_sdk/runtime/fake_quantise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device_sdk/runtime/int8/int8_layers.h"

namespace coterie {
namespace {

constexpr float kRangeShare = 0.1f;  // of the way to a narrower batch

struct WeightSettings {
  WeightChannels shape;
  int levels;
};

void describe_weight(const WeightSettings& s, SettingsText& text) { text.add("levels", s.levels); }

// visit(channel, i) for each element.
template <typename Visit>
void for_each_weight(const WeightChannels& shape, const Visit& visit) {
  size_t i = 0;
  for (size_t o = 0; o < shape.outer; ++o) {
    for (size_t c = 0; c < shape.channels; ++c) {
      for (size_t k = 0; k < shape.inner; ++k) visit(c, i++);
    }
  }
}

void run_weight(const Step& step, const StepContext&) {
  const auto& s = step.as<WeightSettings>();
  const auto& [w, scales, rounded] = step.take<3>();
  std::fill_n(scales, s.shape.channels, 0.0f);
  // A NaN is no largest, and stays one below.
  for_each_weight(s.shape, [&](size_t c, size_t i) { scales[c] = std::max(scales[c], std::fabs(w[i])); });
  for (size_t c = 0; c < s.shape.channels; ++c) scales[c] = weight_scale(static_cast<double>(scales[c]), s.levels);
  for_each_weight(s.shape, [&](size_t c, size_t i) {
    rounded[i] = scales[c] * static_cast<float>(weight_step(w[i], scales[c], s.levels));
  });
}

constexpr StepKindOf<WeightSettings> kWeightStep{"quantise.weight", run_weight, describe_weight};

struct CountSettings {
  uint64_t count;
};

// A range with a value that is not finite is none: it makes every value NaN, so that the loss says it.
void run_range(const Step& step, const StepContext& context) {
  const auto& [x, state, range] = step.take<3>();
  float low = 0, high = 0;
  context.kernels.least_and_largest(step.as<CountSettings>().count, x, &low, &high);
  const bool is_first = state[2] == 0;
  range[0] = is_first || !(low > state[0]) ? low : state[0] + kRangeShare * (low - state[0]);
  range[1] = is_first || !(high < state[1]) ? high : state[1] + kRangeShare * (high - state[1]);
}

constexpr StepKindOf<CountSettings> kRangeStep{"quantise.range", run_range};

struct StepGrid {
  float scale, zero;
};

StepGrid grid_of(const float* range) {
  if (!std::isfinite(range[0]) || !std::isfinite(range[1])) return {std::numeric_limits<float>::quiet_NaN(), 0};
  const TensorGrid grid = grid_over(static_cast<double>(range[0]), static_cast<double>(range[1]), kNoTensor);
  return {grid.scale, static_cast<float>(grid.zero)};
}

void run_round(const Step& step, const StepContext& context) {
  const auto& [x, range, rounded] = step.take<3>();
  const StepGrid grid = grid_of(range);
  const size_t first = step.part.begin;
  context.kernels.round_onto_grid(step.part.size(), grid.scale, grid.zero, x + first, rounded + first);
}

constexpr StepKindOf<NoSettings> kRoundStep{"quantise.forward", run_round};

void run_keep(const Step& step, const StepContext&) {
  const auto& [range, state] = step.take<2>();
  state[0] = range[0], state[1] = range[1], state[2] = 1;
}

constexpr StepKindOf<NoSettings> kKeepStep{"quantise.keep_range", run_keep};

// Each element by itself, but for the range that all of them read: no link of a chain of steps.
Split by_values(uint64_t count) { return {.units = count, .grain = 1024, .flops = 0}; }

}  // namespace

Result<RoundedTensors> rounded_tensors(const Model& model, QuantisedParts parts) {
  RoundedTensors found;
  if (parts == QuantisedParts::weights) {
    found.weights = int8_weights(model.graph());
    if (found.weights.empty()) {
      return Error(ErrorCode::invalid_argument, "the model has no weight of at least 64 elements to round to int8");
    }
    return found;
  }
  COT_ASSIGN(const Int8Layers layers, int8_layers(model, Int8Stage::trained));
  for (const Int8Layer& layer : layers.layers) {
    if (!layer.is_weighted()) continue;
    const size_t rank = model.graph().tensors[layer.weight].shape.size();
    found.weights.push_back({layer.weight, static_cast<uint32_t>(rank - 1)});
  }
  std::ranges::sort(found.weights, {}, &Int8WeightAxis::tensor);
  const auto again = std::ranges::unique(found.weights, {}, &Int8WeightAxis::tensor);
  found.weights.erase(again.begin(), again.end());
  found.activations = int8_grid_tensors(layers);
  return found;
}

BufferId emit_rounded_weight(Program& program, Phase phase, const WeightChannels& shape, int levels, BufferId weight) {
  const BufferId scales = program.add_planned(shape.channels * sizeof(float));
  const BufferId rounded = program.add_planned(shape.outer * shape.channels * shape.inner * sizeof(float));
  program.emit(phase, kWeightStep, {shape, levels}, {weight, scales, rounded});
  return rounded;
}

void emit_rounded(Program& program, Phase phase, RoundedActivation& a) {
  a.range = program.add_planned(2 * sizeof(float));
  program.emit(phase, kRangeStep, {a.count}, {a.exact, a.state, a.range});
  program.emit(phase, kRoundStep, {}, {a.exact, a.range, a.rounded}, by_values(a.count));
}

void emit_kept_range(Program& program, const RoundedActivation& a) {
  program.emit(Phase::backward, kKeepStep, {}, {a.range, a.state});
  program.last_changes_state(Phase::backward);
}

}  // namespace coterie
