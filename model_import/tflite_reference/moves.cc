// Operators that move elements: reals and integers alike.
#include <algorithm>
#include <numeric>

#include "model_import/tflite_reference/kernel_call.h"

namespace coterie::model_import {
namespace {

constexpr int64_t kFill = -1;  // instead of an element

// Whole numbers of a constant operand, or of a computed one.
Result<std::vector<int64_t>> numbers(const KernelCall& call, size_t i) {
  if (!call.has(i) || is_real(call.tensor(i).type)) return bad_form("an operand that is no list of whole numbers");
  for (const int64_t number : call.operand(i).integers) {
    if (number < INT32_MIN || number > INT32_MAX) return bad_form("a number that leaves 32 bits");
  }
  return call.operand(i).integers;
}

size_t count_of(const Shape& shape) {
  return static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

// The place of each element of the output along each dimension of the input, by a function of dimension and place.
template <typename Function>
Result<std::vector<int64_t>> sources(const Shape& from, const Shape& to, Function&& place_of) {
  std::vector<int64_t> result(count_of(to));
  for (size_t at = 0; at < result.size(); ++at) {
    int64_t source = 0, step = 1;
    auto rest = static_cast<int64_t>(at);
    for (size_t d = to.size(); d-- > 0;) {
      const int64_t place = place_of(d, rest % to[d]);
      rest /= to[d];
      if (place != kFill && (place < 0 || place >= from[d])) return bad_form("an element that its operand has not");
      if (place == kFill || source == kFill) source = kFill;
      else source += place * step;
      step *= from[d];
    }
    result[at] = source;
  }
  return result;
}

Result<TfliteArray> taken(const KernelCall& call, size_t operand, size_t output, const std::vector<int64_t>& from) {
  const TfliteTensor& tensor = call.output(output);
  COT_ASSIGN(TfliteArray y, zeros_of(tensor));
  if (y.size() != from.size()) return bad_form("an output of another shape than it computes");
  const TfliteArray& x = call.operand(operand);
  if (is_real(tensor.type) != is_real(call.tensor(operand).type))
    return bad_form("an output of another type than its operand");
  const int64_t fill = tensor.grid.is_given() ? tensor.grid.zeros[0] : 0;  // of a real zero
  for (size_t i = 0; i < from.size(); ++i) {
    const auto at = static_cast<size_t>(from[i]);
    if (is_real(tensor.type)) y.reals[i] = from[i] == kFill ? 0 : x.reals.at(at);
    else y.integers[i] = from[i] == kFill ? fill : x.integers.at(at);
  }
  return y;
}

Result<TfliteArray> reshaped(const KernelCall& call) {
  std::vector<int64_t> from(call.operand(0).size());
  std::iota(from.begin(), from.end(), 0);
  return taken(call, 0, 0, from);
}

Result<TfliteArray> transposed(const KernelCall& call) {
  COT_ASSIGN(const std::vector<int64_t> perm, numbers(call, 1));
  const Shape& x = call.tensor(0).shape;
  std::vector<int64_t> sorted = perm, all(x.size());
  std::iota(all.begin(), all.end(), 0);
  std::ranges::sort(sorted);
  if (sorted != all) return bad_form("an order that is none of its dimensions");
  Shape to, steps(x.size(), 1);
  for (size_t d = x.size(); d-- > 1;) steps[d - 1] = steps[d] * x[d];
  for (const int64_t axis : perm) to.push_back(x[static_cast<size_t>(axis)]);
  std::vector<int64_t> from(count_of(to));
  for (size_t at = 0; at < from.size(); ++at) {
    auto rest = static_cast<int64_t>(at);
    for (size_t d = to.size(); d-- > 0;) {
      from[at] += rest % to[d] * steps[static_cast<size_t>(perm[d])];
      rest /= to[d];
    }
  }
  if (to != call.output().shape) return bad_form("an output of another shape than it computes");
  return taken(call, 0, 0, from);
}

Result<TfliteArray> padded(const KernelCall& call) {
  COT_ASSIGN(const std::vector<int64_t> pads, numbers(call, 1));
  const Shape &x = call.tensor(0).shape, &y = call.output().shape;
  if (pads.size() != 2 * x.size() || y.size() != x.size()) return bad_form("paddings that are not two a dimension");
  for (size_t d = 0; d < x.size(); ++d) {
    if (pads[2 * d] < 0 || pads[2 * d + 1] < 0 || y[d] != x[d] + pads[2 * d] + pads[2 * d + 1]) {
      return bad_form("an output of another shape than it computes");
    }
  }
  const bool is_mirror = call.op.op == TfliteOp::mirror_pad;
  const int64_t again = call.op.options.is_symmetric ? 1 : 0;  // the edge is there twice
  COT_ASSIGN(const std::vector<int64_t> from, sources(x, y, [&](size_t d, int64_t place) -> int64_t {
               const int64_t at = place - pads[2 * d];
               if (at >= 0 && at < x[d]) return at;
               if (!is_mirror) return kFill;
               const int64_t mirrored = at < 0 ? -at - again : 2 * x[d] - 2 - at + again;
               return mirrored < 0 ? x[d] : mirrored;  // refused as outside
             }));
  return taken(call, 0, 0, from);
}

Result<TfliteArray> sliced(const KernelCall& call) {
  COT_ASSIGN(const std::vector<int64_t> begin, numbers(call, 1));
  COT_ASSIGN(const std::vector<int64_t> end, numbers(call, 2));
  COT_ASSIGN(const std::vector<int64_t> stride, numbers(call, 3));
  const Shape& x = call.tensor(0).shape;
  const TfliteOptions& o = call.op.options;
  if (begin.size() > x.size() || end.size() != begin.size() || stride.size() != begin.size())
    return bad_form("places that do not fit its operand");
  Shape to, starts(x.size()), steps(x.size(), 1);
  for (size_t d = 0; d < x.size(); ++d) {
    if (d >= begin.size()) {
      to.push_back(x[d]);
      continue;
    }
    const int64_t step = stride[d];
    if (step == 0) return bad_form("a stride of 0");
    const auto bounded = [&](int64_t place) {
      if (place < 0) place += x[d];
      return step > 0 ? std::clamp<int64_t>(place, 0, x[d]) : std::clamp<int64_t>(place, -1, x[d] - 1);
    };
    const bool is_one = (o.shrink_mask >> d & 1) != 0;
    starts[d] = (o.begin_mask >> d & 1) != 0 && !is_one ? (step > 0 ? 0 : x[d] - 1) : bounded(begin[d]);
    steps[d] = step;
    if (is_one) {
      to.push_back(1);
      continue;
    }
    const int64_t stop =
        (o.end_mask >> d & 1) != 0 ? (step > 0 ? x[d] : -1) : bounded(o.end_is_offset ? begin[d] + end[d] : end[d]);
    const int64_t length = step > 0 ? (stop - starts[d] + step - 1) / step : (starts[d] - stop - step - 1) / -step;
    if (length < 1) return bad_form("nothing is left");
    to.push_back(length);
  }
  COT_ASSIGN(const std::vector<int64_t> from,
             sources(x, to, [&](size_t d, int64_t place) { return starts[d] + place * steps[d]; }));
  return taken(call, 0, 0, from);
}

Result<KernelOutputs> split(const KernelCall& call) {
  COT_ASSIGN(const std::vector<int64_t> axis, numbers(call, 0));
  const Shape& x = call.tensor(1).shape;
  const auto rank = static_cast<int64_t>(x.size());
  if (axis.size() != 1 || axis[0] < -rank || axis[0] >= rank) return bad_form("an axis out of range");
  const auto along = static_cast<size_t>(axis[0] < 0 ? axis[0] + rank : axis[0]);
  KernelOutputs outputs;
  int64_t first = 0;
  for (size_t i = 0; i < call.op.outputs.size(); ++i) {
    const Shape& to = call.output(i).shape;
    if (to.size() != x.size()) return bad_form("an output of another rank");
    COT_ASSIGN(const std::vector<int64_t> from,
               sources(x, to, [&](size_t d, int64_t place) { return place + (d == along ? first : 0); }));
    COT_ASSIGN(TfliteArray part, taken(call, 1, i, from));
    outputs.push_back(std::move(part));
    first += to[along];
  }
  return outputs;
}

}  // namespace

Result<KernelOutputs> move_elements(const KernelCall& call) {
  switch (call.op.op) {
    case TfliteOp::reshape:
    case TfliteOp::squeeze: return one_output(reshaped(call));
    case TfliteOp::transpose: return one_output(transposed(call));
    case TfliteOp::pad:
    case TfliteOp::mirror_pad: return one_output(padded(call));
    case TfliteOp::strided_slice: return one_output(sliced(call));
    case TfliteOp::split: return split(call);
    default: return KernelOutputs{};
  }
}

}  // namespace coterie::model_import
