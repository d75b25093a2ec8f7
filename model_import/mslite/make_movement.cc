// Operators that move numbers and compute none.
#include <algorithm>

#include "model_import/mslite/node_maker.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

Status make_reshape(NodeMaker& make) {
  COT_ASSIGN(const std::vector<int64_t> to, make.whole_numbers(1));
  if (to.size() > limits::kModelRankMax) return Error(ErrorCode::too_large, "more than 8 dimensions");
  COT_ASSIGN(const std::string x, make.read(0));
  return make.define(make.node("Reshape", {x, make.constant(to)}));
}

Status make_flatten(NodeMaker& make) {
  COT_ASSIGN(const std::string x, make.read(0));
  return make.define(make.node("Flatten", {x}, {{"axis", make.attributes().axis}}));
}

Status make_squeeze(NodeMaker& make) {
  std::vector<int64_t> axes = make.attributes().axes;
  if (axes.empty()) {
    COT_ASSIGN(const size_t rank, make.rank_of(0));
    for (size_t d = 0; d < rank; ++d) {
      if (make.input(0).shape[d] == 1) axes.push_back(static_cast<int64_t>(d));
    }
  }
  COT_ASSIGN(const std::string x, make.read(0));
  if (axes.empty()) return make.define(make.node("Identity", {x}));
  return make.define(make.node("Squeeze", {x, make.constant(axes)}));
}

Status make_unsqueeze(NodeMaker& make) {
  std::vector<int64_t> axes = make.attributes().axes;
  if (make.op().op == MsliteOp::expand_dims) {
    COT_ASSIGN(axes, make.whole_numbers(1));
  }
  if (axes.empty()) return does_not_fit("it has no axis");
  COT_ASSIGN(const std::string x, make.read(0));
  return make.define(make.node("Unsqueeze", {x, make.constant(axes)}));
}

Status make_transpose(NodeMaker& make) {
  COT_ASSIGN(const std::vector<int64_t> perm, make.whole_numbers(1));
  COT_ASSIGN(const std::string x, make.read(0));
  return make.define(make.node("Transpose", {x}, {{"perm", perm}}));
}

Status make_concat(NodeMaker& make) {
  const bool is_stack = make.op().op == MsliteOp::stack;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < make.input_count(); ++i) {
    COT_ASSIGN(std::string in, make.read(i));
    if (is_stack) in = make.node("Unsqueeze", {in, make.constant({make.attributes().axis})});
    inputs.push_back(in);
  }
  return make.define(make.node("Concat", std::move(inputs), {{"axis", make.attributes().axis}}));
}

Status make_pad(NodeMaker& make) {
  const MsliteAttributes& a = make.attributes();
  COT_ASSIGN(const std::vector<int64_t> given, make.whole_numbers(1));
  COT_ASSIGN(const size_t rank, make.rank_of(0));
  if (given.size() != 2 * rank) return does_not_fit("it needs two numbers of padding a dimension");
  if (make.input_count() > 2) return no_counterpart("a value of padding that is an operand");
  std::vector<int64_t> pads(2 * rank);
  int64_t most = 0;
  for (size_t i = 0; i < rank; ++i) {
    for (size_t side = 0; side < 2; ++side) {
      const int64_t size = given[2 * i + side];
      if (size < 0 || size > limits::kModelDimensionMax) return does_not_fit("its padding is below 0 or above 2^31");
      pads[side * rank + i] = size;
      most = std::max(most, size);
    }
  }
  COT_ASSIGN(const std::string in, make.read(0));
  const std::string sizes = make.constant(pads);
  switch (a.padding) {
    case MslitePadding::constant: return make.define(make.node("Pad", {in, sizes, make.real(a.pad_value)}));
    case MslitePadding::reflect: return make.define(make.node("Pad", {in, sizes}, {{"mode", std::string("reflect")}}));
    case MslitePadding::symmetric: break;
  }
  // By one row, to mirror with the edge is to repeat the edge.
  if (most > 1) return no_counterpart("SYMMETRIC by more than one row; only REFLECT is supported there");
  return make.define(make.node("Pad", {in, sizes}, {{"mode", std::string("edge")}}));
}

