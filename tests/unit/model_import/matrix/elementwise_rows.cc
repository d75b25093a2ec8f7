// Operators of one operand.
#include "tests/unit/model_import/matrix/operator_row.h"

namespace coterie::model_import::matrix {
namespace {

Build plain(const std::string& op, const std::map<std::string, Attribute>& attributes = {}) {
  return [=](RowGraph& g, const std::string& x) { return g.node(op, {x}, attributes); };
}

// Opset 11 and later: the limits are operands.
Build clip(bool has_low, bool has_high, float low, float high) {
  return [=](RowGraph& g, const std::string& x) {
    std::vector<std::string> operands{x, has_low ? g.number(low) : ""};
    if (has_high) operands.push_back(g.number(high));
    return g.node("Clip", operands);
  };
}

Build prelu(const Shape& slope) {
  return [=](RowGraph& g, const std::string& x) { return g.node("PRelu", {x, g.weight("slope", slope, 0.1, 0.5)}); };
}

// Opset 12 made the ratio an operand, and added the one that says whether it drops. A ratio of 0 drops nothing.
Build dropout(bool is_active) {
  return [=](RowGraph& g, const std::string& x) {
    if (g.opset < 12) return g.node("Dropout", {x}, {{"ratio", is_active ? 0.5f : 0.0f}});
    if (!g.is_training) return g.node("Dropout", {x, g.number(is_active ? 0.5f : 0.0f)});
    const std::string flag = g.node("Cast", {g.list({1})}, {{"to", int64_t{9}}});
    return g.node("Dropout", {x, g.number(0), g.node_with_list("Squeeze", {flag}, "axes", {0}, 13)});
  };
}

// What an exporter writes beside the ratio.
std::string dropout_with_seed(RowGraph& g, const std::string& x) {
  if (g.opset < 12) return g.node("Dropout", {x}, {{"ratio", 0.5f}});
  return g.node("Dropout", {x, g.number(0.5f)}, {{"seed", int64_t{7}}});
}

// Which numbers an 8-bit float cannot hold is said from opset 19 on; it says nothing of other types.
std::string cast_that_saturates(RowGraph& g, const std::string& x) {
  const std::string whole = g.node("Cast", {x}, {{"to", int64_t{6}}, {"saturate", int64_t{0}}});
  return g.node("Add", {x, g.node("Cast", {whole}, {{"to", int64_t{1}}})});
}

// Through another type and back.
Build cast(int64_t there) {
  return [=](RowGraph& g, const std::string& x) {
    const std::string whole = g.node("Cast", {g.node("Mul", {x, g.number(4)})}, {{"to", int64_t{there}}});
    return g.node("Add", {x, g.node("Cast", {whole}, {{"to", int64_t{1}}})});
  };
}

// Integers that are neither 0 nor 1, as booleans.
std::string cast_integers_to_booleans(RowGraph& g, const std::string& x) {
  const std::string tokens = g.index_input("tokens", {2, 3}, 4);
  const std::string are = g.node("Cast", {tokens}, {{"to", int64_t{9}}});
  return g.node("Add", {x, g.node("Cast", {are}, {{"to", int64_t{1}}})});
}

Build softmax(const std::string& op, int64_t axis) {
  return [=](RowGraph& g, const std::string& x) { return g.node(op, {x}, {{"axis", axis}}); };
}

}  // namespace

std::vector<OperatorRow> elementwise_rows() {
  const Shape kPlain{2, 3}, kImage{2, 3, 3};
  std::vector<OperatorRow> rows;
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "Softplus", "Exp", "Abs", "Neg", "Erf", "Identity"}) {
    rows.push_back({.op = op, .form = "", .input = kPlain, .build = plain(op)});
  }
  for (const char* op : {"Sqrt", "Log", "Reciprocal"}) {
    rows.push_back({.op = op, .form = "", .input = kPlain, .build = plain(op), .low = 0.6, .high = 2});
  }
  for (const char* op : {"LeakyRelu", "Elu", "Selu", "HardSigmoid"}) {
    rows.push_back({.op = op, .form = "defaults", .input = kPlain, .build = plain(op), .low = -4, .high = 4});
  }
  rows.push_back({"LeakyRelu", "alpha", kPlain, plain("LeakyRelu", {{"alpha", 0.3f}})});
  rows.push_back({"Elu", "alpha", kPlain, plain("Elu", {{"alpha", 0.7f}})});
  rows.push_back({"HardSigmoid", "alpha and beta", kPlain, plain("HardSigmoid", {{"alpha", 0.3f}, {"beta", 0.4f}})});
  rows.push_back(
      {.op = "HardSwish", .form = "", .input = kPlain, .build = plain("HardSwish"), .first = 14, .low = -4, .high = 4});
  rows.push_back(
      {.op = "Mish", .form = "", .input = kPlain, .build = plain("Mish"), .first = 18, .low = -4, .high = 4});
  for (const char* approximation : {"none", "tanh"}) {
    rows.push_back({.op = "Gelu",
                    .form = approximation,
                    .input = kPlain,
                    .build = plain("Gelu", {{"approximate", std::string(approximation)}}),
                    .first = 20,
                    .low = -3,
                    .high = 3});
  }
  rows.push_back({.op = "Gelu",
                  .form = "approximation by default",
                  .input = kPlain,
                  .build = plain("Gelu"),
                  .first = 20,
                  .low = -3,
                  .high = 3});
  rows.push_back({"Selu", "constants", kPlain, plain("Selu", {{"alpha", 1.67326319f}, {"gamma", 1.05070102f}})});
  rows.push_back({.op = "Softsign", .form = "", .input = kPlain, .build = plain("Softsign"), .low = -4, .high = 4});
  for (const float alpha : {1.0f, 0.3f}) {
    rows.push_back({"Celu", "alpha " + std::to_string(alpha), kPlain, plain("Celu", {{"alpha", alpha}}), 12});
    rows.push_back({.op = "ThresholdedRelu",
                    .form = "alpha " + std::to_string(alpha),
                    .input = kPlain,
                    .build = plain("ThresholdedRelu", {{"alpha", alpha}}),
                    .low = -2,
                    .high = 3});
  }
  rows.push_back({"Clip", "both", kPlain, clip(true, true, -0.4f, 0.5f)});
  rows.push_back({"Clip", "low", kPlain, clip(true, false, -0.4f, 0)});
  rows.push_back({"Clip", "high", kPlain, clip(false, true, 0, 0.4f)});
  rows.push_back({"Clip", "neither", kPlain, clip(false, false, 0, 0)});
  rows.push_back({"Clip", "relu", kPlain, clip(true, false, 0, 0)});
  rows.push_back(
      {.op = "Clip", .form = "relu6", .input = kPlain, .build = clip(true, true, 0, 6), .low = -2, .high = 8});
  rows.push_back({"PRelu", "one slope", kPlain, prelu({1})});
  rows.push_back({"PRelu", "a slope a channel", kImage, prelu({2, 1, 1})});
  rows.push_back({"PRelu", "one slope of images", kImage, prelu({1, 1, 1})});
  rows.push_back({"Dropout", "seed", kPlain, dropout_with_seed});
  rows.push_back({"Dropout", "inference", kPlain, dropout(true)});
  rows.push_back({"Dropout", "ratio 0", kPlain, dropout(false)});
  rows.push_back({"Cast", "to whole numbers", kPlain, cast(7)});
  rows.push_back({"Cast", "to double", kPlain, cast(11)});
  rows.push_back({"Cast", "saturates", kPlain, cast_that_saturates, 19});
  rows.push_back({"Cast", "integers to booleans", kPlain, cast_integers_to_booleans});
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    rows.push_back({op, "last", kPlain, softmax(op, -1)});
    rows.push_back({op, "of [batch, classes]", {4}, softmax(op, 1)});
    rows.push_back({op, "inner axis", kPlain, softmax(op, 1)});
    rows.push_back({op, "channels of images", kImage, softmax(op, 1)});
    rows.push_back({op, "axis from the end", kImage, softmax(op, -2)});
    rows.push_back({op, "axis by default", kPlain, plain(op)});
  }
  return rows;
}

}  // namespace coterie::model_import::matrix
