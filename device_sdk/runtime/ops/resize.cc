// resize2d: x[b, h, w, c] -> y[b, height, width, c], nearest or bilinear. Source of every formula: ONNX, Resize-18.
#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  COT_TRY(check_rank(inputs[0], "input (batch x height x width x channels)", 4, 4));
  const auto& a = std::get<Resize2dAttributes>(op.attributes);
  if (a.height < 1 || a.width < 1) return does_not_fit("the output has no pixels");
  for (const float scale : {a.scale_h, a.scale_w}) {
    if (!(scale >= 0 && scale <= 1e6f)) return does_not_fit("its scale must be a number from 0 to 10^6");
  }
  if (a.mode > ResizeMode::bilinear || a.coordinates > ResizeCoordinates::asymmetric ||
      a.rounding > ResizeRounding::ceil) {
    return does_not_fit("its mode is unknown");
  }
  return one_output({inputs[0].shape[0], a.height, a.width, inputs[0].shape[3]});
}

double flops(const OpInfo& op, std::span<const Operand>, std::span<const TensorType> outputs) {
  const bool is_bilinear = std::get<Resize2dAttributes>(op.attributes).mode == ResizeMode::bilinear;
  return static_cast<double>(elements(outputs[0].shape)) * (is_bilinear ? 8 : 1);
}

// An output row (or column) is (1 - weight) times input row `low` plus weight times row `high`.
struct Source {
  size_t low, high;
  float weight;
};

struct Settings {
  size_t batch, in_h, in_w, channels;
  std::vector<Source> rows, columns;
};

// Where output position i lies on the input axis, in input positions.
double position(const Resize2dAttributes& a, double i, double in, double out, double scale) {
  switch (a.coordinates) {
    case ResizeCoordinates::half_pixel: return (i + 0.5) / scale - 0.5;
    case ResizeCoordinates::pytorch_half_pixel: return out > 1 ? (i + 0.5) / scale - 0.5 : 0;
    case ResizeCoordinates::align_corners: return out > 1 ? i * (in - 1) / (out - 1) : 0;
    case ResizeCoordinates::asymmetric: return i / scale;
  }
  return i;
}

double rounded(ResizeRounding rounding, double x) {
  switch (rounding) {
    case ResizeRounding::round_prefer_floor: return std::ceil(x - 0.5);
    case ResizeRounding::round_prefer_ceil: return std::floor(x + 0.5);
    case ResizeRounding::floor: return std::floor(x);
    case ResizeRounding::ceil: return std::ceil(x);
  }
  return x;
}

std::vector<Source> sources(const Resize2dAttributes& a, int64_t in, uint32_t out, float given_scale) {
  const double scale =
      given_scale > 0 ? static_cast<double>(given_scale) : static_cast<double>(out) / static_cast<double>(in);
  const double last = static_cast<double>(in - 1);
  std::vector<Source> axis;
  for (uint32_t i = 0; i < out; ++i) {
    const double x = position(a, i, static_cast<double>(in), out, scale);
    if (a.mode == ResizeMode::nearest) {
      const auto at = static_cast<size_t>(std::clamp(rounded(a.rounding, x), 0.0, last));
      axis.push_back({at, at, 0});
    } else {
      const double inside = std::clamp(x, 0.0, last), low = std::floor(inside);
      axis.push_back(
          {static_cast<size_t>(low), static_cast<size_t>(std::min(low + 1, last)), static_cast<float>(inside - low)});
    }
  }
  return axis;
}

Settings settings_of(const OpBuild& build) {
  const auto& a = build.attributes<Resize2dAttributes>();
  const Shape& x = build.input_shape(0);
  return {static_cast<size_t>(x[0]),
          static_cast<size_t>(x[1]),
          static_cast<size_t>(x[2]),
          static_cast<size_t>(x[3]),
          sources(a, x[1], a.height, a.scale_h),
          sources(a, x[2], a.width, a.scale_w)};
}

// Calls visit(x offset, y offset, weight) for the up to four input pixels of each output pixel.
template <typename Visit>
void for_each_pixel(const Settings& s, const Visit& visit) {
  size_t y = 0;
  for (size_t n = 0; n < s.batch; ++n) {
    for (const Source& row : s.rows) {
      for (const Source& column : s.columns) {
        const auto at = [&](size_t h, size_t w, float weight) {
          // Nothing is read with weight 0: nearest has one pixel, and 0 times a NaN beside it would be one.
          if (weight != 0) visit(((n * s.in_h + h) * s.in_w + w) * s.channels, y, weight);
        };
        at(row.low, column.low, (1 - row.weight) * (1 - column.weight));
        at(row.low, column.high, (1 - row.weight) * column.weight);
        at(row.high, column.low, row.weight * (1 - column.weight));
        at(row.high, column.high, row.weight * column.weight);
        y += s.channels;
      }
    }
  }
}

void run_forward(const Step& step, const StepContext&) {
  const auto& s = step.as<Settings>();
  const auto& [from, to] = step.take<2>();
  const float* x = from;
  float* y = to;
  std::fill_n(y, s.batch * s.rows.size() * s.columns.size() * s.channels, 0.0f);
  for_each_pixel(s, [&](size_t at_x, size_t at_y, float weight) {
    for (size_t c = 0; c < s.channels; ++c) y[at_y + c] += weight * x[at_x + c];
  });
}

constexpr StepKindOf<Settings> kForwardStep{"resize2d.forward", run_forward};

void run_backward(const Step& step, const StepContext&) {
  const auto& s = step.as<Settings>();
  const auto& [from, to] = step.take<2>();
  const float* dy = from;
  float* dx = to;
  std::fill_n(dx, s.batch * s.in_h * s.in_w * s.channels, 0.0f);
  for_each_pixel(s, [&](size_t at_x, size_t at_y, float weight) {
    for (size_t c = 0; c < s.channels; ++c) dx[at_x + c] += weight * dy[at_y + c];
  });
}

constexpr StepKindOf<Settings> kBackwardStep{"resize2d.backward", run_backward};

void forward(OpBuild& build) { build.emit(kForwardStep, settings_of(build), {build.input(0), build.output()}); }

void backward(OpBuild& build) {
  build.emit(kBackwardStep, settings_of(build), {build.output_gradient(), build.input_gradient(0)});
}

}  // namespace

const OpRule kResize2d{OpKind::resize2d, infer, flops, forward, backward};

}  // namespace coterie::ops
