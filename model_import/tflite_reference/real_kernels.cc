// What is computed in doubles.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "model_import/tflite_reference/broadcast.h"
#include "model_import/tflite_reference/lstm.h"
#include "model_import/tflite_reference/sums.h"

namespace coterie::model_import {
namespace {

using Reals = std::vector<double>;

Result<size_t> axis_of(int64_t axis, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis >= rank) return bad_form("an axis out of range");
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

Result<Reals> products(const KernelCall& call) {
  const SumPlaces at = sum_places(call.op.op);
  COT_ASSIGN(Reals sums, sums_of<double>(call, {call.reals(at.x), call.reals(at.w)}));
  if (call.op.op == TfliteOp::batch_matmul || !call.has(at.bias)) return sums;
  const Reals bias = call.reals(at.bias);
  const auto outputs = static_cast<size_t>(call.output().shape.back());
  if (bias.size() != outputs) return bad_form("a bias that is not one number an output");
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += bias[i % outputs];
  return sums;
}

Result<Reals> arithmetic(const KernelCall& call) {
  if (call.op.inputs.size() != 2) return bad_form("it needs two operands");
  COT_TRY(check_broadcast(call));
  const Reals a = call.reals(0), b = call.reals(1);
  const Shape& to = call.output().shape;
  Reals y(static_cast<size_t>(std::accumulate(to.begin(), to.end(), int64_t{1}, std::multiplies<>())));
  for (size_t i = 0; i < y.size(); ++i) {
    const double p = a[met_by(call.tensor(0).shape, to, i)], q = b[met_by(call.tensor(1).shape, to, i)];
    y[i] = call.op.op == TfliteOp::add ? p + q : call.op.op == TfliteOp::sub ? p - q : p * q;
  }
  return y;
}

Result<Reals> pooled(const KernelCall& call) {
  const Shape& x = call.tensor(0).shape;
  const TfliteOptions& o = call.op.options;
  if (x.size() != 4) return bad_form("a pool that is not of images");
  COT_ASSIGN(const Slide h, slide_of(x[1], o.filter_h, o.stride_h, 1, o.is_same));
  COT_ASSIGN(const Slide v, slide_of(x[2], o.filter_w, o.stride_w, 1, o.is_same));
  const Reals in = call.reals(0);
  Reals y;
  for (int64_t i = 0; i < x[0] * h.out * v.out * x[3]; ++i) {
    const int64_t c = i % x[3], column = i / x[3] % v.out, row = i / x[3] / v.out % h.out, n = i / x[3] / v.out / h.out;
    double sum = 0, most = -HUGE_VAL, count = 0;
    const int64_t top = row * h.stride - h.before, first = column * v.stride - v.before;
    for (int64_t r = std::max<int64_t>(0, top); r < std::min(h.in, top + h.kernel); ++r) {
      for (int64_t s = std::max<int64_t>(0, first); s < std::min(v.in, first + v.kernel); ++s) {
        const double value = in[static_cast<size_t>(((n * x[1] + r) * x[2] + s) * x[3] + c)];
        sum += value;
        most = std::max(most, value);
        ++count;
      }
    }
    y.push_back(call.op.op == TfliteOp::max_pool_2d ? most : sum / count);
  }
  return y;
}

Result<Reals> softmax(const KernelCall& call) {
  Reals y = call.reals(0);
  const auto row = static_cast<size_t>(call.tensor(0).shape.empty() ? 1 : call.tensor(0).shape.back());
  const auto beta = static_cast<double>(call.op.options.beta);
  for (size_t from = 0; from < y.size(); from += row) {
    const std::span<double> part(y.data() + from, row);
    const double most = std::ranges::max(part);
    double sum = 0;
    for (double& value : part) sum += value = std::exp(beta * (value - most));
    for (double& value : part) value /= sum;
  }
  return y;
}

Result<Reals> mean(const KernelCall& call) {
  if (!call.has(1) || is_real(call.tensor(1).type)) return bad_form("axes that are no whole numbers");
  const Shape& x = call.tensor(0).shape;
  std::vector<bool> goes(x.size());
  for (const int64_t given : call.operand(1).integers) {
    COT_ASSIGN(const size_t axis, axis_of(given, x));
    goes[axis] = true;
  }
  size_t kept = 1;
  for (size_t d = 0; d < x.size(); ++d) kept *= goes[d] ? 1 : static_cast<size_t>(x[d]);
  const Reals in = call.reals(0);
  Reals sums(kept);
  for (size_t at = 0; at < in.size(); ++at) {
    size_t to = 0, step = 1, rest = at;
    for (size_t d = x.size(); d-- > 0;) {
      const size_t place = rest % static_cast<size_t>(x[d]);
      rest /= static_cast<size_t>(x[d]);
      if (goes[d]) continue;
      to += place * step;
      step *= static_cast<size_t>(x[d]);
    }
    sums[to] += in[at];
  }
  for (double& sum : sums) sum /= static_cast<double>(in.size()) / static_cast<double>(kept);
  return sums;
}

Result<Reals> joined(const KernelCall& call) {
  const Shape& to = call.output().shape;
  COT_ASSIGN(const size_t axis, axis_of(call.op.options.axis, to));
  size_t outer = 1;
  for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(to[d]);
  std::vector<Reals> parts;
  for (size_t i = 0; i < call.op.inputs.size(); ++i) {
    if (!call.has(i)) return bad_form("an operand is missing");
    parts.push_back(call.reals(i));
    if (call.tensor(i).shape.size() != to.size() || parts.back().size() % outer != 0)
      return bad_form("parts that do not fit");
  }
  Reals y;
  for (size_t row = 0; row < outer; ++row) {
    for (const Reals& part : parts) {
      const auto size = static_cast<std::ptrdiff_t>(part.size() / outer),
                 from = static_cast<std::ptrdiff_t>(row) * size;
      y.insert(y.end(), part.begin() + from, part.begin() + from + size);
    }
  }
  return y;
}

// Along one dimension: the elements between which a place of the output lies, and how far it is from the first.
struct Between {
  size_t first, second;
  double part;
};
Between between(int64_t at, int64_t in, int64_t out, const TfliteOptions& o, bool is_nearest) {
  const double scale = o.aligns_corners && out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1)
                                                   : static_cast<double>(in) / static_cast<double>(out);
  const double shift = o.has_half_pixels ? 0.5 : 0.0;
  const auto last = static_cast<double>(in - 1);
  if (is_nearest) {
    const double place = (static_cast<double>(at) + shift) * scale;
    const double chosen = std::clamp(o.aligns_corners ? std::round(place) : std::floor(place), 0.0, last);
    return {static_cast<size_t>(chosen), static_cast<size_t>(chosen), 0};
  }
  const double place = (static_cast<double>(at) + shift) * scale - shift;
  const double low = std::max(std::floor(place), 0.0), high = std::min(std::ceil(place), last);
  return {static_cast<size_t>(std::min(low, last)), static_cast<size_t>(std::max(high, 0.0)), place - low};
}

Result<Reals> resized(const KernelCall& call) {
  const Shape &x = call.tensor(0).shape, &y = call.output().shape;
  if (x.size() != 4 || y.size() != 4 || x[0] != y[0] || x[3] != y[3]) return bad_form("images that do not fit");
  if (!call.has(1) || call.operand(1).integers != std::vector<int64_t>{y[1], y[2]})
    return bad_form("an output of another size than it says");
  const bool is_nearest = call.op.op == TfliteOp::resize_nearest_neighbor;
  const Reals in = call.reals(0);
  Reals out;
  for (int64_t n = 0; n < y[0]; ++n) {
    for (int64_t row = 0; row < y[1]; ++row) {
      const Between h = between(row, x[1], y[1], call.op.options, is_nearest);
      for (int64_t column = 0; column < y[2]; ++column) {
        const Between v = between(column, x[2], y[2], call.op.options, is_nearest);
        for (size_t c = 0; c < static_cast<size_t>(x[3]); ++c) {
          const auto value = [&](size_t r, size_t s) {
            return in[((static_cast<size_t>(n * x[1]) + r) * static_cast<size_t>(x[2]) + s) *
                          static_cast<size_t>(x[3]) +
                      c];
          };
          out.push_back((value(h.first, v.first) * (1 - v.part) + value(h.first, v.second) * v.part) * (1 - h.part) +
                        (value(h.second, v.first) * (1 - v.part) + value(h.second, v.second) * v.part) * h.part);
        }
      }
    }
  }
  return out;
}

double activated(double x, TfliteActivation activation) {
  switch (activation) {
    case TfliteActivation::relu: return std::max(x, 0.0);
    case TfliteActivation::relu_n1_to_1: return std::clamp(x, -1.0, 1.0);
    case TfliteActivation::relu6: return std::clamp(x, 0.0, 6.0);
    case TfliteActivation::tanh: return std::tanh(x);
    default: return x;
  }
}

Result<Reals> each(const KernelCall& call) {
  Reals y = call.reals(0);
  const auto alpha = static_cast<double>(call.op.options.alpha);
  for (double& x : y) {
    switch (call.op.op) {
      case TfliteOp::relu: x = activated(x, TfliteActivation::relu); break;
      case TfliteOp::relu6: x = activated(x, TfliteActivation::relu6); break;
      case TfliteOp::relu_n1_to_1: x = activated(x, TfliteActivation::relu_n1_to_1); break;
      case TfliteOp::tanh: x = std::tanh(x); break;
      case TfliteOp::logistic: x = 1 / (1 + std::exp(-x)); break;
      case TfliteOp::leaky_relu: x = x >= 0 ? x : alpha * x; break;
      case TfliteOp::hard_swish: x = x * std::clamp(x + 3, 0.0, 6.0) / 6; break;
      default: break;  // QUANTIZE, DEQUANTIZE, CAST: the same number
    }
  }
  return y;
}

Result<Reals> computed(const KernelCall& call) {
  if (is_sum(call.op.op)) return products(call);
  switch (call.op.op) {
    case TfliteOp::add:
    case TfliteOp::sub:
    case TfliteOp::mul: return arithmetic(call);
    case TfliteOp::average_pool_2d:
    case TfliteOp::max_pool_2d: return pooled(call);
    case TfliteOp::softmax: return softmax(call);
    case TfliteOp::mean: return mean(call);
    case TfliteOp::concatenation: return joined(call);
    case TfliteOp::resize_bilinear:
    case TfliteOp::resize_nearest_neighbor: return resized(call);
    case TfliteOp::unidirectional_sequence_lstm: return lstm(call);
    default: return each(call);
  }
}

}  // namespace

Result<std::vector<double>> compute_reals(const KernelCall& call) {
  if (!call.has(0)) return bad_form("its first operand is missing");
  COT_ASSIGN(Reals y, computed(call));
  if (call.op.op != TfliteOp::unidirectional_sequence_lstm) {
    for (double& value : y) value = activated(value, call.op.options.activation);
  }
  return y;
}

}  // namespace coterie::model_import
