// Operators that compute each number by itself, or with the numbers of its row.
#include <algorithm>
#include <cmath>

#include "model_import/graph/order.h"
#include "model_import/mslite/node_maker.h"

namespace coterie::model_import {
namespace {

constexpr float kNoFactor = 1e-5f;  // the format's own programs take a smaller factor of a reduction for none

Status make_binary(NodeMaker& make, const char* op) {
  COT_ASSIGN(const std::string a, make.read(0));
  COT_ASSIGN(const std::string b, make.read(1));
  return make.define(make.node(op, {a, b}));
}

Status make_squared_difference(NodeMaker& make) {
  COT_ASSIGN(const std::string a, make.read(0));
  COT_ASSIGN(const std::string b, make.read(1));
  const std::string apart = make.node("Sub", {a, b});
  return make.define(make.node("Mul", {apart, apart}));
}

Status make_activation(NodeMaker& make) {
  const MsliteAttributes& a = make.attributes();
  COT_ASSIGN(const std::string x, make.read(0));
  switch (a.activation) {
    case MsliteActivation::relu: return make.define(make.node("Relu", {x}));
    case MsliteActivation::relu6: return make.define(make.clipped(x, 0, 6));
    case MsliteActivation::sigmoid: return make.define(make.node("Sigmoid", {x}));
    case MsliteActivation::tanh: return make.define(make.node("Tanh", {x}));
    case MsliteActivation::elu: return make.define(make.node("Elu", {x}, {{"alpha", a.alpha}}));
    case MsliteActivation::leaky_relu: return make.define(make.node("LeakyRelu", {x}, {{"alpha", a.alpha}}));
    case MsliteActivation::softplus: return make.define(make.node("Softplus", {x}));
    case MsliteActivation::hard_swish: return make.define(make.node("HardSwish", {x}));
    case MsliteActivation::hard_sigmoid:
      return make.define(make.node("HardSigmoid", {x}, {{"alpha", 1 / 6.f}, {"beta", 0.5f}}));
    case MsliteActivation::hard_tanh:
      if (!(a.least < a.most)) return does_not_fit("its min_val is not below its max_val");
      return make.define(make.clipped(x, a.least, a.most));
    case MsliteActivation::swish: return make.define(make.node("Mul", {x, make.node("Sigmoid", {x})}));
    case MsliteActivation::gelu:
      return make.define(make.node("Gelu", {x}, {{"approximate", std::string(a.is_approximate ? "tanh" : "none")}}));
    case MsliteActivation::none: break;
  }
  return no_counterpart("an activation that does nothing");
}

// x * scale + shift, scale and shift of the dimensions from `axis` on.
Status make_scale(NodeMaker& make) {
  COT_ASSIGN(const size_t rank, make.rank_of(0));
  COT_ASSIGN(const int64_t axis, NodeMaker::axis_within(make.attributes().axis, rank));
  const size_t own = make.input(1).shape.size();
  if (own + static_cast<size_t>(axis) > rank) return does_not_fit("its scale has too many dimensions");
  const auto operand = [&](size_t i) -> Result<std::string> {
    COT_TRY(make.need_rank(i, own));
    Shape shape = make.input(i).shape;
    shape.resize(rank - static_cast<size_t>(axis), 1);
    return make.table(i, identity_order(own), std::move(shape));
  };
  COT_ASSIGN(std::string y, make.read(0));
  COT_ASSIGN(const std::string scale, operand(1));
  y = make.node("Mul", {y, scale});
  if (make.input_count() > 2) {
    COT_ASSIGN(const std::string shift, operand(2));
    y = make.node("Add", {y, shift});
  }
  return make.define(y);
}

Status make_power(NodeMaker& make) {
  const MsliteAttributes& a = make.attributes();
  COT_ASSIGN(std::string x, make.read(0));
  COT_ASSIGN(const std::string exponent, make.read(1));
  if (a.scale != 1) x = make.node("Mul", {x, make.real(a.scale)});
  if (a.shift != 0) x = make.node("Add", {x, make.real(a.shift)});
  return make.define(make.node("Pow", {x, exponent}));
}

Status make_exponential(NodeMaker& make) {
  const MsliteAttributes& a = make.attributes();
  if (a.base != -1) return no_counterpart("a base other than e");
  COT_ASSIGN(std::string x, make.read(0));
  if (a.scale != 1) x = make.node("Mul", {x, make.real(a.scale)});
  if (a.shift != 0) x = make.node("Add", {x, make.real(a.shift)});
  return make.define(make.node("Exp", {x}));
}

Status make_softmax(NodeMaker& make, const char* op, int64_t axis) {
  COT_ASSIGN(const std::string x, make.read(0));
  return make.define(make.node(op, {x}, {{"axis", axis}}));
}

const char* reduction_of(MsliteReduction reduction) {
  switch (reduction) {
    case MsliteReduction::mean: return "ReduceMean";
    case MsliteReduction::max: return "ReduceMax";
    case MsliteReduction::min: return "ReduceMin";
    case MsliteReduction::product: return "ReduceProd";
    case MsliteReduction::sum: return "ReduceSum";
    case MsliteReduction::sum_of_squares: return "ReduceSumSquare";
    case MsliteReduction::sum_of_magnitudes: return "ReduceL1";
    case MsliteReduction::l2: return "ReduceL2";
  }
  return "ReduceMean";
}

Result<std::vector<int64_t>> reduced_axes(const NodeMaker& make, size_t rank) {
  std::vector<int64_t> axes;
  if (make.input_count() > 1) {
    COT_ASSIGN(axes, make.whole_numbers(1));
  }
  for (int64_t& axis : axes) {
    COT_ASSIGN(axis, NodeMaker::axis_within(axis, rank));
  }
  if (make.attributes().goes_to_end) {
    if (axes.size() != 1) return does_not_fit("it must have one axis, to reduce from there to the end");
    for (int64_t next = axes[0] + 1; next < static_cast<int64_t>(rank); ++next) axes.push_back(next);
  }
  for (size_t d = 0; axes.empty() && d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) return does_not_fit("it has an axis twice");
  return axes;
}

Status make_reduce(NodeMaker& make) {
  const MsliteAttributes& a = make.attributes();
  COT_ASSIGN(const size_t rank, make.rank_of(0));
  COT_ASSIGN(const std::vector<int64_t> axes, reduced_axes(make, rank));
  const bool keeps = a.keeps_dimensions && !a.goes_to_end;
  COT_ASSIGN(const std::string x, make.read(0));
  std::string y;
  if (a.reduction == MsliteReduction::mean && rank == 4 && axes == std::vector<int64_t>{1, 2}) {
    y = make.nhwc(make.node("GlobalAveragePool", {make.nchw(x)}));
    if (!keeps) y = make.node("Squeeze", {y, make.constant({1, 2})});
  } else if (a.reduction == MsliteReduction::sum) {
    y = make.node("ReduceSum", {x, make.constant(axes)}, {{"keepdims", int64_t{keeps}}});
  } else {
    y = make.node(reduction_of(a.reduction), {x}, {{"axes", axes}, {"keepdims", int64_t{keeps}}});
  }
  if (a.goes_to_end && std::fabs(a.factor) > kNoFactor && a.factor != 1) y = make.node("Mul", {y, make.real(a.factor)});
  return make.define(y);
}

Status make_sum(NodeMaker& make) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < make.input_count(); ++i) {
    COT_ASSIGN(const std::string in, make.read(i));
    inputs.push_back(in);
  }
  return make.define(make.node("Sum", std::move(inputs)));
}

}  // namespace

