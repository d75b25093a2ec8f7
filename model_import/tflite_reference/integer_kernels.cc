// What the reference kernels define in integers: sums of products, sums, products, slopes, pools, changes of grid.
#include <algorithm>
#include <cmath>

#include "model_import/tflite_reference/broadcast.h"
#include "model_import/tflite_reference/fixed_point.h"
#include "model_import/tflite_reference/sums.h"

namespace coterie::model_import {
namespace {

constexpr float kBoundMax = 1e9f;               // steps: beyond every type
constexpr int64_t kBiasMax = int64_t{1} << 60;  // a sum of products has fewer bits

double wide(float scale) { return static_cast<double>(scale); }
float scale_of(const TfliteTensor& tensor) { return tensor.grid.scales[0]; }
int64_t zero_of(const TfliteTensor& tensor) { return tensor.grid.zeros[0]; }

// The range of the output's type, and of its activation.
IntegerRange bounds_of(const TfliteTensor& y, TfliteActivation activation) {
  IntegerRange range = range_of(y.type);
  const auto at = [&](float real) {
    return zero_of(y) + static_cast<int64_t>(std::clamp(std::round(real / scale_of(y)), -kBoundMax, kBoundMax));
  };
  switch (activation) {
    case TfliteActivation::relu: range.low = std::max(range.low, at(0)); break;
    case TfliteActivation::relu6:
      range.low = std::max(range.low, at(0));
      range.high = std::min(range.high, at(6));
      break;
    case TfliteActivation::relu_n1_to_1:
      range.low = std::max(range.low, at(-1));
      range.high = std::min(range.high, at(1));
      break;
    default: break;
  }
  return range;
}

int64_t bounded(int64_t value, const IntegerRange& range) { return std::min(std::max(value, range.low), range.high); }

std::vector<int64_t> less_zeros(const TfliteTensor& tensor, const TfliteArray& array) {
  std::vector<int64_t> values = array.integers;
  size_t inner = 1;
  for (size_t d = tensor.grid.axis + 1; d < tensor.shape.size(); ++d) inner *= static_cast<size_t>(tensor.shape[d]);
  const size_t places = tensor.grid.zeros.size();
  for (size_t i = 0; i < values.size(); ++i) values[i] -= tensor.grid.zeros[places == 1 ? 0 : i / inner % places];
  return values;
}

Result<TfliteArray> products(const KernelCall& call) {
  const SumPlaces at = sum_places(call.op.op);
  const TfliteTensor &x = call.tensor(at.x), &w = call.tensor(at.w), &y = call.output();
  if (!is_small(x) || !is_small(w)) return bad_form("factors that are no integers of a grid");
  COT_ASSIGN(std::vector<int64_t> sums,
             sums_of<int64_t>(call, {less_zeros(x, call.operand(at.x)), less_zeros(w, call.operand(at.w))}));
  const auto outputs = static_cast<size_t>(y.shape.back());
  const size_t places = w.grid.scales.size();
  if (places != 1 && places != outputs) return bad_form("scales that are not one an output");
  const bool has_bias = call.op.op != TfliteOp::batch_matmul && call.has(at.bias);
  if (has_bias && call.operand(at.bias).integers.size() != outputs)
    return bad_form("a bias that is not one integer an output");
  // A dense layer's two scales are multiplied in float32, a convolution's in double.
  const bool is_dense = call.op.op == TfliteOp::fully_connected || call.op.op == TfliteOp::batch_matmul;
  std::vector<FixedPoint> factors;
  for (const float scale : w.grid.scales) {
    const double product = is_dense && places == 1 ? wide(scale_of(x) * scale) : wide(scale_of(x)) * wide(scale);
    factors.push_back(fixed_point(product / wide(scale_of(y))));
  }
  const bool is_wide = x.type == TfliteType::int16 && (call.op.op == TfliteOp::transpose_conv ||
                                                       (has_bias && call.tensor(at.bias).type == TfliteType::int64));
  const IntegerRange range = bounds_of(y, call.op.options.activation);
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t to = i % outputs;
    const int64_t bias = has_bias ? call.operand(at.bias).integers[to] : 0;
    if (bias < -kBiasMax || bias > kBiasMax) return bad_form("a bias beyond 2^60");
    const int64_t sum = sums[i] + bias;
    const FixedPoint by = factors[places == 1 ? 0 : to];
    sums[i] = bounded((is_wide ? scaled_wide(sum, by) : scaled(static_cast<int32_t>(sum), by)) + zero_of(y), range);
  }
  return TfliteArray{.shape = y.shape, .reals = {}, .integers = std::move(sums)};
}

// Sums and differences: both operands on a finer grid that has room for both.
Result<TfliteArray> added(const KernelCall& call) {
  const TfliteTensor &a = call.tensor(0), &b = call.tensor(1), &y = call.output();
  const int left = y.type == TfliteType::int16 ? 15 : 20;
  const double widest = 2 * wide(std::max(scale_of(a), scale_of(b)));
  const FixedPoint by_a = fixed_point(wide(scale_of(a)) / widest), by_b = fixed_point(wide(scale_of(b)) / widest);
  const FixedPoint by_y = fixed_point(widest / (static_cast<double>(1 << left) * wide(scale_of(y))));
  const int sign = call.op.op == TfliteOp::sub ? -1 : 1;
  const IntegerRange range = bounds_of(y, call.op.options.activation);
  return broadcast(call, [&](int64_t p, int64_t q) {
    const auto fine = [&](int64_t value, const TfliteTensor& from, FixedPoint by) {
      return scaled(static_cast<int32_t>((value - zero_of(from)) * (int64_t{1} << left)), by);
    };
    const int32_t sum = fine(p, a, by_a) + sign * fine(q, b, by_b);
    return bounded(scaled(sum, by_y) + zero_of(y), range);
  });
}

Result<TfliteArray> multiplied(const KernelCall& call) {
  const TfliteTensor &a = call.tensor(0), &b = call.tensor(1), &y = call.output();
  const FixedPoint by = fixed_point(wide(scale_of(a)) * wide(scale_of(b)) / wide(scale_of(y)));
  const IntegerRange range = bounds_of(y, call.op.options.activation);
  return broadcast(call, [&](int64_t p, int64_t q) {
    const auto product = static_cast<int32_t>((p - zero_of(a)) * (q - zero_of(b)));
    return bounded(scaled(product, by) + zero_of(y), range);
  });
}

// Another grid, with another factor below zero.
TfliteArray regridded(const KernelCall& call, FixedPoint above, FixedPoint below, const IntegerRange& range) {
  TfliteArray y{.shape = call.output().shape, .reals = {}, .integers = {}};
  for (const int64_t value : call.operand(0).integers) {
    const auto x = static_cast<int32_t>(value - zero_of(call.tensor(0)));
    y.integers.push_back(bounded(int64_t{scaled(x, x >= 0 ? above : below)} + zero_of(call.output()), range));
  }
  return y;
}

TfliteArray regridded(const KernelCall& call) {
  const TfliteTensor &x = call.tensor(0), &y = call.output();
  IntegerRange range = range_of(y.type);
  switch (call.op.op) {
    case TfliteOp::leaky_relu: {
      const float alpha = call.op.options.alpha;
      return regridded(call, fixed_point(wide(scale_of(x) / scale_of(y))),
                       fixed_point(wide(scale_of(x) * alpha / scale_of(y))), range);
    }
    case TfliteOp::relu: range = bounds_of(y, TfliteActivation::relu); break;
    case TfliteOp::relu6: range = bounds_of(y, TfliteActivation::relu6); break;
    case TfliteOp::relu_n1_to_1: range = bounds_of(y, TfliteActivation::relu_n1_to_1); break;
    default: break;
  }
  const FixedPoint by = fixed_point(wide(scale_of(x)) / wide(scale_of(y)));
  return regridded(call, by, by, range);
}

// The mean of what lies inside, ties away from zero, or the largest; both stay on their grid.
Result<TfliteArray> pooled(const KernelCall& call) {
  const Shape& x = call.tensor(0).shape;
  const TfliteOptions& o = call.op.options;
  if (x.size() != 4) return bad_form("a pool that is not of images");
  COT_ASSIGN(const Slide h, slide_of(x[1], o.filter_h, o.stride_h, 1, o.is_same));
  COT_ASSIGN(const Slide v, slide_of(x[2], o.filter_w, o.stride_w, 1, o.is_same));
  TfliteArray y{.shape = {x[0], h.out, v.out, x[3]}, .reals = {}, .integers = {}};
  if (y.shape != call.output().shape) return bad_form("an output of another shape than it computes");
  const IntegerRange range = bounds_of(call.output(), o.activation);
  const bool is_max = call.op.op == TfliteOp::max_pool_2d;
  for (int64_t i = 0; i < x[0] * h.out * v.out * x[3]; ++i) {
    const int64_t c = i % x[3], column = i / x[3] % v.out, row = i / x[3] / v.out % h.out, n = i / x[3] / v.out / h.out;
    const int64_t top = row * h.stride - h.before, first = column * v.stride - v.before;
    int64_t sum = 0, count = 0, most = range_of(call.output().type).low;
    for (int64_t r = std::max<int64_t>(0, top); r < std::min(h.in, top + h.kernel); ++r) {
      for (int64_t s = std::max<int64_t>(0, first); s < std::min(v.in, first + v.kernel); ++s) {
        const int64_t value = call.operand(0).integers[static_cast<size_t>(((n * x[1] + r) * x[2] + s) * x[3] + c)];
        sum += value;
        most = std::max(most, value);
        ++count;
      }
    }
    if (count == 0) return bad_form("a window that lies outside");
    const int64_t mean = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
    y.integers.push_back(bounded(is_max ? most : mean, range));
  }
  return y;
}

}  // namespace

