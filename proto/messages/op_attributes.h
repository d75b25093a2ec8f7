// What the ops of a model are told beside their operands. One struct for each family of ops; a struct names its fields
// once, in fields(), and everything that reads, writes or compares attributes goes through that.
//
// Axes count from 0 over the whole shape, the batch included. A size of -k in a shape stands for k times the batch.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace coterie {

// Dimensions. In a model file a dimension of -k stands for k times the batch.
using Shape = std::vector<int64_t>;

// Calls visit(name, field) for each field; `Self` is the struct, const or not.
#define COT_FIELDS(...)                        \
  template <class Self, class Visit>           \
  static void fields(Self& s, Visit&& visit) { \
    __VA_ARGS__                                \
  }

struct Conv2dAttributes {
  uint32_t stride_h = 1, stride_w = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  uint32_t groups = 1;
  uint32_t dilation_h = 1, dilation_w = 1;
  uint32_t output_pad_h = 0, output_pad_w = 0;  // conv_transpose2d: rows and columns added at the bottom and right
  COT_FIELDS(visit("stride_h", s.stride_h); visit("stride_w", s.stride_w); visit("pad_top", s.pad_top);
             visit("pad_left", s.pad_left); visit("pad_bottom", s.pad_bottom); visit("pad_right", s.pad_right);
             visit("groups", s.groups); visit("dilation_h", s.dilation_h); visit("dilation_w", s.dilation_w);
             visit("output_pad_h", s.output_pad_h); visit("output_pad_w", s.output_pad_w);)
  friend bool operator==(const Conv2dAttributes&, const Conv2dAttributes&) = default;
};

struct Pool2dAttributes {
  uint32_t kernel_h = 1, kernel_w = 1;
  uint32_t stride_h = 1, stride_w = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  uint32_t ceil_h = 0, ceil_w = 0;  // rows and columns behind the padding that only a last, cut window reaches
  bool count_padding = false;       // average: padding counts as zeros (ONNX: count_include_pad)
  COT_FIELDS(visit("kernel_h", s.kernel_h); visit("kernel_w", s.kernel_w); visit("stride_h", s.stride_h);
             visit("stride_w", s.stride_w); visit("pad_top", s.pad_top); visit("pad_left", s.pad_left);
             visit("pad_bottom", s.pad_bottom); visit("pad_right", s.pad_right); visit("ceil_h", s.ceil_h);
             visit("ceil_w", s.ceil_w); visit("count_padding", s.count_padding);)
  friend bool operator==(const Pool2dAttributes&, const Pool2dAttributes&) = default;
};

// Size of the output image: adaptive pooling, resize2d.
struct SizeAttributes {
  uint32_t height = 1, width = 1;
  COT_FIELDS(visit("height", s.height); visit("width", s.width);)
  friend bool operator==(const SizeAttributes&, const SizeAttributes&) = default;
};

enum class ResizeMode : uint8_t { nearest = 0, bilinear = 1 };
enum class ResizeCoordinates : uint8_t { half_pixel = 0, pytorch_half_pixel = 1, align_corners = 2, asymmetric = 3 };
enum class ResizeRounding : uint8_t { round_prefer_floor = 0, round_prefer_ceil = 1, floor = 2, ceil = 3 };

// ONNX Resize, of images.
struct Resize2dAttributes {
  uint32_t height = 1, width = 1;
  float scale_h = 0, scale_w = 0;  // output / input as the exporter gave it; 0: the ratio of the sizes
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  ResizeRounding rounding = ResizeRounding::round_prefer_floor;
  COT_FIELDS(visit("height", s.height); visit("width", s.width); visit("scale_h", s.scale_h);
             visit("scale_w", s.scale_w); visit("mode", s.mode); visit("coordinates", s.coordinates);
             visit("rounding", s.rounding);)
  friend bool operator==(const Resize2dAttributes&, const Resize2dAttributes&) = default;
};

struct MatmulAttributes {
  bool transpose_a = false, transpose_b = false;  // the last two dimensions
  float scale = 1;                                // of the product
  COT_FIELDS(visit("transpose_a", s.transpose_a); visit("transpose_b", s.transpose_b); visit("scale", s.scale);)
  friend bool operator==(const MatmulAttributes&, const MatmulAttributes&) = default;
};

struct NormAttributes {
  float epsilon = 1e-5f;
  float momentum = 0.1f;   // batch_norm: running = (1 - momentum) running + momentum new, as PyTorch has it
  uint32_t groups = 1;     // group_norm
  uint32_t axes = 1;       // layer_norm, rms_norm: how many of the last dimensions are normalised together
  bool is_frozen = false;  // batch_norm: always with the running statistics, which then never change
  COT_FIELDS(visit("epsilon", s.epsilon); visit("momentum", s.momentum); visit("groups", s.groups);
             visit("axes", s.axes); visit("is_frozen", s.is_frozen);)
  friend bool operator==(const NormAttributes&, const NormAttributes&) = default;
};

