// batch_norm: x[.., c], scale[c], bias[c], mean[c], variance[c] -> y[.., c] (Ioffe and Szegedy, 2015).
//
// In training the batch's own mean and variance normalise it, and the running ones in the state follow them; evaluated
// or frozen, the running ones normalise and nothing changes.
//
// What is summed over rows is summed in blocks of rows, and the blocks' sums are put together. The blocks are the same
// for any number of threads, and so are the bits.
#include <algorithm>
#include <cmath>

#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

using kernels::Activation;
using kernels::BatchNormShape;

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  constexpr auto kState = InputRule::Role::state;
  COT_TRY(check_inputs(inputs, {{}, {}, {}, {.role = kState}, {.role = kState}}));
  COT_TRY(check_rank(inputs[0], "input (.. x channels)", 2, 8));
  const Shape& x = inputs[0].shape;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].shape != Shape{x.back()}) {
      return does_not_fit(
          concat({"input ", i, " is ", to_text(inputs[i].shape), ", must have ", x.back(), " channels"}));
    }
  }
  if (op.inputs[3] == op.inputs[4]) return does_not_fit("its mean and its variance are one tensor");
  const auto& a = std::get<NormAttributes>(op.attributes);
  if (!(a.epsilon >= 0)) return does_not_fit("epsilon must be at least 0");
  if (!(a.momentum >= 0 && a.momentum <= 1)) return does_not_fit("momentum must be in [0, 1]");
  return one_output(x);
}

double flops(const OpInfo&, std::span<const Operand>, std::span<const TensorType> outputs) {
  return 4.0 * static_cast<double>(elements(outputs[0].shape));
}

constexpr size_t kBlocksMax = 8, kBlockRowsMin = 64;

struct Settings {
  BatchNormShape shape;
  float epsilon, momentum;
  Activation activation;  // of the ReLU behind

  size_t blocks() const { return std::clamp<size_t>(shape.rows / kBlockRowsMin, 1, kBlocksMax); }
  size_t block_begin(size_t i) const { return shape.rows * i / blocks(); }
  BatchNormShape of(const kernels::Range& rows) const { return {rows.size(), shape.channels, shape.stride}; }
  BatchNormShape block(size_t i) const { return of({block_begin(i), block_begin(i + 1)}); }
  size_t block_at(size_t i) const { return block_begin(i) * shape.stride; }
  uint64_t bytes() const { return shape.channels * sizeof(float); }  // of a number a channel
};

Settings settings_of(const OpBuild& build) {
  const Shape& x = build.input_shape(0);
  const auto& a = build.attributes<NormAttributes>();
  const auto channels = static_cast<size_t>(x.back());
  return {{.rows = elements(x, 0, x.size() - 1), .channels = channels, .stride = channels},
          a.epsilon,
          a.momentum,
          build.activation()};
}

bool uses_batch(const OpBuild& build) {
  return build.is_training() && !build.freezes_statistics() && !build.attributes<NormAttributes>().is_frozen;
}

// Values of each block: its mean, 1 / stddev and, because following with momentum 1 from 0 gives that, its mean and its
// unbiased variance.
enum BlockValue : size_t { kMean, kInverseStddev, kNewMean, kNewVariance, kBlockValues };

void describe_statistics(const Settings& s, SettingsText& text) {
  text.add("epsilon", static_cast<double>(s.epsilon)).add("blocks", s.blocks());
}

void describe_activation(const Settings& s, SettingsText& text) { text.add(s.activation); }

void run_block_statistics(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, blocks] = step.take<2>();
  const size_t channels = s.shape.channels;
  for (size_t i = step.part.begin; i < step.part.end; ++i) {
    float* const values = blocks + i * kBlockValues * channels;
    std::fill_n(values + kNewMean * channels, 2 * channels, 0.0f);
    const kernels::BatchNormRunning<float> from_zero{values + kNewMean * channels, values + kNewVariance * channels,
                                                     1.0f};
    context.kernels.batch_norm_statistics(s.block(i), x + s.block_at(i), s.epsilon, values,
                                          values + kInverseStddev * channels, &from_zero);
  }
}

constexpr StepKindOf<Settings> kBlockStatisticsStep{"batch_norm.block_statistics", run_block_statistics,
                                                    describe_statistics};