Result<KernelOutputs> compute_integers(const KernelCall& call) {
  if (!is_quantised(call.output()) || call.output().grid.scales.size() != 1 || !(scale_of(call.output()) > 0)) {
    return KernelOutputs{};
  }
  if (is_sum(call.op.op)) return one_output(products(call));
  for (size_t i = 0; i < call.op.inputs.size(); ++i) {
    if (!call.has(i) || !is_quantised(call.tensor(i)) || !(scale_of(call.tensor(i)) > 0)) return KernelOutputs{};
    if (!is_small(call.tensor(i)) && call.op.op != TfliteOp::quantize) return KernelOutputs{};
  }
  switch (call.op.op) {
    case TfliteOp::add:
    case TfliteOp::sub:
      if (call.op.inputs.size() != 2) return bad_form("it needs two operands");
      return one_output(added(call));
    case TfliteOp::mul:
      if (call.op.inputs.size() != 2) return bad_form("it needs two operands");
      return one_output(multiplied(call));
    case TfliteOp::quantize:
    case TfliteOp::relu:
    case TfliteOp::relu6:
    case TfliteOp::relu_n1_to_1:
    case TfliteOp::leaky_relu: return one_output(regridded(call));
    case TfliteOp::average_pool_2d:
    case TfliteOp::max_pool_2d: return one_output(pooled(call));
    default: return KernelOutputs{};
  }
}

}  // namespace coterie::model_import
