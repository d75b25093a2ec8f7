// Operators that put tensors together and take parts of them.
#include <algorithm>
#include <map>
#include <numeric>

#include "model_import/interpret/operator.h"
#include "model_import/interpret/parts.h"

namespace coterie::model_import {
namespace {

Result<Outputs> compute_concat(const Call& call) {
  COT_TRY(needs_operands(call, call.node.inputs.size()));
  COT_ASSIGN(Array y, concatenated(call.operands, call.node.integer("axis", 0)));
  return one(std::move(y));
}

// The sizes are an attribute before opset 13, then an operand; without them the parts are equal, where opset 18 lets
// the last be smaller.
Result<Outputs> compute_split(const Call& call) {
  const Array& x = call.operand(0);
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", 0), x.rank()));
  std::vector<int64_t> sizes;
  if (call.opset < 13) sizes = call.node.integers("split");
  else if (call.has(1)) {
    COT_ASSIGN(sizes, integers_of(call.operand(1)));
  }
  if (sizes.empty()) {
    const auto parts = call.node.integer("num_outputs", static_cast<int64_t>(call.node.outputs.size()));
    if (parts < 1 || parts > static_cast<int64_t>(call.node.outputs.size()))
      return bad_form("num_outputs out of range");
    const int64_t size = (x.shape[axis] + parts - 1) / parts;
    sizes.assign(static_cast<size_t>(parts), size);
    sizes.back() = x.shape[axis] - (parts - 1) * size;
  }
  int64_t start = 0;
  Outputs outputs;
  for (const int64_t size : sizes) {
    if (size < 0 || size > x.shape[axis] - start) return bad_form("parts that are larger than the dimension");
    COT_ASSIGN(Array part, part_of(x, axis, start, size, 1));
    outputs.push_back(std::move(part));
    start += size;
  }
  if (start != x.shape[axis]) return bad_form("parts that do not add up to the dimension");
  return outputs;
}

// Starts, ends, axes, steps: negative positions count from the end, and what is beyond it is cut off.
Result<Outputs> compute_slice(const Call& call) {
  COT_TRY(needs_operands(call, 3));
  Array y = call.operand(0);
  COT_ASSIGN(const std::vector<int64_t> starts, integers_of(call.operand(1)));
  COT_ASSIGN(const std::vector<int64_t> ends, integers_of(call.operand(2)));
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) {
    COT_ASSIGN(axes, integers_of(call.operand(3)));
  }
  if (call.has(4)) {
    COT_ASSIGN(steps, integers_of(call.operand(4)));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return bad_form("starts, ends, axes and steps of different lengths");
  for (size_t i = 0; i < axes.size(); ++i) {
    COT_ASSIGN(const size_t axis, axis_of(axes[i], y.rank()));
    const int64_t size = y.shape[axis];
    if (size == 0) continue;
    // No step is longer than the dimension; the numbers beyond are as good as infinite.
    const int64_t step = std::clamp<int64_t>(steps[i], -size - 1, size + 1);
    if (step == 0) return bad_form("a step of 0");
    const auto position = [size](int64_t at) { return at < 0 ? at + size : at; };
    const int64_t least = step < 0 ? -1 : 0, most = step < 0 ? size - 1 : size;
    const int64_t start = std::clamp<int64_t>(position(starts[i]), step < 0 ? 0 : least, most);
    const int64_t end = std::clamp<int64_t>(position(ends[i]), least, most);
    const int64_t apart = step < 0 ? start - end : end - start;
    const int64_t count = apart <= 0 ? 0 : (apart + std::abs(step) - 1) / std::abs(step);
    COT_ASSIGN(y, part_of(y, axis, start, count, step));
  }
  return one(std::move(y));
}

// Pads that are negative cut off.
Result<Outputs> compute_pad(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array& x = call.operand(0);
  const std::string mode = call.node.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge") return unknown_form("mode " + mode);
  COT_ASSIGN(const std::vector<int64_t> pads, integers_of(call.operand(1)));
  std::vector<int64_t> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) {
    COT_ASSIGN(axes, integers_of(call.operand(3)));
  }
  if (pads.size() != 2 * axes.size()) return bad_form("not two pads a dimension");
  if (call.has(2) && call.operand(2).size() != 1) return bad_form("a value that is not one number");
  constexpr int64_t kPadMax = 1 << 30;
  Shape shape = x.shape;
  Index before(x.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    COT_ASSIGN(const size_t axis, axis_of(axes[i], x.rank()));
    if (std::abs(pads[i]) > kPadMax || std::abs(pads[i + axes.size()]) > kPadMax) return bad_form("a pad out of range");
    before[axis] = pads[i];
    shape[axis] += pads[i] + pads[i + axes.size()];
  }
  COT_ASSIGN(Array y, zeros_like(x, shape));
  if (mode != "constant") {
    for (size_t k = 0; k < x.rank(); ++k) {
      const int64_t most = std::max(before[k], shape[k] - x.shape[k] - before[k]);
      if (x.shape[k] < 1 || (mode == "reflect" && most >= x.shape[k])) return bad_form("a pad beyond the operand");
    }
    // Where it lies in the operand: the nearest element, or behind the edge as far as it is before it.
    for_each_index(shape, [&](Index index, size_t i) {
      for (size_t k = 0; k < index.size(); ++k) {
        const int64_t at = index[k] - before[k], last = x.shape[k] - 1;
        index[k] = mode == "edge" ? std::clamp<int64_t>(at, 0, last) : at < 0 ? -at : at > last ? 2 * last - at : at;
      }
      y.values[i] = x.values[offset_of(x.shape, index)];
    });
    return one(std::move(y));
  }
  if (call.has(2)) std::ranges::fill(y.values, call.operand(2).values[0]);
  for_each_index(x.shape, [&](Index index, size_t i) {
    for (size_t k = 0; k < index.size(); ++k) {
      index[k] += before[k];
      if (index[k] < 0 || index[k] >= shape[k]) return;
    }
    y.values[offset_of(shape, index)] = x.values[i];
  });
  return one(std::move(y));
}

// The axis is replaced by the dimensions of the indices.
Result<Outputs> compute_gather(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &x = call.operand(0), &indices = call.operand(1);
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", 0), x.rank()));
  const auto at = static_cast<std::ptrdiff_t>(axis);
  Shape shape(x.shape.begin(), x.shape.begin() + at);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + at + 1, x.shape.end());
  std::vector<int64_t> rows;
  for (const double value : indices.values) {
    const int64_t row = whole(value);
    if (row < -x.shape[axis] || row >= x.shape[axis])
      return bad_form("index " + std::to_string(row) + " of a dimension of " + std::to_string(x.shape[axis]));
    rows.push_back(row < 0 ? row + x.shape[axis] : row);
  }
  COT_ASSIGN(Array y, zeros_like(x, shape));
  const auto more = static_cast<std::ptrdiff_t>(indices.rank());
  for_each_index(shape, [&](const Index& index, size_t i) {
    const Index of_indices(index.begin() + at, index.begin() + at + more);
    Index from(index.begin(), index.begin() + at);
    from.push_back(rows[offset_of(indices.shape, of_indices)]);
    from.insert(from.end(), index.begin() + at + more, index.end());
    y.values[i] = x.values[offset_of(x.shape, from)];
  });
  return one(std::move(y));
}

// The upper or lower triangle of the last two dimensions; the rest is 0.
Result<Outputs> compute_trilu(const Call& call) {
  Array y = call.operand(0);
  if (y.rank() < 2) return bad_form("an operand that is no matrix");
  if (call.has(1) && call.operand(1).size() != 1) return bad_form("a diagonal that is not one number");
  const double diagonal = call.has(1) ? call.operand(1).values[0] : 0;
  const bool is_upper = call.node.integer("upper", 1) != 0;
  for_each_index(y.shape, [&](const Index& index, size_t i) {
    const auto right = static_cast<double>(index.back() - index[index.size() - 2]);
    if (is_upper ? right < diagonal : right > diagonal) y.values[i] = 0;
  });
  return one(std::move(y));
}

}  // namespace

Operator data_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"Concat", compute_concat}, {"Split", compute_split},   {"Slice", compute_slice},
      {"Pad", compute_pad},       {"Gather", compute_gather}, {"Trilu", compute_trilu},
  };
  return entry_of(table, op);
}

}  // namespace coterie::model_import