// leaky_relu, elu, selu: alpha; hard_sigmoid: clip(alpha x + beta, 0, 1); clip: [alpha, beta].
struct UnaryAttributes {
  float alpha = 0, beta = 0;
  COT_FIELDS(visit("alpha", s.alpha); visit("beta", s.beta);)
  friend bool operator==(const UnaryAttributes&, const UnaryAttributes&) = default;
};

struct AxisAttributes {
  uint32_t axis = 0;
  COT_FIELDS(visit("axis", s.axis);)
  friend bool operator==(const AxisAttributes&, const AxisAttributes&) = default;
};

struct ReduceAttributes {
  std::vector<int64_t> axes;  // ascending
  bool keep_dimensions = true;
  COT_FIELDS(visit("axes", s.axes); visit("keep_dimensions", s.keep_dimensions);)
  friend bool operator==(const ReduceAttributes&, const ReduceAttributes&) = default;
};

// reshape, expand.
struct ShapeAttributes {
  Shape shape;
  COT_FIELDS(visit("shape", s.shape);)
  friend bool operator==(const ShapeAttributes&, const ShapeAttributes&) = default;
};

struct TransposeAttributes {
  std::vector<int64_t> order;  // dimension i of the output is dimension order[i] of the input
  COT_FIELDS(visit("order", s.order);)
  friend bool operator==(const TransposeAttributes&, const TransposeAttributes&) = default;
};

struct SplitAttributes {
  uint32_t axis = 0;
  std::vector<int64_t> sizes;  // one an output
  COT_FIELDS(visit("axis", s.axis); visit("sizes", s.sizes);)
  friend bool operator==(const SplitAttributes&, const SplitAttributes&) = default;
};

// Along axes[i]: `counts[i]` positions from `starts[i]`, `steps[i]` apart (not 0; negative goes back).
struct SliceAttributes {
  std::vector<int64_t> axes, starts, counts, steps;
  COT_FIELDS(visit("axes", s.axes); visit("starts", s.starts); visit("counts", s.counts); visit("steps", s.steps);)
  friend bool operator==(const SliceAttributes&, const SliceAttributes&) = default;
};

// Constant padding, one number a dimension; negative cuts.
struct PadAttributes {
  std::vector<int64_t> before, after;
  float value = 0;
  COT_FIELDS(visit("before", s.before); visit("after", s.after); visit("value", s.value);)
  friend bool operator==(const PadAttributes&, const PadAttributes&) = default;
};

struct DropoutAttributes {
  float rate = 0.5f;  // of values that become 0 while training; the others are divided by 1 - rate
  COT_FIELDS(visit("rate", s.rate);)
  friend bool operator==(const DropoutAttributes&, const DropoutAttributes&) = default;
};

struct RnnAttributes {
  uint32_t hidden = 1;
  bool is_reverse = false;
  bool reset_after = true;  // gru: the reset gate multiplies r h + bias (PyTorch; ONNX: linear_before_reset), not h
  bool is_relu = false;     // rnn: ReLU instead of tanh
  COT_FIELDS(visit("hidden", s.hidden); visit("is_reverse", s.is_reverse); visit("reset_after", s.reset_after);
             visit("is_relu", s.is_relu);)
  friend bool operator==(const RnnAttributes&, const RnnAttributes&) = default;
};

struct AttentionAttributes {
  uint32_t heads = 1;
  bool is_causal = false;
  float scale = 0;  // of q k^T; 0: 1 / sqrt(head size)
  COT_FIELDS(visit("heads", s.heads); visit("is_causal", s.is_causal); visit("scale", s.scale);)
  friend bool operator==(const AttentionAttributes&, const AttentionAttributes&) = default;
};

struct CastAttributes {
  uint8_t type = 1;  // a DataType
  COT_FIELDS(visit("type", s.type);)
  friend bool operator==(const CastAttributes&, const CastAttributes&) = default;
};

#undef COT_FIELDS

using OpAttributes =
    std::variant<std::monostate, Conv2dAttributes, Pool2dAttributes, SizeAttributes, Resize2dAttributes,
                 MatmulAttributes, NormAttributes, UnaryAttributes, AxisAttributes, ReduceAttributes, ShapeAttributes,
                 TransposeAttributes, SplitAttributes, SliceAttributes, PadAttributes, DropoutAttributes, RnnAttributes,
                 AttentionAttributes, CastAttributes>;

}  // namespace coterie
