// DepthToSpace and SpaceToDepth (PyTorch's PixelShuffle), and LRN: of images, which a model has with channels last.
#include "model_import/convert/composer.h"
#include "model_import/convert/convert.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

Result<int64_t> block_of(const Node& node) {
  const int64_t block = node.integer("blocksize", 0);
  if (block < 1 || block > 1024)
    return Error(ErrorCode::malformed, node.what() + ": its blocksize is " + std::to_string(block));
  return block;
}

Status check_image(const Node& node, const Value& x) {
  if (x.rank() != 4) return unsupported(node, "only of images (rank 4)");
  for (size_t i = 1; i < 4; ++i) {
    if (x.shape[i] < 1) return unsupported(node, "the batch must be the first dimension of its input");
  }
  return {};
}

// Channels (i, j, c), or with CRD, as PyTorch has them, (c, i, j), go to row i and column j of the block.
Status convert_depth_to_space(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_TRY(check_image(node, x));
  COT_ASSIGN(const int64_t block, block_of(node));
  const std::string mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return Error(ErrorCode::malformed, node.what() + ": its mode is " + mode);
  const int64_t batch = x.shape[0], channels = x.shape[1], height = x.shape[2], width = x.shape[3];
  if (channels % (block * block) != 0)
    return Error(ErrorCode::malformed, node.what() + ": its channels are no multiple of the block's");
  const int64_t left = channels / (block * block);
  const bool is_crd = mode == "CRD";
  const TensorIndex parts =
      context.writer.reshape(context.image(x), is_crd ? Shape{batch, height, width, left, block, block}
                                                      : Shape{batch, height, width, block, block, left});
  const TensorIndex moved = context.writer.transpose(parts, is_crd ? Order{0, 1, 4, 2, 5, 3} : Order{0, 1, 3, 2, 4, 5});
  context.define(node, 0, context.writer.reshape(moved, {batch, height * block, width * block, left}), image_order(4));
  return {};
}

// The way back of DCR.
Status convert_space_to_depth(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  COT_TRY(check_image(node, x));
  COT_ASSIGN(const int64_t block, block_of(node));
  const int64_t batch = x.shape[0], channels = x.shape[1], height = x.shape[2], width = x.shape[3];
  if (height % block != 0 || width % block != 0)
    return Error(ErrorCode::malformed, node.what() + ": its height or width is no multiple of the block's");
  const TensorIndex parts =
      context.writer.reshape(context.image(x), {batch, height / block, block, width / block, block, channels});
  const TensorIndex moved = context.writer.transpose(parts, {0, 1, 3, 2, 4, 5});
  context.define(node, 0,
                 context.writer.reshape(moved, {batch, height / block, width / block, block * block * channels}),
                 image_order(4));
  return {};
}

// x / (bias + alpha / size * (sum of x^2 over `size` channels around it))^beta. The sum is the mean of a pool over the
// channels, whose padding counts.
Status convert_lrn(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  if (x.rank() < 2 || x.shape[1] < 1) return unsupported(node, "needs [batch, channels, ...]");
  const int64_t size = node.integer("size", 0);
  if (size < 1 || size > limits::kModelDimensionMax)
    return Error(ErrorCode::malformed, node.what() + ": its size is " + std::to_string(size));
  const Order order = image_order(x.rank());
  const TensorIndex tensor = context.in_order(x, order);
  const Shape lying = context.writer.shape(tensor);
  int64_t pixels = 1;
  for (size_t i = 1; i + 1 < lying.size(); ++i) pixels *= lying[i];
  Composer make(context, node);
  TensorIndex sum =
      context.writer.reshape(make.binary(OpKind::mul, tensor, tensor), {lying[0], pixels, lying.back(), 1});
  if (size > 1) {
    Pool2dAttributes window;
    window.kernel_h = 1, window.kernel_w = static_cast<uint32_t>(size);
    window.stride_h = window.stride_w = 1;
    window.pad_left = static_cast<uint32_t>((size - 1) / 2);
    window.pad_right = static_cast<uint32_t>(size - 1 - (size - 1) / 2);
    window.count_padding = true;
    sum = make.unary(OpKind::average_pool2d, sum, window);
  }
  sum = make.binary(OpKind::mul, context.writer.reshape(sum, lying), make.number(node.real("alpha", 1e-4f)));
  sum = make.binary(OpKind::add, sum, make.number(node.real("bias", 1)));
  const TensorIndex divisor = make.binary(OpKind::pow, sum, make.number(node.real("beta", 0.75f)));
  context.define(node, 0, make.binary(OpKind::div, tensor, divisor), order);
  return {};
}

}  // namespace

Converter image_block_converter(const std::string& op) {
  if (op == "DepthToSpace") return convert_depth_to_space;
  if (op == "SpaceToDepth") return convert_space_to_depth;
  return op == "LRN" ? convert_lrn : nullptr;
}

}  // namespace coterie::model_import