// The batch's own: Chan, Golub and LeVeque (1983). The unbiased variance is what the state follows once the loss is
// known to be finite.
void run_join_statistics(const Step& step, const StepContext&) {
  const auto& s = step.as<Settings>();
  const auto& [blocks, mean, inverse_stddev, new_variance] = step.take<4>();
  const size_t channels = s.shape.channels;
  for (size_t c = 0; c < channels; ++c) {
    double count = 0, joined = 0, squares = 0;
    for (size_t i = 0; i < s.blocks(); ++i) {
      const float* const values = blocks + i * kBlockValues * channels + c;
      const double rows = static_cast<double>(s.block(i).rows), delta = static_cast<double>(values[0]) - joined;
      // In double, and in the order of blocks: a difference of nearly equal means would lose its digits in float.
      squares += static_cast<double>(values[kNewVariance * channels]) * (rows - 1) +
                 delta * delta * (count * rows / (count + rows));
      count += rows;
      joined += delta * (rows / count);
    }
    mean[c] = static_cast<float>(joined);
    inverse_stddev[c] = static_cast<float>(1 / std::sqrt(squares / count + static_cast<double>(s.epsilon)));
    new_variance[c] = static_cast<float>(squares / std::max(count - 1, 1.0));
  }
}

constexpr StepKindOf<Settings> kJoinStatisticsStep{"batch_norm.join_statistics", run_join_statistics,
                                                   describe_statistics};

void describe_follow(const Settings& s, SettingsText& text) { text.add("momentum", static_cast<double>(s.momentum)); }

// One row has no unbiased variance; the running one then stays.
void run_follow(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [mean, variance, running_mean, running_variance] = step.take<4>();
  const size_t channels = s.shape.channels;
  context.kernels.scale_in_place(channels, 1 - s.momentum, running_mean);
  context.kernels.add_scaled(channels, s.momentum, mean, running_mean);
  if (s.shape.rows < 2) return;
  context.kernels.scale_in_place(channels, 1 - s.momentum, running_variance);
  context.kernels.add_scaled(channels, s.momentum, variance, running_variance);
}

constexpr StepKindOf<Settings> kFollowStep{"batch_norm.follow", run_follow, describe_follow};

void run_inverse_stddev(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [variance, inverse_stddev] = step.take<2>();
  context.kernels.batch_norm_inverse_stddev(s.shape.channels, variance, s.epsilon, inverse_stddev);
}

constexpr StepKindOf<Settings> kInverseStddevStep{"batch_norm.inverse_stddev", run_inverse_stddev, describe_statistics};

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, mean, inverse_stddev, scale, bias, y] = step.take<6>();
  const size_t at = step.part.begin * s.shape.stride;
  context.kernels.batch_norm_forward(s.of(step.part), x + at, {mean, inverse_stddev, scale, bias}, s.activation,
                                     y + at);
}

constexpr StepKindOf<Settings> kForwardStep{"batch_norm.forward", run_forward, describe_activation};

// Makes dscale and dbias of each block.
void run_block_gradients(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, mean, inverse_stddev, scale, bias, dy, blocks] = step.take<7>();
  for (size_t i = step.part.begin; i < step.part.end; ++i) {
    float* const dscale = blocks + i * 2 * s.shape.channels;
    context.kernels.batch_norm_backward_parameters(s.block(i), x + s.block_at(i), {mean, inverse_stddev, scale, bias},
                                                   s.activation, dy + s.block_at(i), dscale, dscale + s.shape.channels);
  }
}

constexpr StepKindOf<Settings> kBlockGradientsStep{"batch_norm.block_gradients", run_block_gradients,
                                                   describe_activation};

void run_join_gradients(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [blocks, dscale, dbias] = step.take<3>();
  const size_t channels = s.shape.channels;
  std::copy_n(blocks, channels, dscale);
  std::copy_n(blocks + channels, channels, dbias);
  for (size_t i = 1; i < s.blocks(); ++i) {
    context.kernels.accumulate(channels, blocks + i * 2 * channels, dscale);
    context.kernels.accumulate(channels, blocks + (i * 2 + 1) * channels, dbias);
  }
}

constexpr StepKindOf<Settings> kJoinGradientsStep{"batch_norm.join_gradients", run_join_gradients};

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, mean, inverse_stddev, scale, bias, dscale, dbias, dy, dx] = step.take<9>();
  const size_t at = step.part.begin * s.shape.stride;
  context.kernels.batch_norm_backward_input(s.of(step.part), s.shape.rows, x + at, {mean, inverse_stddev, scale, bias},
                                            s.activation, dscale, dbias, dy + at, dx + at);
}

