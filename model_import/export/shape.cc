// Ops that move, join and cut, reductions, and attention written out.
#include <algorithm>
#include <cmath>
#include <limits>

#include "model_import/export/context.h"
#include "model_import/fold/reshape.h"
#include "model_import/graph/order.h"

namespace coterie::model_import {
namespace {

Status export_reshape(ExportContext& context, const OpInfo& op) {
  const uint32_t x = op.inputs[0];
  const Node at{.op = "reshape", .name = op.name, .inputs = {}, .outputs = {}, .attributes = {}};
  const Shape& to = context.shape(op.outputs[0]);
  COT_ASSIGN(std::vector<ReshapeGroup> groups, reshape_groups(at, context.shape(x), to));
  const ReshapeOrders orders = keep_lying(groups, context.lying_order(x), context.shape(x));
  context.define(op.outputs[0], context.reshape(context.in_order(x, orders.from), permuted(to, orders.to)), orders.to);
  return {};
}

Status export_transpose(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<TransposeAttributes>(op.attributes);
  const Order lying = context.lying_order(op.inputs[0]);
  Order order;
  for (const uint32_t axis : lying) {
    order.push_back(static_cast<uint32_t>(std::ranges::find(a.order, static_cast<int64_t>(axis)) - a.order.begin()));
  }
  context.define(op.outputs[0], context.in_order(op.inputs[0], lying), order);
  return {};
}

Status export_expand(ExportContext& context, const OpInfo& op) {
  const Order order = identity_order(context.rank(op.outputs[0]));
  const std::string shape = context.shape_value(context.shape(op.outputs[0]));
  context.define(op.outputs[0], context.node("Expand", {context.plain(op.inputs[0]), shape}), order);
  return {};
}

Status export_reduce(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<ReduceAttributes>(op.attributes);
  const Order order = context.lying_order(op.inputs[0]);
  std::vector<int64_t> axes;
  Order left;
  for (uint32_t i = 0; i < order.size(); ++i) {
    const bool goes = std::ranges::count(a.axes, static_cast<int64_t>(order[i])) != 0;
    if (goes) axes.push_back(i);
    if (goes && !a.keep_dimensions) continue;
    const auto gone =
        std::ranges::count_if(a.axes, [&](int64_t axis) { return axis < static_cast<int64_t>(order[i]); });
    left.push_back(order[i] - static_cast<uint32_t>(a.keep_dimensions ? 0 : gone));
  }
  const std::string x = context.in_order(op.inputs[0], order);
  const auto keeps = int64_t{a.keep_dimensions};
  std::string y;
  switch (op.kind) {
    case OpKind::reduce_sum: y = context.node("ReduceSum", {x, context.integers(axes)}, {{"keepdims", keeps}}); break;
    case OpKind::reduce_mean: y = context.node("ReduceMean", {x}, {{"axes", axes}, {"keepdims", keeps}}); break;
    case OpKind::reduce_max: y = context.node("ReduceMax", {x}, {{"axes", axes}, {"keepdims", keeps}}); break;
    case OpKind::reduce_min: y = context.node("ReduceMin", {x}, {{"axes", axes}, {"keepdims", keeps}}); break;
    default: y = context.node("ReduceL2", {x}, {{"axes", axes}, {"keepdims", keeps}}); break;
  }
  context.define(op.outputs[0], y, left);
  return {};
}

Status export_concat(ExportContext& context, const OpInfo& op) {
  const Order order = context.leading_order(op);
  std::vector<std::string> parts;
  for (const uint32_t input : op.inputs) parts.push_back(context.in_order(input, order));
  const auto axis = static_cast<int64_t>(position_of(order, std::get<AxisAttributes>(op.attributes).axis));
  context.define(op.outputs[0], context.node("Concat", parts, {{"axis", axis}}), order);
  return {};
}

Status export_split(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<SplitAttributes>(op.attributes);
  const Order order = context.lying_order(op.inputs[0]);
  const std::string x = context.in_order(op.inputs[0], order);
  context.node("Split", {x, context.integers(a.sizes)}, {{"axis", static_cast<int64_t>(position_of(order, a.axis))}});
  Node& node = context.graph.nodes.back();
  node.outputs.clear();
  for (size_t i = 0; i < a.sizes.size(); ++i) node.outputs.push_back(context.unique(op.name + ".part"));
  const std::vector<std::string> names = node.outputs;
  for (size_t i = 0; i < names.size(); ++i) {
    if (op.outputs[i] != kNoTensor) context.define(op.outputs[i], names[i], order);
  }
  return {};
}

Status export_slice(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<SliceAttributes>(op.attributes);
  const Order order = context.lying_order(op.inputs[0]);
  std::vector<int64_t> axes, ends;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    axes.push_back(position_of(order, static_cast<uint32_t>(a.axes[i])));
    const int64_t end = a.starts[i] + a.counts[i] * a.steps[i];
    ends.push_back(end < 0 ? std::numeric_limits<int64_t>::min() + 1 : end);
  }
  context.define(op.outputs[0],
                 context.node("Slice", {context.in_order(op.inputs[0], order), context.integers(a.starts),
                                        context.integers(ends), context.integers(axes), context.integers(a.steps)}),
                 order);
  return {};
}

Status export_pad(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<PadAttributes>(op.attributes);
  const Order order = context.lying_order(op.inputs[0]);
  std::vector<int64_t> pads;
  for (const uint32_t axis : order) pads.push_back(a.before[axis]);
  for (const uint32_t axis : order) pads.push_back(a.after[axis]);
  context.define(
      op.outputs[0],
      context.node("Pad", {context.in_order(op.inputs[0], order), context.integers(pads), context.real(a.value)}),
      order);
  return {};
}

Status export_gather(ExportContext& context, const OpInfo& op) {
  const auto axis = static_cast<int64_t>(std::get<AxisAttributes>(op.attributes).axis);
  context.define(op.outputs[0],
                 context.node("Gather", {context.plain(op.inputs[0]), context.plain(op.inputs[1])}, {{"axis", axis}}));
  return {};
}

Status export_flatten(ExportContext& context, const OpInfo& op) {
  context.define(op.outputs[0], context.node("Flatten", {context.plain(op.inputs[0])}, {{"axis", int64_t{1}}}));
  return {};
}

// With this scale ONNX's floor(in * scale) is exactly `out`.
float scale_to(int64_t in, uint32_t out, float scale) {
  if (scale == 0) scale = static_cast<float>(out) / static_cast<float>(in);
  while (std::floor(static_cast<float>(in) * scale) < static_cast<float>(out)) scale = std::nextafter(scale, 1e9f);
  return scale;
}

Status export_resize(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<Resize2dAttributes>(op.attributes);
  constexpr const char* kCoordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"};
  constexpr const char* kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  const Shape& x = context.shape(op.inputs[0]);
  const std::string scales =
      context.reals({1, 1, scale_to(x[1], a.height, a.scale_h), scale_to(x[2], a.width, a.scale_w)}, {4});
  const std::map<std::string, Attribute> attributes{
      {"mode", std::string(a.mode == ResizeMode::nearest ? "nearest" : "linear")},
      {"coordinate_transformation_mode", std::string(kCoordinates[static_cast<size_t>(a.coordinates)])},
      {"nearest_mode", std::string(kRoundings[static_cast<size_t>(a.rounding)])}};
  const Order order{0, 3, 1, 2};
  context.define(op.outputs[0], context.node("Resize", {context.in_order(op.inputs[0], order), "", scales}, attributes),
                 order);
  return {};
}

// softmax(scale q k^T + mask) v, a head at a time.
Status export_attention(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<AttentionAttributes>(op.attributes);
  const Shape &q = context.shape(op.inputs[0]), &k = context.shape(op.inputs[1]);
  const int64_t heads = a.heads, width = q[2] / heads;
  const auto head = [&](size_t i, std::vector<int64_t> permutation) {
    const std::string split =
        context.node("Reshape", {context.plain(op.inputs[i]), context.integers({0, 0, heads, -1})});
    return context.node("Transpose", {split}, {{"perm", std::move(permutation)}});
  };
  const float scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<float>(width));
  std::string scores = context.node("MatMul", {head(0, {0, 2, 1, 3}), head(1, {0, 2, 3, 1})});
  scores = context.node("Mul", {scores, context.real(scale)});
  if (a.is_causal) {
    std::vector<float> later;
    for (int64_t t = 0; t < q[1]; ++t) {
      for (int64_t s = 0; s < k[1]; ++s) later.push_back(s > t ? -std::numeric_limits<float>::infinity() : 0);
    }
    scores = context.node("Add", {scores, context.reals(later, {q[1], k[1]})});
  }
  if (op.inputs.size() > 3 && op.inputs[3] != kNoTensor)
    scores = context.node("Add", {scores, context.plain(op.inputs[3])});
  const std::string weights = context.node("Softmax", {scores}, {{"axis", int64_t{-1}}});
  const std::string mixed = context.node("MatMul", {weights, head(2, {0, 2, 1, 3})});
  const std::string joined = context.node("Transpose", {mixed}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  context.define(op.outputs[0], context.node("Reshape", {joined, context.integers({0, 0, q[2]})}));
  return {};
}

}  // namespace

Exporter shape_exporter(OpKind kind) {
  switch (kind) {
    case OpKind::reshape: return export_reshape;
    case OpKind::flatten: return export_flatten;
    case OpKind::transpose: return export_transpose;
    case OpKind::expand: return export_expand;
    case OpKind::reduce_sum:
    case OpKind::reduce_mean:
    case OpKind::reduce_max:
    case OpKind::reduce_min:
    case OpKind::reduce_l2: return export_reduce;
    case OpKind::concat: return export_concat;
    case OpKind::split: return export_split;
    case OpKind::slice: return export_slice;
    case OpKind::pad: return export_pad;
    case OpKind::gather: return export_gather;
    case OpKind::resize2d: return export_resize;
    case OpKind::attention: return export_attention;
    default: return nullptr;
  }
}

}  // namespace coterie::model_import
