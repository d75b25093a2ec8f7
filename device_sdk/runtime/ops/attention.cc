// attention: q[b, t, d], k[b, s, d], v[b, s, d], optional mask -> y[b, t, d]: softmax(scale q k^T + mask) v,
// each of `heads` heads a part of d.
//
// The kernel takes a mask with all of its t rows of s; one that is broadcast there is written out first.
// Heads and examples that share a mask share its memory. Masks are rarely trained (biases by relative
// position are), so that their gradient is computed by plain loops.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/concat.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

using kernels::AttentionShape;

enum Input : size_t { kQ, kK, kV, kMask };

using MaskSizes = std::array<size_t, 4>;  // examples, heads, queries, keys: all of them or 1

// The shape with ones in front.
MaskSizes mask_sizes(const Shape& mask) {
  MaskSizes sizes{1, 1, 1, 1};
  std::copy(mask.begin(), mask.end(), sizes.end() - static_cast<ptrdiff_t>(mask.size()));
  return sizes;
}

Status check_mask(const Operand& mask, const Shape& scores) {
  COT_TRY(check_rank(mask, "mask", 0, 4));
  Shape written = scores;
  for (size_t i = 0; i < mask.shape.size(); ++i) {
    const size_t axis = 4 - mask.shape.size() + i;
    if (mask.shape[i] != 1 && mask.shape[i] != scores[axis]) {
      return does_not_fit(
          concat({"mask ", to_text(mask.shape), " does not broadcast to the scores' ", to_text(scores)}));
    }
  }
  const MaskSizes sizes = mask_sizes(mask.shape);
  for (size_t axis = 0; axis < 2; ++axis) written[axis] = static_cast<int64_t>(sizes[axis]);
  COT_ASSIGN(const uint64_t count, element_count(written));
  if (count / static_cast<uint64_t>(scores[0]) <= limits::kTensorElementsMax) return {};
  return Error(ErrorCode::too_large, "mask has more than 2^28 elements when it is broadcast");
}

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}, {}, {}, {.is_optional = true}}));
  const char* const names[] = {"query", "key", "value"};
  for (const size_t i : {kQ, kK, kV}) COT_TRY(check_rank(inputs[i], names[i], 3, 3));
  const auto& a = std::get<AttentionAttributes>(op.attributes);
  const Shape &q = inputs[kQ].shape, &k = inputs[kK].shape, &v = inputs[kV].shape;
  if (k != v || k[0] != q[0] || k[2] != q[2]) {
    return does_not_fit(
        concat({"a query of ", to_text(q), " does not fit keys of ", to_text(k), " and values of ", to_text(v)}));
  }
  if (a.heads == 0 || q[2] % a.heads != 0) {
    return does_not_fit(concat({a.heads, " heads do not divide ", q[2], " features"}));
  }
  if (!std::isfinite(a.scale)) return does_not_fit("scale is not finite");
  if (inputs.size() > kMask && inputs[kMask].is_present) {
    COT_TRY(check_mask(inputs[kMask], {q[0], a.heads, q[1], k[1]}));
  }
  return one_output(q);
}

// Counts the products with k and v.
double flops(const OpInfo&, std::span<const Operand> inputs, std::span<const TensorType> outputs) {
  return 4.0 * static_cast<double>(inputs[kK].shape[1]) * static_cast<double>(elements(outputs[0].shape));
}

struct Settings {
  AttentionShape shape;
  MaskSizes mask;

  bool has_whole_mask() const { return mask[2] == shape.queries && mask[3] == shape.keys; }
  uint64_t whole_mask_bytes() const { return mask[0] * mask[1] * shape.queries * shape.keys * sizeof(float); }
  size_t pairs() const { return shape.batch * shape.heads; }
};

Settings settings_of(const OpBuild& build) {
  const auto& a = build.attributes<AttentionAttributes>();
  const Shape &q = build.input_shape(kQ), &k = build.input_shape(kK);
  const auto row = static_cast<size_t>(q[2]), width = row / a.heads;
  Settings s{{.batch = static_cast<size_t>(q[0]),
              .heads = a.heads,
              .queries = static_cast<size_t>(q[1]),
              .keys = static_cast<size_t>(k[1]),
              .width = width,
              .q_stride = row,
              .k_stride = row,
              .v_stride = row,
              .y_stride = row,
              // 1 / sqrt(width), as in Vaswani et al. 2017, where the model does not say another.
              .scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<float>(width)),
              .causal = a.is_causal},
             {1, 1, 1, 1}};
  if (!build.has_input(kMask)) return s;
  s.mask = mask_sizes(build.input_shape(kMask));
  const size_t matrix = s.shape.queries * s.shape.keys;
  s.shape.mask_batch_stride = s.mask[0] == 1 ? 0 : s.mask[1] * matrix;
  s.shape.mask_head_stride = s.mask[1] == 1 ? 0 : matrix;
  return s;
}

void describe(const Settings& s, SettingsText& text) {
  text.add("heads", s.shape.heads).add("scale", static_cast<double>(s.shape.scale)).add(s.shape.causal ? "causal" : "");
}

