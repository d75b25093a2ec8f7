// Operators that compute each number by itself, or with the numbers of its row.
#include <algorithm>
#include <numeric>

#include "model_import/tflite/graph_maker.h"

namespace coterie::model_import {
namespace {

Status make_binary(GraphMaker& make, const char* op) {
  COT_TRY(make.need_inputs(2));
  COT_ASSIGN(const std::string a, make.read(0));
  COT_ASSIGN(const std::string b, make.read(1));
  return make.define(make.node(op, {a, b}));
}

std::string clipped(GraphMaker& make, const std::string& value, float low, float high) {
  HostTensor least, most;
  least.reals = {low};
  most.reals = {high};
  const std::string l = make.constant(std::move(least)), m = make.constant(std::move(most));
  return make.node("Clip", {value, l, m});
}

Status make_softmax(GraphMaker& make) {
  COT_ASSIGN(std::string x, make.read(0));
  if (const float beta = make.op().options.beta; beta != 1) {
    HostTensor factor;
    factor.reals = {beta};
    x = make.node("Mul", {x, make.constant(std::move(factor))});
  }
  return make.define(make.node("Softmax", {x}, {{"axis", int64_t{-1}}}));
}

Status make_cast(GraphMaker& make) {
  COT_ASSIGN(const std::string x, make.read(0));
  int64_t to = 1;  // TensorProto.DataType
  switch (make.output().type) {
    case TfliteType::float32:
    case TfliteType::float16: break;
    case TfliteType::int32: to = 6; break;
    case TfliteType::int64: to = 7; break;
    case TfliteType::boolean: to = 9; break;
    default: return Error(ErrorCode::invalid_argument, std::string("a cast to ") + name_of(make.output().type));
  }
  return make.define(make.node("Cast", {x}, {{"to", to}}));
}

Status make_mean(GraphMaker& make) {
  COT_TRY(make.need_inputs(2));
  COT_ASSIGN(std::vector<int64_t> axes, make.whole_numbers(1));
  const auto rank = static_cast<int64_t>(make.input(0).shape.size());
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) return Error(ErrorCode::malformed, "its axis is out of range");
    if (axis < 0) axis += rank;
  }
  std::ranges::sort(axes);
  const bool keeps = make.op().options.keeps_dimensions;
  COT_ASSIGN(const std::string x, make.read(0));
  if (rank == 4 && axes == std::vector<int64_t>{1, 2}) {
    const std::string mean = make.nhwc(make.node("GlobalAveragePool", {make.nchw(x)}));
    return make.define(keeps ? mean : make.node("Squeeze", {mean, make.constant({1, 2})}));
  }
  return make.define(make.node("ReduceMean", {x}, {{"axes", axes}, {"keepdims", int64_t{keeps}}}));
}

}  // namespace

Result<bool> make_elementwise(GraphMaker& make) {
  COT_TRY(make.need_inputs(1));
  const auto unary = [&](const char* op, std::map<std::string, Attribute> attributes = {}) -> Status {
    COT_ASSIGN(const std::string x, make.read(0));
    return make.define(make.node(op, {x}, std::move(attributes)));
  };
  const auto clip = [&](float low, float high) -> Status {
    COT_ASSIGN(const std::string x, make.read(0));
    return make.define(clipped(make, x, low, high));
  };
  Status made;
  switch (make.op().op) {
    case TfliteOp::add: made = make_binary(make, "Add"); break;
    case TfliteOp::sub: made = make_binary(make, "Sub"); break;
    case TfliteOp::mul: made = make_binary(make, "Mul"); break;
    case TfliteOp::logistic: made = unary("Sigmoid"); break;
    case TfliteOp::tanh: made = unary("Tanh"); break;
    case TfliteOp::relu: made = unary("Relu"); break;
    case TfliteOp::relu6: made = clip(0, 6); break;
    case TfliteOp::relu_n1_to_1: made = clip(-1, 1); break;
    case TfliteOp::leaky_relu: made = unary("LeakyRelu", {{"alpha", make.op().options.alpha}}); break;
    case TfliteOp::hard_swish: made = unary("HardSwish"); break;
    case TfliteOp::softmax: made = make_softmax(make); break;
    case TfliteOp::mean: made = make_mean(make); break;
    case TfliteOp::cast: made = make_cast(make); break;
    case TfliteOp::quantize:
    case TfliteOp::dequantize: made = unary("Identity"); break;
    default: return false;
  }
  COT_TRY(made);
  return true;
}

}  // namespace coterie::model_import
