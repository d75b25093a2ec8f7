// Conv and ConvTranspose, of images and of sequences (which are images of height 1).
#include <map>

#include "model_import/convert/convert.h"
#include "model_import/convert/window.h"

namespace coterie::model_import {
namespace {

struct Geometry {
  Window h, w;  // of a sequence: h is one row
};

Result<Geometry> geometry_of(const Node& node, const Shape& x, const Shape& weight) {
  const size_t spatial = x.size() - 2;
  Geometry geometry;
  for (size_t i = 0; i < spatial; ++i) {
    COT_ASSIGN(const Window window, window_of(node, i, spatial, x[i + 2], weight[i + 2]));
    (i + 1 == spatial ? geometry.w : geometry.h) = window;
  }
  return geometry;
}

Result<Conv2dAttributes> attributes_of(const Node& node, const Geometry& g) {
  Conv2dAttributes a;
  a.stride_h = g.h.stride, a.stride_w = g.w.stride;
  a.pad_top = g.h.pad_before, a.pad_left = g.w.pad_before, a.pad_bottom = g.h.pad_after, a.pad_right = g.w.pad_after;
  a.dilation_h = g.h.dilation, a.dilation_w = g.w.dilation;
  const int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > limits::kModelDimensionMax)
    return Error(ErrorCode::malformed, node.what() + ": group must be at least 1");
  a.groups = static_cast<uint32_t>(groups);
  return a;
}

// [batch, length, channels] as an image of one row.
TensorIndex lifted(Context& context, Value& x) {
  const TensorIndex tensor = context.image(x);
  if (x.rank() == 4) return tensor;
  Shape shape = context.writer.shape(tensor);
  shape.insert(shape.begin() + 1, 1);
  return context.writer.reshape(tensor, shape);
}

TensorIndex lowered(Context& context, TensorIndex tensor, size_t rank) {
  if (rank == 4) return tensor;
  Shape shape = context.writer.shape(tensor);
  shape.erase(shape.begin() + 1);
  return context.writer.reshape(tensor, shape);
}

Status check_operands(Context& context, const Node& node) {
  const Value &x = context.in(node, 0), &weight = context.in(node, 1);
  if (x.rank() != 3 && x.rank() != 4)
    return unsupported(node, "only of images (rank 4) and sequences (rank 3), not of rank " + std::to_string(x.rank()));
  if (weight.rank() != x.rank())
    return Error(ErrorCode::malformed, node.what() + ": its weight must have the rank of its input");
  for (size_t i = 1; i < x.rank(); ++i) {
    if (x.shape[i] < 0) return unsupported(node, "the batch must be the first dimension of its input");
  }
  return {};
}

Order weight_order(size_t rank) { return rank == 4 ? Order{2, 3, 1, 0} : Order{2, 1, 0}; }

Status convert_conv(Context& context, const Node& node) {
  COT_TRY(check_operands(context, node));
  Value& x = context.in(node, 0);
  const Shape weight_shape = context.in(node, 1).shape;
  COT_ASSIGN(const Geometry geometry, geometry_of(node, x.shape, weight_shape));
  COT_ASSIGN(const Conv2dAttributes attributes, attributes_of(node, geometry));
  if (weight_shape[1] * attributes.groups != x.shape[1]) {
    return Error(ErrorCode::malformed, node.what() + ": its input has " + std::to_string(x.shape[1]) +
                                           " channels, its weight is for " +
                                           std::to_string(weight_shape[1] * attributes.groups));
  }
  COT_ASSIGN(const int64_t height, convolved_size(node, x.rank() == 4 ? x.shape[2] : 1, geometry.h));
  COT_ASSIGN(const int64_t width, convolved_size(node, x.shape.back(), geometry.w));
  std::vector<uint32_t> inputs{lifted(context, x)};
  COT_ASSIGN(const TensorIndex weight, context.weight(node, 1, "weight", weight_order(x.rank()), 4 - x.rank()));
  inputs.push_back(weight);
  if (node.has_input(2)) {
    COT_ASSIGN(const TensorIndex bias, context.vector_parameter(node, 2, "bias", weight_shape[0]));
    inputs.push_back(bias);
  }
  const TensorIndex y = context.writer.op(OpKind::conv2d, name_of(node), std::move(inputs), attributes,
                                          {x.shape[0], height, width, weight_shape[0]});
  context.define(node, 0, lowered(context, y, x.rank()), image_order(x.rank()));
  return {};
}

Status convert_conv_transpose(Context& context, const Node& node) {
  COT_TRY(check_operands(context, node));
  Value& x = context.in(node, 0);
  const Shape weight_shape = context.in(node, 1).shape;
  if (!node.integers("output_shape").empty() || node.text("auto_pad", "NOTSET") != "NOTSET") {
    return unsupported(node, "output_shape and auto_pad: say the padding with pads and output_padding");
  }
  COT_ASSIGN(const Geometry geometry, geometry_of(node, x.shape, weight_shape));
  COT_ASSIGN(Conv2dAttributes attributes, attributes_of(node, geometry));
  if (weight_shape[0] != x.shape[1])
    return Error(ErrorCode::malformed, node.what() + ": its weight is for other channels");
  const std::vector<int64_t> extra = node.integers("output_padding");
  const size_t spatial = x.rank() - 2;
  if (!extra.empty() && extra.size() != spatial)
    return Error(ErrorCode::malformed, node.what() + ": output_padding has the wrong length");
  if (!extra.empty()) {
    for (const int64_t e : extra) {
      if (e < 0 || e > limits::kModelDimensionMax)
        return Error(ErrorCode::malformed, node.what() + ": output_padding is negative");
    }
    attributes.output_pad_h = spatial == 2 ? static_cast<uint32_t>(extra[0]) : 0;
    attributes.output_pad_w = static_cast<uint32_t>(extra.back());
  }
  const auto size = [](int64_t in, const Window& w, uint32_t more) {
    return int64_t{w.stride} * (in - 1) + more + int64_t{w.dilation} * (w.kernel - 1) + 1 - w.pad_before - w.pad_after;
  };
  const int64_t height = size(x.rank() == 4 ? x.shape[2] : 1, geometry.h, attributes.output_pad_h);
  const int64_t width = size(x.shape.back(), geometry.w, attributes.output_pad_w);
  if (height < 1 || width < 1 || height > limits::kModelDimensionMax || width > limits::kModelDimensionMax) {
    return Error(ErrorCode::malformed, node.what() + ": its output would have no elements, or too many");
  }
  const int64_t filters = weight_shape[1] * attributes.groups;
  std::vector<uint32_t> inputs{lifted(context, x)};
  COT_ASSIGN(const TensorIndex weight, context.weight(node, 1, "weight", weight_order(x.rank()), 4 - x.rank()));
  inputs.push_back(weight);
  if (node.has_input(2)) {
    COT_ASSIGN(const TensorIndex bias, context.vector_parameter(node, 2, "bias", filters));
    inputs.push_back(bias);
  }
  const TensorIndex y = context.writer.op(OpKind::conv_transpose2d, name_of(node), std::move(inputs), attributes,
                                          {x.shape[0], height, width, filters});
  context.define(node, 0, lowered(context, y, x.rank()), image_order(x.rank()));
  return {};
}

}  // namespace

Converter convolution_converter(const std::string& op) {
  if (op == "Conv") return convert_conv;
  if (op == "ConvTranspose") return convert_conv_transpose;
  return nullptr;
}

}  // namespace coterie::model_import
