// Functions of numbers: what several ops compute as one, and what an easier op computes.
#include <algorithm>
#include <cmath>

#include "tools/optimise/elementwise.h"
#include "tools/optimise/pass.h"

namespace coterie {
namespace {

bool is_function_of(const PassGraph& graph, const OpInfo& op, OpKind inner) {
  return graph.maker(op.inputs[0], inner) != kNoOp;
}

// Behind what is never below zero a ReLU changes nothing, NaN included.
bool drop_repeated(PassGraph& graph, uint32_t i) {
  const OpInfo& op = graph.op(i);
  bool is_repeated = false;
  switch (op.kind) {
    case OpKind::relu:
      for (const OpKind inner :
           {OpKind::relu, OpKind::relu6, OpKind::abs, OpKind::sigmoid, OpKind::exp, OpKind::softmax}) {
        is_repeated |= is_function_of(graph, op, inner);
      }
      break;
    case OpKind::relu6:
    case OpKind::abs: is_repeated = is_function_of(graph, op, op.kind); break;
    default: break;
  }
  return is_repeated && graph.read_instead(op.outputs[0], op.inputs[0]);
}

bool merge_clips(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::clip) return false;
  const uint32_t maker = graph.maker(op.inputs[0], OpKind::clip);
  if (maker == kNoOp) return false;
  auto& outer = std::get<UnaryAttributes>(op.attributes);
  const auto& inner = std::get<UnaryAttributes>(graph.op(maker).attributes);
  const float low = std::max(outer.alpha, inner.alpha), high = std::min(outer.beta, inner.beta);
  if (!(inner.alpha <= inner.beta) || !(outer.alpha <= outer.beta) || !(low < high)) return false;
  // A bound that is both zeros would give either sign.
  if ((low == 0 && outer.alpha == inner.alpha) || (high == 0 && outer.beta == inner.beta)) return false;
  outer.alpha = low;
  outer.beta = high;
  op.inputs[0] = graph.op(maker).inputs[0];
  return true;
}

bool drop_negations(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  const auto negated = [&](size_t at) -> uint32_t {
    const uint32_t maker = graph.maker(op.inputs[at], OpKind::neg);
    return maker == kNoOp ? kNoTensor : graph.op(maker).inputs[0];
  };
  if (op.kind == OpKind::neg) {
    const uint32_t x = negated(0);
    return x != kNoTensor && graph.read_instead(op.outputs[0], x);
  }
  if (op.kind == OpKind::mul || op.kind == OpKind::div) {
    const uint32_t a = negated(0), b = negated(1);
    if (a == kNoTensor || b == kNoTensor) return false;
    op.inputs = {a, b};
    return true;
  }
  if (op.kind != OpKind::add && op.kind != OpKind::sub) return false;
  if (const uint32_t b = negated(1); b != kNoTensor) {
    op.inputs[1] = b;
    op.kind = op.kind == OpKind::add ? OpKind::sub : OpKind::add;
    return true;
  }
  const uint32_t a = op.kind == OpKind::add ? negated(0) : kNoTensor;
  if (a == kNoTensor) return false;
  op.inputs = {op.inputs[1], a};
  op.kind = OpKind::sub;
  return true;
}

bool is_power_of_two(float value) {
  int exponent = 0;
  return std::fabs(std::frexp(value, &exponent)) == 0.5f;
}

// x / c as x * (1 / c), where every 1 / c is a normal number.
bool multiply_instead(PassGraph& graph, uint32_t i, bool only_powers) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::div || !graph.is_known(op.inputs[1])) return false;
  std::vector<float> values = graph.values(op.inputs[1]);
  for (float& value : values) {
    if (!std::isnormal(value) || !std::isnormal(1 / value) || (only_powers && !is_power_of_two(value))) return false;
    value = 1 / value;
  }
  const auto factor =
      graph.add_known(graph.tensor(op.inputs[1]).name + ".reciprocal", graph.shape(op.inputs[1]), values);
  if (!factor) return false;
  op.inputs[1] = *factor;
  op.kind = OpKind::mul;
  return true;
}

