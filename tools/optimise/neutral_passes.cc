// Ops that change nothing.
#include <algorithm>
#include <cmath>

#include "tools/optimise/pass.h"

namespace coterie {
namespace {

bool bypass(PassGraph& graph, uint32_t i) { return graph.read_instead(graph.op(i).outputs[0], graph.op(i).inputs[0]); }

bool keeps_type(const PassGraph& graph, const OpInfo& op) {
  return graph.type(op.inputs[0]) == graph.type(op.outputs[0]);
}
bool keeps_shape(const PassGraph& graph, const OpInfo& op) {
  return graph.shape(op.inputs[0]) == graph.shape(op.outputs[0]);
}

bool drop_identity(PassGraph& graph, uint32_t i) { return graph.op(i).kind == OpKind::identity && bypass(graph, i); }

bool drop_dropout(PassGraph& graph, uint32_t i) { return graph.op(i).kind == OpKind::dropout && bypass(graph, i); }

bool drop_cast(PassGraph& graph, uint32_t i) {
  return graph.op(i).kind == OpKind::cast && keeps_type(graph, graph.op(i)) && bypass(graph, i);
}

bool drop_reshape(PassGraph& graph, uint32_t i) {
  const OpInfo& op = graph.op(i);
  const bool is_one = op.kind == OpKind::reshape || op.kind == OpKind::flatten || op.kind == OpKind::expand;
  return is_one && keeps_shape(graph, op) && bypass(graph, i);
}

bool moves_nothing(const PassGraph& graph, const OpInfo& op) {
  switch (op.kind) {
    case OpKind::transpose: return std::ranges::is_sorted(std::get<TransposeAttributes>(op.attributes).order);
    case OpKind::slice:
      return keeps_shape(graph, op) && std::ranges::all_of(std::get<SliceAttributes>(op.attributes).steps,
                                                           [](int64_t step) { return step == 1; });
    case OpKind::pad: {
      const auto& a = std::get<PadAttributes>(op.attributes);
      const auto is_none = [](int64_t count) { return count == 0; };
      return std::ranges::all_of(a.before, is_none) && std::ranges::all_of(a.after, is_none);
    }
    case OpKind::concat: return op.inputs.size() == 1;
    case OpKind::split: return op.outputs.size() == 1;
    default: return false;
  }
}

bool drop_move(PassGraph& graph, uint32_t i) { return moves_nothing(graph, graph.op(i)) && bypass(graph, i); }

// x * 1, x / 1, x - 0, x + -0, x^1; with `of_any_zero` the sign of a zero does not count.
bool is_neutral(const PassGraph& graph, const OpInfo& op, size_t at, bool of_any_zero) {
  const std::optional<float> value = graph.scalar(op.inputs[at]);
  if (!value) return false;
  const bool is_zero = *value == 0;
  switch (op.kind) {
    case OpKind::mul: return *value == 1;
    case OpKind::div:
    case OpKind::pow: return at == 1 && *value == 1;
    case OpKind::sub: return at == 1 && is_zero && (of_any_zero || !std::signbit(*value));
    case OpKind::add: return is_zero && (of_any_zero || std::signbit(*value));
    default: return false;
  }
}

bool drop_neutral_operand(PassGraph& graph, uint32_t i, bool of_any_zero) {
  const OpInfo& op = graph.op(i);
  if (op.inputs.size() != 2) return false;
  for (const size_t at : {size_t{1}, size_t{0}}) {
    const uint32_t x = other_operand(op, at);
    if (!is_neutral(graph, op, at, of_any_zero) || graph.shape(x) != graph.shape(op.outputs[0])) continue;
    return graph.read_instead(op.outputs[0], x);
  }
  return false;
}

bool drop_neutral(PassGraph& graph, uint32_t i) { return drop_neutral_operand(graph, i, false); }
bool drop_zero(PassGraph& graph, uint32_t i) { return drop_neutral_operand(graph, i, true); }

using enum Optimisation;

constexpr Pass kRows[] = {
    {"identity", exact, exact, "identity ops are left out", drop_identity},
    {"dropout", exact, kNeverTrained, "dropout is left out: it drops nothing outside of training", drop_dropout},
    {"same-type", exact, exact, "casts to the type that it has are left out", drop_cast},
    {"same-shape", exact, exact, "reshape, flatten and expand to the shape that it has are left out", drop_reshape},
    {"no-move", exact, exact, "transposes in order, whole slices, empty pads, and concat and split of one are left out",
     drop_move},
    {"neutral-operand", exact, exact, "x * 1, x / 1, x^1, x - 0 and x + -0 are x", drop_neutral},
    {"zero-operand", rounding, rounding, "x + 0 and x - -0 are x: of -0 the sign differs", drop_zero},
};

}  // namespace

const std::span<const Pass> passes_of::neutral = kRows;

}  // namespace coterie
