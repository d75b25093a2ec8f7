#include "proto/messages/model.h"

#include <array>

#include "base/checked.h"
#include "base/text/concat.h"

namespace coterie {
namespace {

constexpr std::array<std::string_view, kOpKinds> kOpNames = {
    "dense",
    "conv2d",
    "max_pool2d",
    "average_pool2d",
    "global_average_pool2d",
    "relu",
    "add",
    "flatten",
    "reshape",
    "matmul",
    "conv_transpose2d",
    "adaptive_average_pool2d",
    "adaptive_max_pool2d",
    "batch_norm",
    "layer_norm",
    "rms_norm",
    "group_norm",
    "relu6",
    "leaky_relu",
    "prelu",
    "elu",
    "selu",
    "gelu",
    "gelu_tanh",
    "sigmoid",
    "hard_sigmoid",
    "hard_swish",
    "swish",
    "tanh",
    "softplus",
    "clip",
    "sqrt",
    "exp",
    "log",
    "abs",
    "neg",
    "reciprocal",
    "erf",
    "softmax",
    "log_softmax",
    "sub",
    "mul",
    "div",
    "pow",
    "minimum",
    "maximum",
    "where",
    "equal",
    "less",
    "greater",
    "cast",
    "reduce_sum",
    "reduce_mean",
    "reduce_max",
    "reduce_min",
    "reduce_l2",
    "concat",
    "split",
    "slice",
    "pad",
    "gather",
    "embedding",
    "expand",
    "transpose",
    "resize2d",
    "dropout",
    "lstm",
    "gru",
    "rnn",
    "attention",
    "identity",
};

}  // namespace

std::string_view to_string(DataType type) {
  switch (type) {
    case DataType::float32: return "float32";
    case DataType::int32: return "int32";
  }
  return "unknown";
}

std::string_view to_string(OpKind kind) {
  const size_t index = static_cast<size_t>(kind) - 1;
  return index < kOpKinds ? kOpNames[index] : "unknown";
}

OpAttributes default_attributes(OpKind kind) {
  switch (kind) {
    case OpKind::conv2d:
    case OpKind::conv_transpose2d: return Conv2dAttributes{};
    case OpKind::max_pool2d:
    case OpKind::average_pool2d: return Pool2dAttributes{};
    case OpKind::reshape:
    case OpKind::expand: return ShapeAttributes{};
    case OpKind::matmul: return MatmulAttributes{};
    case OpKind::adaptive_average_pool2d:
    case OpKind::adaptive_max_pool2d: return SizeAttributes{};
    case OpKind::batch_norm:
    case OpKind::layer_norm:
    case OpKind::rms_norm:
    case OpKind::group_norm: return NormAttributes{};
    case OpKind::leaky_relu:
    case OpKind::elu:
    case OpKind::hard_sigmoid:
    case OpKind::clip: return UnaryAttributes{};
    case OpKind::softmax:
    case OpKind::log_softmax:
    case OpKind::concat:
    case OpKind::gather: return AxisAttributes{};
    case OpKind::cast: return CastAttributes{};
    case OpKind::reduce_sum:
    case OpKind::reduce_mean:
    case OpKind::reduce_max:
    case OpKind::reduce_min:
    case OpKind::reduce_l2: return ReduceAttributes{};
    case OpKind::split: return SplitAttributes{};
    case OpKind::slice: return SliceAttributes{};
    case OpKind::pad: return PadAttributes{};
    case OpKind::transpose: return TransposeAttributes{};
    case OpKind::resize2d: return Resize2dAttributes{};
    case OpKind::dropout: return DropoutAttributes{};
    case OpKind::lstm:
    case OpKind::gru:
    case OpKind::rnn: return RnnAttributes{};
    case OpKind::attention: return AttentionAttributes{};
    default: return {};
  }
}

Result<uint64_t> element_count(const Shape& shape) {
  uint64_t count = 1;
  for (int64_t dimension : shape) {
    if (dimension < 1)
      return Error(ErrorCode::malformed, concat({"a dimension is ", dimension, ", must be at least 1"}));
    const auto product = checked_multiply(count, static_cast<uint64_t>(dimension));
    if (!product) return Error(ErrorCode::malformed, "the number of elements of a shape overflows");
    count = *product;
  }
  return count;
}

Shape at_batch(const Shape& shape, uint64_t batch) {
  Shape resolved = shape;
  for (int64_t& dimension : resolved) {
    if (dimension < 0) dimension *= -static_cast<int64_t>(batch);
  }
  return resolved;
}

}  // namespace coterie
