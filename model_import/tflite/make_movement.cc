// Operators that move numbers and compute none.
#include <algorithm>
#include <numeric>

#include "model_import/tflite/graph_maker.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

Error malformed(const std::string& why) { return Error(ErrorCode::malformed, why); }

Status make_reshape(GraphMaker& make) {
  std::vector<int64_t> to = make.op().options.dimensions;
  if (make.op().has(1) && make.input(1).is_constant()) {
    COT_ASSIGN(to, make.whole_numbers(1));
  } else if (to.empty() || make.op().has(1)) {
    to.assign(make.output().shape.begin(), make.output().shape.end());  // computed in the file: what came of it there
  }
  if (to.size() > limits::kModelRankMax) return Error(ErrorCode::too_large, "more than 8 dimensions");
  COT_ASSIGN(const std::string x, make.read(0));
  return make.define(make.node("Reshape", {x, make.constant(to)}));
}

Status make_squeeze(GraphMaker& make) {
  std::vector<int64_t> axes = make.op().options.dimensions;
  const Shape& x = make.input(0).shape;
  for (size_t i = 0; i < x.size() && make.op().options.dimensions.empty(); ++i) {
    if (x[i] == 1) axes.push_back(static_cast<int64_t>(i));
  }
  COT_ASSIGN(const std::string in, make.read(0));
  return make.define(make.node("Squeeze", {in, make.constant(axes)}));
}

Status make_transpose(GraphMaker& make) {
  COT_TRY(make.need_inputs(2));
  COT_ASSIGN(const std::vector<int64_t> perm, make.whole_numbers(1));
  COT_ASSIGN(const std::string in, make.read(0));
  return make.define(make.node("Transpose", {in}, {{"perm", perm}}));
}

Status make_concat(GraphMaker& make) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < make.op().inputs.size(); ++i) {
    COT_TRY(make.need_inputs(i + 1));
    COT_ASSIGN(const std::string in, make.read(i));
    inputs.push_back(in);
  }
  return make.define(make.node("Concat", std::move(inputs), {{"axis", make.op().options.axis}}));
}

Status make_pad(GraphMaker& make) {
  COT_TRY(make.need_inputs(2));
  COT_ASSIGN(const std::vector<int64_t> given, make.whole_numbers(1));
  const size_t rank = make.input(0).shape.size();
  if (given.size() != 2 * rank) return malformed("it needs two numbers of padding a dimension");
  std::vector<int64_t> pads(2 * rank);
  int64_t most = 0;
  for (size_t i = 0; i < rank; ++i) {
    for (size_t side = 0; side < 2; ++side) {
      const int64_t size = given[2 * i + side];
      if (size < 0 || size > limits::kModelDimensionMax) return malformed("its padding is below 0 or above 2^31");
      pads[side * rank + i] = size;
      most = std::max(most, size);
    }
  }
  std::map<std::string, Attribute> attributes;
  if (make.op().op == TfliteOp::mirror_pad) {
    const bool is_symmetric = make.op().options.is_symmetric;
    // By one row, to mirror with the edge is to repeat the edge.
    if (is_symmetric && most > 1) {
      return Error(ErrorCode::invalid_argument, "SYMMETRIC by more than one row; only REFLECT is supported there");
    }
    attributes["mode"] = std::string(is_symmetric ? "edge" : "reflect");
  }
  COT_ASSIGN(const std::string in, make.read(0));
  return make.define(make.node("Pad", {in, make.constant(pads)}, std::move(attributes)));
}