Result<bool> make_mslite_elementwise(NodeMaker& make) {
  const MsliteAttributes& a = make.attributes();
  const auto unary = [&](const char* op, std::map<std::string, Attribute> attributes = {}) -> Status {
    COT_ASSIGN(const std::string x, make.read(0));
    return make.define(make.node(op, {x}, std::move(attributes)));
  };
  Status made;
  switch (make.op().op) {
    case MsliteOp::add:
    case MsliteOp::bias_add: made = make_binary(make, "Add"); break;
    case MsliteOp::sub: made = make_binary(make, "Sub"); break;
    case MsliteOp::mul: made = make_binary(make, "Mul"); break;
    case MsliteOp::div:
    case MsliteOp::real_div: made = make_binary(make, "Div"); break;
    case MsliteOp::maximum: made = make_binary(make, "Max"); break;
    case MsliteOp::minimum: made = make_binary(make, "Min"); break;
    case MsliteOp::squared_difference: made = make_squared_difference(make); break;
    case MsliteOp::add_n: made = make_sum(make); break;
    case MsliteOp::activation: made = make_activation(make); break;
    case MsliteOp::elu: made = unary("Elu", {{"alpha", a.alpha}}); break;
    case MsliteOp::leaky_relu: made = unary("LeakyRelu", {{"alpha", a.alpha}}); break;
    case MsliteOp::clip: {
      COT_ASSIGN(const std::string x, make.read(0));
      made = make.define(make.clipped(x, a.least, a.most));
      break;
    }
    case MsliteOp::scale: made = make_scale(make); break;
    case MsliteOp::power: made = make_power(make); break;
    case MsliteOp::exponential: made = make_exponential(make); break;
    case MsliteOp::softmax:
      if (a.axes.size() != 1) return does_not_fit("it must have one axis");
      made = make_softmax(make, "Softmax", a.axes[0]);
      break;
    case MsliteOp::log_softmax: made = make_softmax(make, "LogSoftmax", a.axis); break;
    case MsliteOp::reduce: made = make_reduce(make); break;
    case MsliteOp::abs: made = unary("Abs"); break;
    case MsliteOp::neg: made = unary("Neg"); break;
    case MsliteOp::log: made = unary("Log"); break;
    case MsliteOp::erf: made = unary("Erf"); break;
    case MsliteOp::sqrt: made = unary("Sqrt"); break;
    case MsliteOp::reciprocal: made = unary("Reciprocal"); break;
    case MsliteOp::dropout: made = unary("Identity"); break;
    case MsliteOp::rsqrt: {
      COT_ASSIGN(const std::string x, make.read(0));
      made = make.define(make.node("Reciprocal", {make.node("Sqrt", {x})}));
      break;
    }
    case MsliteOp::square: {
      COT_ASSIGN(const std::string x, make.read(0));
      made = make.define(make.node("Mul", {x, x}));
      break;
    }
    default: return false;
  }
  COT_TRY(made);
  return true;
}

}  // namespace coterie::model_import
