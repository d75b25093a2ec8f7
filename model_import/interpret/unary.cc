// Operators that compute one operand element by element, and softmax.
#include <algorithm>
#include <cmath>
#include <map>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

using Real = double (*)(double);

// Operators without attributes.
Real plain(const std::string& op) {
  static const std::map<std::string, Real> table = {
      {"Acos", [](double x) { return std::acos(x); }},
      {"Acosh", [](double x) { return std::acosh(x); }},
      {"Asin", [](double x) { return std::asin(x); }},
      {"Asinh", [](double x) { return std::asinh(x); }},
      {"Atan", [](double x) { return std::atan(x); }},
      {"Atanh", [](double x) { return std::atanh(x); }},
      {"Cosh", [](double x) { return std::cosh(x); }},
      {"Sign", [](double x) { return x > 0   ? 1.0
                                     : x < 0 ? -1.0
                                             : x; }},
      {"Sinh", [](double x) { return std::sinh(x); }},
      {"Tan", [](double x) { return std::tan(x); }},
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"HardSwish", [](double x) { return x * std::max(0.0, std::min(1.0, x / 6 + 0.5)); }},
      {"Identity", [](double x) { return x; }},
      {"Log", [](double x) { return std::log(x); }},
      {"Mish", [](double x) { return x * std::tanh(x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x))); }},
      {"Neg", [](double x) { return -x; }},
      {"Not", [](double x) { return x == 0 ? 1.0 : 0.0; }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Relu", [](double x) { return std::isnan(x) ? x : std::max(0.0, x); }},
      {"Round", [](double x) { return std::nearbyint(x); }},  // halves to even
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Softplus", [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }},
      {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
  };
  return entry_of(table, op);
}

Result<Outputs> compute_plain(const Call& call) {
  Array y = call.operand(0);
  const Real function = plain(call.node.op);
  for (double& value : y.values) value = function(value);
  return one(std::move(y));
}

double attribute(const Call& call, const char* key, float absent) {
  return static_cast<double>(call.node.real(key, absent));
}

Result<Outputs> compute_with_attributes(const Call& call) {
  const std::string& op = call.node.op;
  Array y = call.operand(0);
  for (double& x : y.values) {
    if (op == "LeakyRelu") {
      x = x < 0 ? attribute(call, "alpha", 0.01f) * x : x;
    } else if (op == "Elu") {
      x = x < 0 ? attribute(call, "alpha", 1.0f) * std::expm1(x) : x;
    } else if (op == "Gelu") {
      constexpr double kRootOfTwoOverPi = 0.7978845608028654;
      const double cube = x * x * x;
      x *= 0.5 * (call.node.text("approximate", "none") == "tanh"
                      ? 1 + std::tanh(kRootOfTwoOverPi * (x + 0.044715 * cube))
                      : 1 + std::erf(x / std::sqrt(2.0)));
    } else if (op == "Celu") {
      const double alpha = attribute(call, "alpha", 1.0f);
      x = std::max(0.0, x) + std::min(0.0, alpha * std::expm1(x / alpha));
    } else if (op == "ThresholdedRelu") {
      x = x > attribute(call, "alpha", 1.0f) ? x : 0;
    } else if (op == "Selu") {
      const double alpha = attribute(call, "alpha", 1.67326319217681884765625f);
      x = attribute(call, "gamma", 1.05070102214813232421875f) * (x > 0 ? x : alpha * std::expm1(x));
    } else {  // HardSigmoid
      const double line = attribute(call, "alpha", 0.2f) * x + attribute(call, "beta", 0.5f);
      x = std::max(0.0, std::min(1.0, line));
    }
  }
  return one(std::move(y));
}

Result<Outputs> compute_clip(const Call& call) {
  Array y = call.operand(0);
  for (const size_t i : {1u, 2u}) {
    if (!call.has(i)) continue;
    if (call.operand(i).size() != 1) return bad_form("a bound that is not one number");
    const double bound = call.operand(i).values[0];
    for (double& x : y.values) {
      if (i == 1 ? x < bound : x > bound) x = bound;
    }
  }
  return one(std::move(y));
}

Result<Outputs> compute_prelu(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  Array y = call.operand(0);
  const Array& slope = call.operand(1);
  COT_ASSIGN(const Shape shape, broadcast_shape(y.shape, slope.shape));
  if (shape != y.shape) return bad_form("a slope that does not broadcast to its operand");
  for_each_index(shape, [&](const Index& index, size_t i) {
    if (y.values[i] < 0) y.values[i] *= slope.values[broadcast_offset(slope.shape, index)];
  });
  return one(std::move(y));
}

