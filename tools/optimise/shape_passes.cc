// Ops that move elements, and the ops between them.
#include <algorithm>

#include "proto/codec/limits.h"
#include "tools/optimise/elementwise.h"
#include "tools/optimise/pass.h"

namespace coterie {
namespace {

bool is_reshape(OpKind kind) { return kind == OpKind::reshape || kind == OpKind::flatten; }

// Only the last of several counts: elements stay in their order.
bool merge_reshapes(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (!is_reshape(op.kind)) return false;
  for (const OpKind kind : {OpKind::reshape, OpKind::flatten}) {
    const uint32_t maker = graph.maker(op.inputs[0], kind);
    if (maker == kNoOp) continue;
    op.attributes = ShapeAttributes{graph.shape(op.outputs[0])};
    op.kind = OpKind::reshape;
    op.inputs[0] = graph.op(maker).inputs[0];
    return true;
  }
  return false;
}

const std::vector<int64_t>& order_of(const OpInfo& op) { return std::get<TransposeAttributes>(op.attributes).order; }

bool merge_transposes(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::transpose) return false;
  const uint32_t maker = graph.maker(op.inputs[0], OpKind::transpose);
  if (maker == kNoOp) return false;
  const auto& inner = order_of(graph.op(maker));
  for (int64_t& axis : std::get<TransposeAttributes>(op.attributes).order) axis = inner[static_cast<size_t>(axis)];
  op.inputs[0] = graph.op(maker).inputs[0];
  return true;
}

// Whether a transpose follows behind ops that work element by element and have no other reader.
bool leads_to_transpose(const PassGraph& graph, uint32_t i) {
  for (uint32_t reader = graph.sole_reader(graph.op(i).outputs[0]); reader != kNoOp;
       reader = graph.sole_reader(graph.op(reader).outputs[0])) {
    if (graph.op(reader).kind == OpKind::transpose) return true;
    if (!elementwise_operand(graph, graph.op(reader))) return false;
  }
  return false;
}

// f(transpose(x)) as transpose(f(x)): both ops change their places, the tensors stay.
bool sink_transpose(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  const std::optional<size_t> operand = elementwise_operand(graph, op);
  if (!operand) return false;
  const uint32_t maker = graph.sole_maker(op.inputs[*operand], OpKind::transpose);
  if (maker == kNoOp || !leads_to_transpose(graph, i)) return false;
  OpInfo& transpose = graph.op(maker);
  const uint32_t x = transpose.inputs[0], between = transpose.outputs[0], y = op.outputs[0];
  std::swap(op, transpose);
  graph.op(maker).inputs[*operand] = x;
  graph.op(maker).outputs = {between};
  op.inputs = {between};
  op.outputs = {y};
  return true;
}

// f(transpose(a), transpose(b)) as transpose(f(a, b)).
bool join_transposes(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (!is_binary_arithmetic(op.kind)) return false;
  const uint32_t a = graph.sole_maker(op.inputs[0], OpKind::transpose);
  const uint32_t b = graph.sole_maker(op.inputs[1], OpKind::transpose);
  if (a == kNoOp || b == kNoOp || order_of(graph.op(a)) != order_of(graph.op(b)) ||
      graph.shape(op.inputs[0]) != graph.shape(op.inputs[1])) {
    return false;
  }
  const uint32_t x = graph.op(a).inputs[0], z = graph.op(b).inputs[0], y = op.outputs[0];
  OpInfo& later = graph.op(std::max(a, b));  // where both operands are there
  const uint32_t between = later.outputs[0];
  std::swap(op, later);
  later.inputs = {x, z};
  later.outputs = {between};
  op.inputs = {between};
  op.outputs = {y};
  return true;
}

bool merge_slices(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::slice) return false;
  const uint32_t maker = graph.maker(op.inputs[0], OpKind::slice);
  if (maker == kNoOp) return false;
  const auto& inner = std::get<SliceAttributes>(graph.op(maker).attributes);
  const auto& outer = std::get<SliceAttributes>(op.attributes);
  SliceAttributes both;
  for (int64_t axis = 0; axis < static_cast<int64_t>(graph.shape(op.inputs[0]).size()); ++axis) {
    const auto in = std::ranges::find(inner.axes, axis), out = std::ranges::find(outer.axes, axis);
    if (in == inner.axes.end() && out == outer.axes.end()) continue;
    const auto at = static_cast<size_t>(in - inner.axes.begin()), of = static_cast<size_t>(out - outer.axes.begin());
    both.axes.push_back(axis);
    if (out == outer.axes.end()) {
      both.starts.push_back(inner.starts[at]);
      both.counts.push_back(inner.counts[at]);
      both.steps.push_back(inner.steps[at]);
    } else if (in == inner.axes.end()) {
      both.starts.push_back(outer.starts[of]);
      both.counts.push_back(outer.counts[of]);
      both.steps.push_back(outer.steps[of]);
    } else {
      both.starts.push_back(inner.starts[at] + outer.starts[of] * inner.steps[at]);
      both.counts.push_back(outer.counts[of]);
      // One position has no step, and the product of such steps might overflow.
      both.steps.push_back(outer.counts[of] == 1 ? 1 : inner.steps[at] * outer.steps[of]);
    }
  }
  op.attributes = std::move(both);
  op.inputs[0] = graph.op(maker).inputs[0];
  return true;
}

