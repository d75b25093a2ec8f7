// Layers with weights, pools and normalisations.
#include <algorithm>

#include "model_import/export/context.h"

namespace coterie::model_import {
namespace {

using Attributes = std::map<std::string, Attribute>;

std::vector<int64_t> pair(uint32_t h, uint32_t w) { return {h, w}; }
std::vector<int64_t> pads(uint32_t top, uint32_t left, uint32_t bottom, uint32_t right) {
  return {top, left, bottom, right};
}

bool has(const OpInfo& op, size_t i) { return i < op.inputs.size() && op.inputs[i] != kNoTensor; }

Status export_dense(ExportContext& context, const OpInfo& op) {
  const uint32_t x = op.inputs[0];
  if (context.rank(x) == 2) {
    std::vector<std::string> inputs{context.plain(x), context.in_order(op.inputs[1], {1, 0})};
    if (has(op, 2)) inputs.push_back(context.plain(op.inputs[2]));
    context.define(op.outputs[0], context.node("Gemm", inputs, {{"transB", int64_t{1}}}));
    return {};
  }
  const auto last = static_cast<uint32_t>(context.rank(x) - 1);
  Order order = context.lying_order(x);
  if (order.back() != last) order = identity_order(context.rank(x));
  std::string y = context.node("MatMul", {context.in_order(x, order), context.plain(op.inputs[1])});
  if (has(op, 2)) y = context.node("Add", {y, context.plain(op.inputs[2])});
  context.define(op.outputs[0], y, order);
  return {};
}

Status export_conv(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<Conv2dAttributes>(op.attributes);
  Attributes attributes{{"strides", pair(a.stride_h, a.stride_w)},
                        {"dilations", pair(a.dilation_h, a.dilation_w)},
                        {"pads", pads(a.pad_top, a.pad_left, a.pad_bottom, a.pad_right)},
                        {"group", int64_t{a.groups}}};
  const bool is_transposed = op.kind == OpKind::conv_transpose2d;
  if (is_transposed) attributes["output_padding"] = pair(a.output_pad_h, a.output_pad_w);
  std::vector<std::string> inputs{context.in_order(op.inputs[0], kImageInOnnx),
                                  context.in_order(op.inputs[1], {3, 2, 0, 1})};
  if (has(op, 2)) inputs.push_back(context.plain(op.inputs[2]));
  context.define(op.outputs[0], context.node(is_transposed ? "ConvTranspose" : "Conv", inputs, attributes),
                 kImageInOnnx);
  return {};
}

Status export_pool(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<Pool2dAttributes>(op.attributes);
  // What only a cut window reaches is padding that counts for nothing; counted padding cannot say that.
  const bool is_cut = (a.ceil_h != 0 || a.ceil_w != 0) && a.count_padding;
  Attributes attributes{{"kernel_shape", pair(a.kernel_h, a.kernel_w)},
                        {"strides", pair(a.stride_h, a.stride_w)},
                        {"pads", pads(a.pad_top, a.pad_left, a.pad_bottom + (is_cut ? 0 : a.ceil_h),
                                      a.pad_right + (is_cut ? 0 : a.ceil_w))},
                        {"ceil_mode", int64_t{is_cut}}};
  const bool is_average = op.kind == OpKind::average_pool2d;
  if (is_average) attributes["count_include_pad"] = int64_t{a.count_padding};
  context.define(
      op.outputs[0],
      context.node(is_average ? "AveragePool" : "MaxPool", {context.in_order(op.inputs[0], kImageInOnnx)}, attributes),
      kImageInOnnx);
  return {};
}

Status export_global_pool(ExportContext& context, const OpInfo& op) {
  const std::string pooled = context.node("GlobalAveragePool", {context.in_order(op.inputs[0], kImageInOnnx)});
  context.define(op.outputs[0], context.node("Flatten", {pooled}, {{"axis", int64_t{1}}}));
  return {};
}

Status export_adaptive_pool(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<SizeAttributes>(op.attributes);
  const Shape& x = context.shape(op.inputs[0]);
  if (x[1] % a.height != 0 || x[2] % a.width != 0) {
    return Error(ErrorCode::invalid_argument, "op " + op.name + ": ONNX has no adaptive pooling of " +
                                                  std::to_string(x[1]) + " x " + std::to_string(x[2]) + " into " +
                                                  std::to_string(a.height) + " x " + std::to_string(a.width));
  }
  const std::vector<int64_t> window{x[1] / a.height, x[2] / a.width};
  const char* name = op.kind == OpKind::adaptive_average_pool2d ? "AveragePool" : "MaxPool";
  context.define(op.outputs[0],
                 context.node(name, {context.in_order(op.inputs[0], kImageInOnnx)},
                              {{"kernel_shape", window}, {"strides", window}}),
                 kImageInOnnx);
  return {};
}

// Channels are dimension 1 in ONNX, the last in a model.
Order channels_second(const ExportContext& context, uint32_t x) {
  const auto last = static_cast<uint32_t>(context.rank(x) - 1);
  const Order lying = context.lying_order(x);
  if (lying.size() > 1 && lying[0] == 0 && lying[1] == last) return lying;
  Order order{0, last};
  for (uint32_t i = 1; i < last; ++i) order.push_back(i);
  if (last == 1) order = {0, 1};
  return order;
}

Status export_batch_norm(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<NormAttributes>(op.attributes);
  const Order order = channels_second(context, op.inputs[0]);
  std::vector<std::string> inputs{context.in_order(op.inputs[0], order)};
  for (size_t i = 1; i < 5; ++i) inputs.push_back(context.plain(op.inputs[i]));
  context.define(op.outputs[0],
                 context.node("BatchNormalization", inputs, {{"epsilon", a.epsilon}, {"momentum", 1 - a.momentum}}),
                 order);
  return {};
}

Status export_group_norm(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<NormAttributes>(op.attributes);
  const Order order = channels_second(context, op.inputs[0]);
  const std::string x = context.in_order(op.inputs[0], order);
  const int64_t channels = context.shape(op.inputs[0]).back();
  if (int64_t{a.groups} == channels) {
    context.define(op.outputs[0],
                   context.node("InstanceNormalization", {x, context.plain(op.inputs[1]), context.plain(op.inputs[2])},
                                {{"epsilon", a.epsilon}}),
                   order);
    return {};
  }
  const std::string split = context.node("Reshape", {x, context.integers({0, a.groups, -1})});
  const std::string normed = context.node("InstanceNormalization",
                                          {split, context.reals(std::vector<float>(a.groups, 1), {a.groups}),
                                           context.reals(std::vector<float>(a.groups, 0), {a.groups})},
                                          {{"epsilon", a.epsilon}});
  const std::string merged = context.node("Reshape", {normed, context.node("Shape", {x})});
  const std::string scaled = context.node("Mul", {merged, context.broadcastable(op.inputs[1], order)});
  context.define(op.outputs[0], context.node("Add", {scaled, context.broadcastable(op.inputs[2], order)}), order);
  return {};
}

Status export_layer_norm(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<NormAttributes>(op.attributes);
  const size_t rank = context.rank(op.inputs[0]);
  Order order = context.lying_order(op.inputs[0]);
  for (size_t i = rank - a.axes; i < rank; ++i) {
    if (order[i] != i) order = identity_order(rank);
  }
  const std::string x = context.in_order(op.inputs[0], order);
  const int64_t axis = -static_cast<int64_t>(a.axes);
  const Shape& shape = context.shape(op.inputs[0]);
  const Shape normalised(shape.end() + axis, shape.end());
  if (op.kind == OpKind::rms_norm) {
    std::vector<int64_t> axes;
    for (int64_t i = axis; i < 0; ++i) axes.push_back(i);
    const std::string square = context.node("Pow", {x, context.real(2)});
    const std::string mean = context.node("ReduceMean", {square}, {{"axes", axes}});
    const std::string root = context.node("Sqrt", {context.node("Add", {mean, context.real(a.epsilon)})});
    context.define(op.outputs[0], context.node("Mul", {context.node("Div", {x, root}), context.plain(op.inputs[1])}),
                   order);
    return {};
  }
  std::vector<std::string> inputs{x};
  if (has(op, 1)) inputs.push_back(context.plain(op.inputs[1]));
  else inputs.push_back(context.reals(std::vector<float>(*element_count(normalised), 1), normalised));
  if (has(op, 2)) inputs.push_back(context.plain(op.inputs[2]));
  context.define(op.outputs[0], context.node("LayerNormalization", inputs, {{"axis", axis}, {"epsilon", a.epsilon}}),
                 order);
  return {};
}

Status export_matmul(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<MatmulAttributes>(op.attributes);
  const auto operand = [&](size_t i, bool is_transposed) {
    Order order = identity_order(context.rank(op.inputs[i]));
    if (is_transposed) std::swap(order[order.size() - 1], order[order.size() - 2]);
    return context.in_order(op.inputs[i], order);
  };
  std::string y = context.node("MatMul", {operand(0, a.transpose_a), operand(1, a.transpose_b)});
  if (a.scale != 1) y = context.node("Mul", {y, context.real(a.scale)});
  context.define(op.outputs[0], y);
  return {};
}

Status export_embedding(ExportContext& context, const OpInfo& op) {
  context.define(op.outputs[0], context.node("Gather", {context.plain(op.inputs[0]), context.plain(op.inputs[1])}));
  return {};
}

}  // namespace

Exporter layer_exporter(OpKind kind) {
  switch (kind) {
    case OpKind::dense: return export_dense;
    case OpKind::conv2d:
    case OpKind::conv_transpose2d: return export_conv;
    case OpKind::max_pool2d:
    case OpKind::average_pool2d: return export_pool;
    case OpKind::global_average_pool2d: return export_global_pool;
    case OpKind::adaptive_average_pool2d:
    case OpKind::adaptive_max_pool2d: return export_adaptive_pool;
    case OpKind::batch_norm: return export_batch_norm;
    case OpKind::group_norm: return export_group_norm;
    case OpKind::layer_norm:
    case OpKind::rms_norm: return export_layer_norm;
    case OpKind::matmul: return export_matmul;
    case OpKind::embedding: return export_embedding;
    default: return nullptr;
  }
}

}  // namespace coterie::model_import