Status make_split(NodeMaker& make) {
  const MsliteAttributes& a = make.attributes();
  const size_t parts = make.op().outputs.size();
  if (make.input_count() > 1) return no_counterpart("sizes that are an operand");
  COT_ASSIGN(const size_t rank, make.rank_of(0));
  COT_ASSIGN(const int64_t axis, NodeMaker::axis_within(a.axis, rank));
  const int64_t size = make.input(0).shape[static_cast<size_t>(axis)];
  if (size < 1) return no_counterpart("along a dimension that the file leaves open");
  std::vector<int64_t> sizes = a.sizes;
  if (sizes.empty()) sizes.assign(parts, size / static_cast<int64_t>(parts));
  if (sizes.size() != parts || (a.parts != 0 && a.parts != static_cast<int64_t>(parts))) {
    return does_not_fit("it has " + std::to_string(parts) + " outputs, its attributes say others");
  }
  int64_t from = 0;
  if (sizes.back() == -1) {  // the rest
    sizes.back() = size;
    for (size_t i = 0; i + 1 < parts; ++i) sizes.back() -= sizes[i];
  }
  COT_ASSIGN(const std::string in, make.read(0));
  for (size_t i = 0; i < parts; ++i) {
    if (sizes[i] < 1 || sizes[i] > size - from) return does_not_fit("its parts do not fit the dimension");
    const std::string begin = make.constant({from}), end = make.constant({from + sizes[i]}),
                      along = make.constant({axis});
    COT_TRY(make.define(make.node("Slice", {in, begin, end, along}), i));
    from += sizes[i];
  }
  if (from != size) return does_not_fit("its parts do not fit the dimension");
  return {};
}

Status make_gather(NodeMaker& make) {
  COT_ASSIGN(const std::vector<int64_t> axis, make.whole_numbers(2));
  if (axis.size() != 1) return does_not_fit("it must have one axis");
  COT_ASSIGN(const std::string x, make.read(0));
  COT_ASSIGN(const std::string places, make.read(1));
  return make.define(make.node("Gather", {x, places}, {{"axis", axis[0]}}));
}