constexpr StepKindOf<Settings> kBackwardInputStep{"batch_norm.backward_input", run_backward_input, describe_activation};

void run_backward_frozen(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, mean, inverse_stddev, scale, bias, dy, dx] = step.take<7>();
  const size_t at = step.part.begin * s.shape.stride;
  context.kernels.batch_norm_backward_frozen(s.of(step.part), x == nullptr ? nullptr : x + at,
                                             {mean, inverse_stddev, scale, bias}, s.activation, dy + at, dx + at);
}

constexpr StepKindOf<Settings> kBackwardFrozenStep{"batch_norm.backward_frozen", run_backward_frozen,
                                                   describe_activation};

// What x is normalised with; 1 / stddev is kept for backward, and of the batch its mean, too.
struct Statistics {
  BufferId mean, inverse_stddev;
};

Statistics emit_statistics(OpBuild& build, const Settings& s) {
  const BufferId inverse_stddev = build.save(s.bytes());
  if (!uses_batch(build)) {
    if (build.is_settled(4)) build.emit_prepare(kInverseStddevStep, s, {build.input(4), inverse_stddev});
    else build.emit(kInverseStddevStep, s, {build.input(4), inverse_stddev});
    return {build.input(3), inverse_stddev};
  }
  const BufferId blocks = build.scratch(s.blocks() * kBlockValues * s.bytes());
  const BufferId mean = build.save(s.bytes()), new_variance = build.scratch(s.bytes());
  build.emit(kBlockStatisticsStep, s, {build.input(0), blocks}, build.split(s.blocks()));
  build.emit(kJoinStatisticsStep, s, {blocks, mean, inverse_stddev, new_variance});
  build.emit_after_loss(kFollowStep, s, {mean, new_variance, build.input(3), build.input(4)});
  return {mean, inverse_stddev};
}

void forward(OpBuild& build) {
  if (build.is_applied_by_producer()) return build.output_is_input();
  const Settings s = settings_of(build);
  const auto [mean, inverse_stddev] = emit_statistics(build, s);
  build.emit(kForwardStep, s, {build.input(0), mean, inverse_stddev, build.input(1), build.input(2), build.output()},
             build.split(s.shape.rows));
  build.may_share(build.output(), build.input(0));
}

void backward(OpBuild& build) {
  if (build.is_undone_by_producer()) return build.pass_gradient(0);
  const Settings s = settings_of(build);
  const bool by_batch = uses_batch(build);
  const BufferId x = build.input(0), scale = build.input(1), bias = build.input(2), dy = build.output_gradient();
  const BufferId inverse_stddev = build.saved(0), mean = by_batch ? build.saved(1) : build.input(3);
  BufferId dscale = build.input_gradient(1), dbias = build.input_gradient(2);
  // dx is computed from both sums when the statistics depend on x.
  if (dscale != kNoBuffer || dbias != kNoBuffer || by_batch) {
    if (dscale == kNoBuffer) dscale = build.scratch(s.bytes());
    if (dbias == kNoBuffer) dbias = build.scratch(s.bytes());
    const BufferId blocks = build.scratch(s.blocks() * 2 * s.bytes());
    build.emit(kBlockGradientsStep, s, {x, mean, inverse_stddev, scale, bias, dy, blocks}, build.split(s.blocks()));
    build.emit(kJoinGradientsStep, s, {blocks, dscale, dbias});
  }
  if (!build.needs_gradient(0)) return;
  const BufferId dx = build.input_gradient(0);
  const BufferId read_x = s.activation == Activation::none ? kNoBuffer : x;  // by frozen statistics
  const Split by_rows = build.split(s.shape.rows);
  if (by_batch) {
    build.emit(kBackwardInputStep, s, {x, mean, inverse_stddev, scale, bias, dscale, dbias, dy, dx}, by_rows);
  } else {
    build.emit(kBackwardFrozenStep, s, {read_x, mean, inverse_stddev, scale, bias, dy, dx}, by_rows);
  }
  build.may_share(dx, dy);
}

}  // namespace

const OpRule kBatchNorm{OpKind::batch_norm, infer, flops, forward, backward};

}  // namespace coterie::ops