bool divide_by_power(PassGraph& graph, uint32_t i) { return multiply_instead(graph, i, true); }
bool divide_by_any(PassGraph& graph, uint32_t i) { return multiply_instead(graph, i, false); }

// x * reciprocal(y) as x / y.
bool join_reciprocal(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::mul) return false;
  for (size_t at = 0; at < 2; ++at) {
    const uint32_t maker = graph.sole_maker(op.inputs[at], OpKind::reciprocal);
    if (maker == kNoOp) continue;
    op.inputs = {other_operand(op, at), graph.op(maker).inputs[0]};
    op.kind = OpKind::div;
    return true;
  }
  return false;
}

bool reduce_power(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::pow || graph.shape(op.inputs[0]) != graph.shape(op.outputs[0])) return false;
  const std::optional<float> exponent = graph.scalar(op.inputs[1]);
  if (exponent == 2.0f) {
    op.kind = OpKind::mul;
    op.inputs[1] = op.inputs[0];
    return true;
  }
  if (exponent != -1.0f) return false;
  op.kind = OpKind::reciprocal;
  op.inputs.resize(1);
  return true;
}

std::optional<size_t> known_operand(const PassGraph& graph, const OpInfo& op) {
  for (const size_t at : {size_t{1}, size_t{0}}) {
    if (graph.is_known(op.inputs[at]) && !graph.is_known(other_operand(op, at))) return at;
  }
  return std::nullopt;
}

// (x + a) + b as x + (a + b), and likewise products.
bool merge_known(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::add && op.kind != OpKind::mul) return false;
  const std::optional<size_t> at = known_operand(graph, op);
  if (!at) return false;
  const uint32_t maker = graph.sole_maker(other_operand(op, *at), op.kind);
  if (maker == kNoOp) return false;
  const OpInfo& inner = graph.op(maker);
  const std::optional<size_t> within = known_operand(graph, inner);
  if (!within) return false;
  const uint32_t a = inner.inputs[*within], b = op.inputs[*at], x = other_operand(inner, *within);
  const bool is_scalar = elements(graph.shape(b)) == 1 && graph.shape(b).size() <= graph.shape(a).size();
  if (!is_scalar && graph.shape(a) != graph.shape(b)) return false;
  std::vector<float> values = graph.values(a);
  const std::vector<float> more = graph.values(b);
  for (size_t k = 0; k < values.size(); ++k) {
    const double first = values[k], second = more[is_scalar ? 0 : k];
    values[k] = static_cast<float>(op.kind == OpKind::add ? first + second : first * second);
    // A product may leave the range in which the two steps stay.
    if (op.kind == OpKind::mul && !std::isnormal(values[k])) return false;
  }
  const auto known =
      graph.add_known(graph.tensor(a).name + "." + std::string(to_string(op.kind)), graph.shape(a), values);
  if (!known) return false;
  op.inputs = {x, *known};
  return true;
}

using enum Optimisation;

constexpr Pass kRows[] = {
    {"repeated-activation", exact, exact,
     "a ReLU of what is never negative, ReLU6 of ReLU6 and abs of abs are left out", drop_repeated},
    {"clip-pairs", exact, kNeverTrained, "two clips whose ranges overlap are one", merge_clips},
    {"negations", exact, exact, "--x is x, a + -b is a - b, -a * -b is a * b", drop_negations},
    {"power-of-two-divisor", exact, exact, "a division by known powers of two is a product", divide_by_power},
    {"known-divisor", rounding, rounding, "a division by known numbers is a product", divide_by_any},
    {"reciprocal-factor", rounding, rounding, "x * (1 / y) is x / y", join_reciprocal},
    {"square", rounding, rounding, "x^2 is x * x, and x^-1 a reciprocal", reduce_power},
    {"known-terms", rounding, rounding, "(x + a) + b of known a and b has one sum, and so have products", merge_known},
};

}  // namespace

const std::span<const Pass> passes_of::arithmetic = kRows;

}  // namespace coterie