Status make_split(GraphMaker& make) {
  COT_TRY(make.need_inputs(2));
  COT_ASSIGN(const std::vector<int64_t> axis, make.whole_numbers(0));
  const Shape& x = make.input(1).shape;
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t parts = make.op().options.parts;
  if (axis.size() != 1 || axis[0] < -rank || axis[0] >= rank) return malformed("its axis is out of range");
  const auto at = static_cast<size_t>(axis[0] < 0 ? axis[0] + rank : axis[0]);
  if (static_cast<uint64_t>(parts) != make.op().outputs.size() || x[at] % parts != 0) {
    return malformed("it has " + std::to_string(make.op().outputs.size()) + " outputs of a dimension of " +
                     std::to_string(x[at]) + ", its options say " + std::to_string(parts));
  }
  COT_ASSIGN(const std::string in, make.read(1));
  const int64_t size = x[at] / parts;
  for (int64_t i = 0; i < parts; ++i) {
    const std::string from = make.constant({i * size}), to = make.constant({(i + 1) * size}),
                      along = make.constant({static_cast<int64_t>(at)});
    COT_TRY(make.define(make.node("Slice", {in, from, to, along}), static_cast<size_t>(i)));
  }
  return {};
}

Status make_strided_slice(GraphMaker& make) {
  COT_TRY(make.need_inputs(4));
  COT_ASSIGN(const std::vector<int64_t> begin, make.whole_numbers(1));
  COT_ASSIGN(const std::vector<int64_t> end, make.whole_numbers(2));
  COT_ASSIGN(const std::vector<int64_t> stride, make.whole_numbers(3));
  const TfliteOptions& o = make.op().options;
  const Shape& x = make.input(0).shape;
  if (begin.size() > x.size() || end.size() != begin.size() || stride.size() != begin.size()) {
    return malformed("its begin, end and strides do not fit its input");
  }
  std::vector<int64_t> starts, ends, axes, steps, gone;
  for (size_t i = 0; i < begin.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const bool from_begin = (o.begin_mask >> i & 1) != 0, to_end = (o.end_mask >> i & 1) != 0;
    const bool is_one = (o.shrink_mask >> i & 1) != 0;
    int64_t step = stride[i];
    if (step == 0) return malformed("its stride is 0");
    int64_t from = from_begin ? (step > 0 ? 0 : x[i] - 1) : begin[i];
    int64_t to = to_end ? (step > 0 ? x[i] : -x[i] - 1) : o.end_is_offset ? begin[i] + end[i] : end[i];
    if (is_one) {
      if (begin[i] < -x[i] || begin[i] >= x[i])
        return malformed("it takes a place that dimension " + std::to_string(i) + " has not");
      from = begin[i] < 0 ? begin[i] + x[i] : begin[i];
      to = from + 1;
      step = 1;
      gone.push_back(axis);
    }
    if (from == 0 && to >= x[i] && step == 1) continue;  // all of it, whatever the batch
    starts.push_back(from);
    ends.push_back(to);
    axes.push_back(axis);
    steps.push_back(step);
  }
  COT_ASSIGN(std::string y, make.read(0));
  if (!axes.empty()) {
    const std::string s = make.constant(starts), e = make.constant(ends), a = make.constant(axes),
                      t = make.constant(steps);
    y = make.node("Slice", {y, s, e, a, t});
  }
  if (!gone.empty()) y = make.node("Squeeze", {y, make.constant(gone)});
  if (axes.empty() && gone.empty()) y = make.node("Identity", {y});
  return make.define(y);
}

}  // namespace

Result<bool> make_movement(GraphMaker& make) {
  Status (*family)(GraphMaker&) = nullptr;
  switch (make.op().op) {
    case TfliteOp::reshape: family = make_reshape; break;
    case TfliteOp::squeeze: family = make_squeeze; break;
    case TfliteOp::transpose: family = make_transpose; break;
    case TfliteOp::concatenation: family = make_concat; break;
    case TfliteOp::pad:
    case TfliteOp::mirror_pad: family = make_pad; break;
    case TfliteOp::split: family = make_split; break;
    case TfliteOp::strided_slice: family = make_strided_slice; break;
    default: return false;
  }
  COT_TRY(family(make));
  return true;
}

}  // namespace coterie::model_import