// Along each axis, `size` numbers from `begin` on; -1: the rest.
Status make_slice(NodeMaker& make) {
  COT_ASSIGN(const std::vector<int64_t> begin, make.whole_numbers(1));
  COT_ASSIGN(const std::vector<int64_t> size, make.whole_numbers(2));
  std::vector<int64_t> axes = make.attributes().axes;
  for (size_t i = 0; axes.empty() && i < begin.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (axes.size() < begin.size()) {
    axes.clear();
    for (size_t i = 0; i < begin.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (size.size() != begin.size() || axes.size() != begin.size()) {
    return does_not_fit("its begin, size and axes do not fit one another");
  }
  std::vector<int64_t> starts, ends, along;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (size[i] < -1 || size[i] == 0) return does_not_fit("its size is " + std::to_string(size[i]));
    if (begin[i] < 0) return no_counterpart("a begin that is counted from the end");
    if (begin[i] == 0 && size[i] == -1) continue;  // all of it, whatever the batch
    starts.push_back(begin[i]);
    ends.push_back(size[i] == -1 ? INT32_MAX : begin[i] + size[i]);
    along.push_back(axes[i]);
  }
  COT_ASSIGN(const std::string x, make.read(0));
  if (along.empty()) return make.define(make.node("Identity", {x}));
  const std::string s = make.constant(starts), e = make.constant(ends), a = make.constant(along);
  return make.define(make.node("Slice", {x, s, e, a}));
}

// Its axes: with five operands the fourth, else the first ones.
Result<std::vector<int64_t>> sliced_axes(const NodeMaker& make, size_t count, size_t rank) {
  std::vector<int64_t> axes;
  if (make.input_count() > 4) {
    COT_ASSIGN(axes, make.whole_numbers(3));
  }
  for (size_t i = 0; make.input_count() <= 4 && i < count; ++i) axes.push_back(static_cast<int64_t>(i));
  if (axes.size() != count) return does_not_fit("its begin, end, axes and strides do not fit one another");
  for (int64_t& axis : axes) {
    COT_ASSIGN(axis, NodeMaker::axis_within(axis, rank));
  }
  return axes;
}

Status make_strided_slice(NodeMaker& make) {
  const MsliteAttributes& a = make.attributes();
  const bool has_axes = make.input_count() > 4;
  COT_ASSIGN(const std::vector<int64_t> begin, make.whole_numbers(1));
  COT_ASSIGN(const std::vector<int64_t> end, make.whole_numbers(2));
  COT_ASSIGN(const std::vector<int64_t> stride, make.whole_numbers(has_axes ? 4 : 3));
  COT_ASSIGN(const size_t rank, make.rank_of(0));
  const size_t count = begin.size();
  if (count > rank || end.size() != count || stride.size() != count) {
    return does_not_fit("its begin, end and strides do not fit its input");
  }
  COT_ASSIGN(const std::vector<int64_t> along, sliced_axes(make, count, rank));
  std::vector<int64_t> starts, ends, axes, steps, gone;
  for (size_t i = 0; i < count; ++i) {
    // Masks are of dimensions, whichever entry is theirs.
    const auto axis = static_cast<size_t>(along[i]);
    const int64_t size = make.input(0).shape[axis];
    const bool is_one = (a.shrink_mask >> axis & 1) != 0;
    int64_t step = stride[i], from = begin[i], to = end[i];
    if (step == 0) return does_not_fit("its stride is 0");
    const bool from_begin = (a.begin_mask >> axis & 1) != 0, to_end = (a.end_mask >> axis & 1) != 0;
    if (is_one) {
      if (from_begin) from = 0;
      if (size < 1) return no_counterpart("one place of a dimension that the file leaves open");
      if (from < -size || from >= size) {
        return does_not_fit("it takes a place that dimension " + std::to_string(axis) + " has not");
      }
      if (from < 0) from += size;
      to = from + 1;
      step = 1;
      gone.push_back(along[i]);
    } else if (step < 0 && (from_begin || to_end)) {
      return no_counterpart("masks with a stride below 0");
    } else {
      if (from_begin) from = 0;
      if (to_end) to = INT32_MAX;
    }
    if (from == 0 && step == 1 && (to == INT32_MAX || (size > 0 && to >= size))) continue;  // whatever the batch
    starts.push_back(from);
    ends.push_back(to);
    axes.push_back(along[i]);
    steps.push_back(step);
  }
  COT_ASSIGN(std::string y, make.read(0));
  if (!axes.empty()) {
    const std::string s = make.constant(starts), e = make.constant(ends), x = make.constant(axes),
                      t = make.constant(steps);
    y = make.node("Slice", {y, s, e, x, t});
  }
  if (!gone.empty()) y = make.node("Squeeze", {y, make.constant(gone)});
  if (axes.empty() && gone.empty()) y = make.node("Identity", {y});
  return make.define(y);
}

}  // namespace

Result<bool> make_mslite_movement(NodeMaker& make) {
  Status (*family)(NodeMaker&) = nullptr;
  switch (make.op().op) {
    case MsliteOp::reshape: family = make_reshape; break;
    case MsliteOp::flatten: family = make_flatten; break;
    case MsliteOp::squeeze: family = make_squeeze; break;
    case MsliteOp::unsqueeze:
    case MsliteOp::expand_dims: family = make_unsqueeze; break;
    case MsliteOp::transpose: family = make_transpose; break;
    case MsliteOp::concat:
    case MsliteOp::stack: family = make_concat; break;
    case MsliteOp::pad: family = make_pad; break;
    case MsliteOp::split: family = make_split; break;
    case MsliteOp::gather: family = make_gather; break;
    case MsliteOp::slice: family = make_slice; break;
    case MsliteOp::strided_slice: family = make_strided_slice; break;
    default: return false;
  }
  COT_TRY(family(make));
  return true;
}

}  // namespace coterie::model_import