void run_write_out_mask(const Step& step, const StepContext&) {
  const auto& s = step.as<Settings>();
  const auto& [mask, whole] = step.take<2>();
  const size_t queries = s.shape.queries, keys = s.shape.keys, row = s.mask[3];
  float* to = whole;
  for (size_t matrix = 0; matrix < s.mask[0] * s.mask[1]; ++matrix) {
    for (size_t i = 0; i < queries; ++i, to += keys) {
      const float* from = mask + (matrix * s.mask[2] + (s.mask[2] == 1 ? 0 : i)) * row;
      if (row == 1) std::fill_n(to, keys, *from);
      else std::copy_n(from, keys, to);
    }
  }
}

constexpr StepKindOf<Settings> kWriteOutMaskStep{"attention.write_out_mask", run_write_out_mask, describe};

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [q, k, v, mask, y, log_sums, scratch] = step.take<7>();
  context.kernels.attention_forward(s.shape, step.part, {q, k, v, mask, nullptr, y, log_sums}, scratch);
}

constexpr StepKindOf<Settings> kForwardStep{"attention.forward", run_forward, describe};

void run_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [q, k, v, mask, y, dy, log_sums, dq, dk, dv, scratch] = step.take<11>();
  context.kernels.attention_backward(s.shape, step.part, {q, k, v, mask, nullptr, y, dy, log_sums, dq, dk, dv},
                                     scratch);
}

constexpr StepKindOf<Settings> kBackwardStep{"attention.backward", run_backward, describe};

float dot(size_t n, const float* a, const float* b) {
  float sum = 0;
  for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// The softmax's gradient by its operand, p (dp - p . dp), with p . dp = y . dy; summed where the mask was
// broadcast.
void run_backward_mask(const Step& step, const StepContext&) {
  const auto& settings = step.as<Settings>();
  const AttentionShape& s = settings.shape;
  const auto& [q, k, v, whole, y, dy, log_sums, dmask] = step.take<8>();
  const MaskSizes& sizes = settings.mask;
  std::fill_n(dmask, sizes[0] * sizes[1] * sizes[2] * sizes[3], 0.0f);
  for (size_t pair = 0; pair < s.batch * s.heads; ++pair) {
    const size_t b = pair / s.heads, h = pair % s.heads;
    const float* mask = whole + b * s.mask_batch_stride + h * s.mask_head_stride;
    const size_t matrix = (sizes[0] == 1 ? 0 : b) * sizes[1] + (sizes[1] == 1 ? 0 : h);
    for (size_t i = 0; i < s.queries; ++i) {
      const size_t row = (b * s.queries + i) * s.q_stride + h * s.width;
      const float along = dot(s.width, y + row, dy + row), log_sum = log_sums[pair * s.queries + i];
      float* to = dmask + (matrix * sizes[2] + (sizes[2] == 1 ? 0 : i)) * sizes[3];
      for (size_t j = 0; j < s.visible(i); ++j) {
        const size_t key = (b * s.keys + j) * s.k_stride + h * s.width;
        const float score = s.scale * dot(s.width, q + row, k + key) + mask[i * s.keys + j];
        to[sizes[3] == 1 ? 0 : j] += std::exp(score - log_sum) * (dot(s.width, dy + row, v + key) - along);
      }
    }
  }
}

constexpr StepKindOf<Settings> kBackwardMaskStep{"attention.backward_mask", run_backward_mask, describe};

void forward(OpBuild& build) {
  const Settings s = settings_of(build);
  const BufferId log_sums = build.save(s.shape.log_sums_floats() * sizeof(float));
  BufferId mask = build.input(kMask);
  if (mask != kNoBuffer && !s.has_whole_mask()) {
    mask = build.save(s.whole_mask_bytes());
    build.emit(kWriteOutMaskStep, s, {build.input(kMask), mask});
  }
  build.emit(kForwardStep, s,
             {build.input(kQ), build.input(kK), build.input(kV), mask, build.output(), log_sums,
              build.workspace(kernels::attention_forward_workspace(s.shape))},
             build.split(s.pairs()));
}

void backward(OpBuild& build) {
  const Settings s = settings_of(build);
  const BufferId q = build.input(kQ), k = build.input(kK), v = build.input(kV), y = build.output();
  const BufferId dy = build.output_gradient(), log_sums = build.saved(0);
  const bool is_written_out = build.has_input(kMask) && !s.has_whole_mask();
  const BufferId mask = is_written_out ? build.saved(1) : build.input(kMask);
  if (build.needs_gradient(kMask)) {
    build.emit(kBackwardMaskStep, s, {q, k, v, mask, y, dy, log_sums, build.input_gradient(kMask)});
  }
  if (!build.needs_gradient(kQ) && !build.needs_gradient(kK) && !build.needs_gradient(kV)) return;
  build.emit(kBackwardStep, s,
             {q, k, v, mask, y, dy, log_sums, build.gradient_or_scratch(kQ), build.gradient_or_scratch(kK),
              build.gradient_or_scratch(kV), build.workspace(kernels::attention_backward_workspace(s.shape))},
             build.split(s.pairs()));
}

}  // namespace

const OpRule kAttention{OpKind::attention, infer, flops, forward, backward};

}  // namespace coterie::ops