bool merge_pads(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::pad) return false;
  const uint32_t maker = graph.maker(op.inputs[0], OpKind::pad);
  if (maker == kNoOp) return false;
  auto& outer = std::get<PadAttributes>(op.attributes);
  const auto& inner = std::get<PadAttributes>(graph.op(maker).attributes);
  // A pad that cuts takes away what the other one added, or did not.
  const auto adds = [](int64_t count) { return count >= 0; };
  const auto all_add = [&](const PadAttributes& a) {
    return std::ranges::all_of(a.before, adds) && std::ranges::all_of(a.after, adds);
  };
  if (outer.value != inner.value || !all_add(outer) || !all_add(inner)) return false;
  for (size_t d = 0; d < outer.before.size(); ++d) {
    outer.before[d] += inner.before[d];
    outer.after[d] += inner.after[d];
  }
  op.inputs[0] = graph.op(maker).inputs[0];
  return true;
}

// All parts of a split, in order, put together again.
bool undo_split(PassGraph& graph, uint32_t i) {
  const OpInfo& op = graph.op(i);
  if (op.kind != OpKind::concat) return false;
  const uint32_t maker = graph.maker(op.inputs[0], OpKind::split);
  if (maker == kNoOp || graph.op(maker).outputs != op.inputs) return false;
  if (std::get<SplitAttributes>(graph.op(maker).attributes).axis != std::get<AxisAttributes>(op.attributes).axis) {
    return false;
  }
  return graph.read_instead(op.outputs[0], graph.op(maker).inputs[0]);
}

bool merge_concats(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::concat) return false;
  for (size_t at = 0; at < op.inputs.size(); ++at) {
    const uint32_t maker = graph.sole_maker(op.inputs[at], OpKind::concat);
    if (maker == kNoOp || graph.op(maker).attributes != op.attributes) continue;
    const std::vector<uint32_t> parts = graph.op(maker).inputs;
    if (op.inputs.size() - 1 + parts.size() > limits::kOpOperandsMax) continue;
    op.inputs.erase(op.inputs.begin() + static_cast<ptrdiff_t>(at));
    op.inputs.insert(op.inputs.begin() + static_cast<ptrdiff_t>(at), parts.begin(), parts.end());
    return true;
  }
  return false;
}

// Looking up known rows that are evenly apart.
bool slice_gather(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::gather || graph.tensor(op.inputs[1]).role != TensorRole::constant ||
      graph.shape(op.inputs[1]).size() != 1) {
    return false;
  }
  const uint32_t axis = std::get<AxisAttributes>(op.attributes).axis;
  const std::vector<int32_t> rows = graph.integers(op.inputs[1]);
  const int64_t size = graph.shape(op.inputs[0])[axis];
  const int64_t step = rows.size() > 1 ? int64_t{rows[1]} - rows[0] : 1;
  if (step == 0 || size < static_cast<int64_t>(rows.size())) return false;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (rows[k] < 0 || rows[k] >= size || rows[k] != rows[0] + static_cast<int64_t>(k) * step) return false;
  }
  op.attributes = SliceAttributes{{axis}, {rows[0]}, {static_cast<int64_t>(rows.size())}, {step}};
  op.kind = OpKind::slice;
  op.inputs.resize(1);
  return true;
}

// A binary op broadcasts what is expanded for it.
bool drop_expand(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (!is_binary_arithmetic(op.kind)) return false;
  for (size_t at = 0; at < 2; ++at) {
    const uint32_t maker = graph.maker(op.inputs[at], OpKind::expand);
    if (maker == kNoOp || graph.shape(other_operand(op, at)) != graph.shape(op.outputs[0])) continue;
    op.inputs[at] = graph.op(maker).inputs[0];
    return true;
  }
  return false;
}

using enum Optimisation;

constexpr Pass kRows[] = {
    {"reshape-pairs", exact, exact, "reshape or flatten behind another is the last of both", merge_reshapes},
    {"transpose-pairs", exact, exact, "two transposes are one", merge_transposes},
    {"transpose-sinking", exact, exact, "a transpose in front of element-wise ops moves behind them, to another one",
     sink_transpose},
    {"transposed-operands", exact, exact, "two operands that are transposed alike are transposed as one, afterwards",
     join_transposes},
    {"slice-pairs", exact, exact, "a slice of a slice is one", merge_slices},
    {"pad-pairs", exact, exact, "two pads of one value are one", merge_pads},
    {"split-concat", exact, exact, "all parts of a split, put together in order, are what was split", undo_split},
    {"concat-pairs", exact, exact, "a concat of a concat along one axis is one", merge_concats},
    {"gather-slice", exact, exact, "rows that are known and evenly apart are sliced, not looked up", slice_gather},
    {"expanded-operand", exact, rounding, "what a binary op broadcasts is not expanded first", drop_expand},
};

}  // namespace

const std::span<const Pass> passes_of::shapes = kRows;

}  // namespace coterie