// As a model predicts: nothing is dropped, and the mask says so.
Result<Outputs> compute_dropout(const Call& call) {
  const bool trains = call.has(2) && call.operand(2).size() == 1 && call.operand(2).values[0] != 0;
  const bool drops = !call.has(1) || call.operand(1).size() != 1 || call.operand(1).values[0] != 0;
  if (call.intent == Intent::specification && trains && drops) return unknown_form("Dropout that trains, at random");
  Array mask = call.operand(0);
  mask.element = Element::boolean;
  mask.width = Width::any;
  std::ranges::fill(mask.values, 1.0);
  Outputs outputs = one(call.operand(0));
  outputs.push_back(std::move(mask));
  return outputs;
}

// To the nearest that a half holds, ties to even.
void round_to_half(double& x) {
  constexpr int kBits = 11, kExponentMin = -14;
  if (x == 0 || !std::isfinite(x)) return;
  const int exponent = std::max(std::ilogb(x), kExponentMin);
  x = std::ldexp(std::nearbyint(std::ldexp(x, kBits - 1 - exponent)), exponent - kBits + 1);
  if (std::fabs(x) > 65504) x = std::copysign(INFINITY, x);
}

}  // namespace

void become_real(Array& array, Width width, Intent intent) {
  array.element = Element::real;
  array.width = width;
  if (intent != Intent::prediction && width == Width::float16) std::ranges::for_each(array.values, round_to_half);
}

namespace {

Result<Outputs> compute_cast(const Call& call) {
  constexpr int64_t kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kBool = 9, kFloat16 = 10, kDouble = 11,
                    kBfloat16 = 16;  // TensorProto.DataType
  Array y = call.operand(0);
  y.width = Width::any;
  const int64_t to = call.node.integer("to", 0);
  // ONNX's reference cuts the bits off in some releases, and rounds in others.
  if (call.intent == Intent::specification && to == kBfloat16) return unknown_form("a cast to bfloat16");
  if (to == kFloat || to == kFloat16 || to == kDouble || to == kBfloat16) {
    become_real(y, to == kFloat ? Width::float32 : to == kFloat16 ? Width::float16 : Width::float64, call.intent);
  } else if (to == kBool) {
    become_whole(y, Element::boolean, Width::any);
  } else {
    // TensorProto.DataType: 2 to 7 and 12, 13 are integers.
    if (!(to >= 2 && to <= 7) && to != 12 && to != 13) return unknown_form("a cast to type " + std::to_string(to));
    const Width width = to == kInt8    ? Width::int8
                        : to == kUint8 ? Width::uint8
                        : to == kInt32 ? Width::int32
                                       : Width::any;
    become_whole(y, Element::integer, width);
  }
  return one(std::move(y));
}

// Before opset 13 all dimensions from the axis on are one.
Result<Outputs> compute_softmax(const Call& call) {
  Array y = call.operand(0);
  const bool is_flat = call.opset < 13;
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", is_flat ? 1 : -1), y.rank()));
  size_t width = 1, inner = 1;
  for (size_t i = axis; i < y.rank(); ++i) {
    (i == axis || is_flat ? width : inner) *= static_cast<size_t>(y.shape[i]);
  }
  if (y.values.empty()) return one(std::move(y));
  for (size_t row = 0; row < y.values.size() / width; ++row) {
    double* first = y.values.data() + row / inner * width * inner + row % inner;
    double largest = first[0], sum = 0;
    for (size_t i = 0; i < width; ++i) largest = std::max(largest, first[i * inner]);
    for (size_t i = 0; i < width; ++i) sum += std::exp(first[i * inner] - largest);
    for (size_t i = 0; i < width; ++i) {
      double& x = first[i * inner];
      x = call.node.op == "Softmax" ? std::exp(x - largest) / sum : x - largest - std::log(sum);
    }
  }
  return one(std::move(y));
}

}  // namespace

Operator unary_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"LeakyRelu", compute_with_attributes},
      {"Celu", compute_with_attributes},
      {"Gelu", compute_with_attributes},
      {"ThresholdedRelu", compute_with_attributes},
      {"Elu", compute_with_attributes},
      {"Selu", compute_with_attributes},
      {"HardSigmoid", compute_with_attributes},
      {"Clip", compute_clip},
      {"PRelu", compute_prelu},
      {"Dropout", compute_dropout},
      {"Cast", compute_cast},
      {"Softmax", compute_softmax},
      {"LogSoftmax", compute_softmax},
  };
  if (plain(op) != nullptr) return compute_plain;
  return entry_of(table, op);
}

}  // namespace coterie::model_import
