// Activations that are products: x times a function of x.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "model_import/graph/fused_ops.h"
#include "model_import/patterns/match.h"

namespace coterie::model_import {
namespace {

constexpr int kDepthMax = 4;  // of nested products: no exporter writes more

struct Factors {
  std::vector<std::string> values;
  float number = 1;  // the constants, multiplied
};

void collect(Matcher& match, const std::string& value, int depth, Factors& factors) {
  if (const std::optional<float> number = match.scalar(value)) {
    factors.number *= *number;
    return;
  }
  const Node* product = match.writer(value, "Mul");
  const Node* quotient = match.writer(value, "Div");
  if (depth > 0 && product != nullptr && product->inputs.size() == 2) {
    for (const std::string& input : product->inputs) collect(match, input, depth - 1, factors);
  } else if (depth > 0 && quotient != nullptr && quotient->inputs.size() == 2 && match.scalar(quotient->inputs[1])) {
    collect(match, quotient->inputs[0], depth - 1, factors);
    factors.number /= *match.scalar(quotient->inputs[1]);
  } else {
    factors.values.push_back(value);
  }
}

bool is_close(float a, double b) { return std::abs(static_cast<double>(a) - b) <= 1e-3 * std::abs(b); }

Factors factors_of(Matcher& match, const std::string& value) {
  Factors factors;
  collect(match, value, kDepthMax, factors);
  return factors;
}

// 1 + erf(x / sqrt 2)
bool is_erf_factor(Matcher& match, const std::string& value, const std::string& x) {
  const Node* sum = match.writer(value, "Add");
  const std::optional<std::string> inner = sum == nullptr ? std::nullopt : match.beside_scalar(*sum, 1);
  const Node* erf = inner ? match.writer(*inner, "Erf") : nullptr;
  if (erf == nullptr) return false;
  const Factors factors = factors_of(match, erf->inputs[0]);
  return factors.values == std::vector<std::string>{x} && is_close(factors.number, 1 / std::numbers::sqrt2);
}

// x^3, written as Pow or as a product
bool is_cube(Matcher& match, const std::string& value, const std::string& x) {
  const Node* power = match.writer(value, "Pow");
  return power != nullptr && power->inputs.size() == 2 && power->inputs[0] == x && match.is_scalar(power->inputs[1], 3);
}

// 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))
bool is_tanh_factor(Matcher& match, const std::string& value, const std::string& x) {
  const Node* sum = match.writer(value, "Add");
  const std::optional<std::string> inner = sum == nullptr ? std::nullopt : match.beside_scalar(*sum, 1);
  const Node* tanh = inner ? match.writer(*inner, "Tanh") : nullptr;
  if (tanh == nullptr) return false;
  const Factors outer = factors_of(match, tanh->inputs[0]);
  if (outer.values.size() != 1 || !is_close(outer.number, std::sqrt(2 * std::numbers::inv_pi))) return false;
  const Node* polynomial = match.writer(outer.values[0], "Add");
  const std::string cubic = polynomial == nullptr ? std::string() : match.other(*polynomial, x);
  if (cubic.empty()) return false;
  const Factors factors = factors_of(match, cubic);
  if (!is_close(factors.number, 0.044715)) return false;
  return factors.values == std::vector<std::string>{x, x, x} ||
         (factors.values.size() == 1 && is_cube(match, factors.values[0], x));
}

// clip(x + 3, 0, 6)
std::optional<std::string> clipped_operand(Matcher& match, const std::string& value) {
  const Node* clip = match.writer(value, "Clip");
  if (clip == nullptr || clip->inputs.size() != 3 || !match.is_scalar(clip->inputs[1], 0) ||
      !match.is_scalar(clip->inputs[2], 6)) {
    return std::nullopt;
  }
  const Node* sum = match.writer(clip->inputs[0], "Add");
  return sum == nullptr ? std::nullopt : match.beside_scalar(*sum, 3);
}

bool is_hard_sigmoid(Matcher& match, const std::string& value, const std::string& x) {
  const Node* node = match.writer(value, "HardSigmoid");
  return node != nullptr && node->inputs[0] == x && is_close(node->real("alpha", 0.2f), 1.0 / 6) &&
         is_close(node->real("beta", 0.5f), 0.5);
}

void become(Node& node, const char* op, const std::string& x) {
  node.op = op;
  node.inputs = {x};
  node.attributes.clear();
}

}  // namespace

bool fuse_product(Matcher& match, Node& node) {
  if ((node.op != "Mul" && node.op != "Div") || node.inputs.size() != 2 || node.outputs.empty()) return false;
  const Factors factors = factors_of(match, node.outputs[0]);
  if (factors.values.size() == 1 && is_close(factors.number, 1.0 / 6)) {
    if (const auto x = clipped_operand(match, factors.values[0])) {
      become(node, "HardSigmoid", *x);
      node.attributes["alpha"] = 1.0f / 6;
      node.attributes["beta"] = 0.5f;
      return true;
    }
  }
  if (factors.values.size() != 2) return false;
  for (size_t i = 0; i < 2; ++i) {
    const std::string &x = factors.values[i], &f = factors.values[1 - i];
    if (is_close(factors.number, 0.5) && is_erf_factor(match, f, x)) {
      become(node, kGelu, x);
      return true;
    }
    if (is_close(factors.number, 0.5) && is_tanh_factor(match, f, x)) {
      become(node, kGelu, x);
      node.attributes["approximate"] = std::string("tanh");
      return true;
    }
    if (is_close(factors.number, 1.0 / 6) && clipped_operand(match, f) == x) {
      become(node, "HardSwish", x);
      return true;
    }
    const Node* sigmoid = match.writer(f, "Sigmoid");
    if (factors.number == 1 && sigmoid != nullptr && sigmoid->inputs[0] == x) {
      become(node, kSwish, x);
      return true;
    }
    if (factors.number == 1 && is_hard_sigmoid(match, f, x)) {
      become(node, "HardSwish", x);
      return true;
    }
  }
  return false;
}

}  // namespace coterie::model_import
