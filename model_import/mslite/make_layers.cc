// Operators with weights, norms, pools and resizing.
#include <algorithm>

#include "model_import/graph/order.h"
#include "model_import/mslite/node_maker.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

// The last dimension as the second, where ONNX has channels, and back.
std::string channels_first(NodeMaker& make, const std::string& value, size_t rank) {
  if (rank < 3) return value;
  std::vector<int64_t> perm{0, static_cast<int64_t>(rank) - 1};
  for (size_t d = 1; d + 1 < rank; ++d) perm.push_back(static_cast<int64_t>(d));
  return make.node("Transpose", {value}, {{"perm", perm}});
}
std::string channels_last(NodeMaker& make, const std::string& value, size_t rank) {
  if (rank < 3) return value;
  std::vector<int64_t> perm{0};
  for (size_t d = 2; d < rank; ++d) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(1);
  return make.node("Transpose", {value}, {{"perm", perm}});
}

void add_padding(const MsliteAttributes& a, std::map<std::string, Attribute>& attributes) {
  attributes["strides"] = std::vector<int64_t>{a.stride_h, a.stride_w};
  if (a.is_same) attributes["auto_pad"] = std::string("SAME_UPPER");
  else attributes["pads"] = std::vector<int64_t>{a.pads[0], a.pads[2], a.pads[1], a.pads[3]};
}

// A bias of one number an output, if there is one.
Result<std::vector<std::string>> with_bias(NodeMaker& make, std::vector<std::string> inputs, size_t at) {
  if (make.input_count() <= at) return inputs;
  COT_ASSIGN(const std::string bias, make.table(at, {0}));
  inputs.push_back(bias);
  return inputs;
}

// What all convolutions have in common: an image, weights of rank 4 in the format's order, a group.
Result<int64_t> checked_group(const NodeMaker& make, int64_t channels_of_group) {
  const Shape& w = make.input(1).shape;
  const MsliteAttributes& a = make.attributes();
  if (make.input(1).layout != MsliteLayout::nhwc && make.input(1).layout != MsliteLayout::khwc) {
    return no_counterpart("its weights " + make.input(1).name + " are laid out neither as NHWC nor as KHWC");
  }
  if ((a.kernel_h != 0 && a.kernel_h != w[1]) || (a.kernel_w != 0 && a.kernel_w != w[2])) {
    return does_not_fit("its kernel_size is not that of its weights");
  }
  const int64_t group = a.group == 0 ? w[0] : a.group, channels = make.input(0).shape[3];
  if (group > limits::kModelDimensionMax || w[0] % group != 0) {
    return does_not_fit("its group of " + std::to_string(group) + " does not fit weights of " + std::to_string(w[0]));
  }
  if (channels > 0 && channels != channels_of_group * group) {
    return does_not_fit("its weights are for " + std::to_string(channels_of_group * group) +
                        " channels, its input has " + std::to_string(channels));
  }
  return group;
}

Status make_convolution(NodeMaker& make) {
  COT_TRY(make.need_image(0));
  COT_TRY(make.need_rank(1, 4));
  const MsliteAttributes& a = make.attributes();
  const Shape& w = make.input(1).shape;
  COT_ASSIGN(const int64_t group, checked_group(make, w[3]));
  COT_ASSIGN(const std::string in, make.read(0));
  COT_ASSIGN(const std::string weight, make.table(1, {0, 3, 1, 2}));
  COT_ASSIGN(std::vector<std::string> inputs, with_bias(make, {make.nchw(in), weight}, 2));
  std::map<std::string, Attribute> attributes{{"dilations", std::vector<int64_t>{a.dilation_h, a.dilation_w}},
                                              {"kernel_shape", std::vector<int64_t>{w[1], w[2]}},
                                              {"group", group}};
  add_padding(a, attributes);
  return make.define(make.nhwc(make.node("Conv", std::move(inputs), std::move(attributes))));
}

// One dimension with SAME: the output has `stride` places for each of the input, and what is added.
struct SameCut {
  int64_t before = 0, after = 0, more = 0;
};
Result<SameCut> same_cut(int64_t stride, int64_t kernel, int64_t dilation, int64_t output_pad) {
  const int64_t over = (kernel - 1) * dilation + 1 - stride - output_pad;
  SameCut cut;
  if (over < -1) return no_counterpart("its stride is larger than its kernel");
  if (over < 0) cut.more = 1;
  else cut.before = over / 2, cut.after = over - over / 2;
  return cut;
}

Status make_transposed(NodeMaker& make) {
  COT_TRY(make.need_image(0));
  COT_TRY(make.need_rank(1, 4));
  const MsliteAttributes& a = make.attributes();
  const Shape& w = make.input(1).shape;
  const int64_t group = a.group == 0 ? w[0] : a.group;
  if (group != 1 && (group != w[0] || w[3] != 1)) return no_counterpart("groups other than 1 and that of a depthwise");
  COT_ASSIGN(const int64_t checked, checked_group(make, w[0] / group));
  SameCut h{a.pads[0], a.pads[1], a.output_pad_h}, v{a.pads[2], a.pads[3], a.output_pad_w};
  if (a.is_same) {
    COT_ASSIGN(h, same_cut(a.stride_h, w[1], a.dilation_h, a.output_pad_h));
    COT_ASSIGN(v, same_cut(a.stride_w, w[2], a.dilation_w, a.output_pad_w));
  }
  COT_ASSIGN(const std::string in, make.read(0));
  COT_ASSIGN(const std::string weight, make.table(1, {0, 3, 1, 2}));
  COT_ASSIGN(std::vector<std::string> inputs, with_bias(make, {make.nchw(in), weight}, 2));
  return make.define(make.nhwc(make.node("ConvTranspose", std::move(inputs),
                                         {{"strides", std::vector<int64_t>{a.stride_h, a.stride_w}},
                                          {"dilations", std::vector<int64_t>{a.dilation_h, a.dilation_w}},
                                          {"kernel_shape", std::vector<int64_t>{w[1], w[2]}},
                                          {"group", checked},
                                          {"pads", std::vector<int64_t>{h.before, v.before, h.after, v.after}},
                                          {"output_padding", std::vector<int64_t>{h.more, v.more}}})));
}

Status make_dense(NodeMaker& make) {
  COT_TRY(make.need_rank(1, 2));
  const MsliteAttributes& a = make.attributes();
  const int64_t wanted = make.input(1).shape[1];
  const MsliteTensor& x = make.input(0);
  const size_t rank = x.has_shape ? x.shape.size() : 0;  // 0: not known
  const bool is_flat = rank == 2 && x.shape[1] == wanted;
  COT_ASSIGN(std::string in, make.read(0));
  COT_ASSIGN(const std::string weight, make.table(1, {1, 0}));
  if (a.uses_axis && a.axis != 1) {
    if (rank < 2 || static_cast<size_t>(a.axis) + 1 != rank) {
      return no_counterpart("axis " + std::to_string(a.axis) + "; it must be 1 or the last");
    }
    std::string y = make.node("MatMul", {in, weight});
    COT_ASSIGN(const std::vector<std::string> added, with_bias(make, {y}, 2));
    if (added.size() == 2) y = make.node("Add", added);
    return make.define(y);
  }
  // The format takes a value of any rank as rows of as many numbers as there are inputs.
  if (!is_flat) in = make.node("Reshape", {in, make.constant({-1, wanted})});
  COT_ASSIGN(std::vector<std::string> inputs, with_bias(make, {in, weight}, 2));
  return make.define(make.node("Gemm", std::move(inputs)));
}

Status make_matmul(NodeMaker& make) {
  const MsliteAttributes& a = make.attributes();
  COT_ASSIGN(std::string left, make.read(0));
  std::string right;
  const MsliteTensor& b = make.input(1);
  const bool is_table = b.is_constant() && b.shape.size() == 2;
  if (a.transposes_a) {
    COT_ASSIGN(const size_t rank, make.rank_of(0));
    if (rank < 2) return does_not_fit("it multiplies no matrices");
    left = make.turned(left, rank);
  }
  if (is_table) {
    COT_ASSIGN(right, make.table(1, a.transposes_b ? Order{1, 0} : Order{0, 1}));
  } else {
    COT_ASSIGN(right, make.read(1));
    if (a.transposes_b) {
      COT_ASSIGN(const size_t rank, make.rank_of(1));
      if (rank < 2) return does_not_fit("it multiplies no matrices");
      right = make.turned(right, rank);
    }
  }
  const bool is_layer = is_table && make.input(0).has_shape && make.input(0).shape.size() == 2;
  if (is_layer) {
    COT_ASSIGN(std::vector<std::string> inputs, with_bias(make, {left, right}, 2));
    return make.define(make.node("Gemm", std::move(inputs)));
  }
  std::string y = make.node("MatMul", {left, right});
  COT_ASSIGN(const std::vector<std::string> added, with_bias(make, {y}, 2));
  if (added.size() == 2) y = make.node("Add", added);
  return make.define(y);
}

// ONNX leaves out a last window that begins behind the input; the format computes it of padding.
bool ends_in_padding(int64_t size, int64_t kernel, int64_t stride, int64_t before, int64_t after) {
  const int64_t room = size + before + after - kernel;
  return size > 0 && room > 0 && (room + stride - 1) / stride * stride >= size + before;
}

Status make_pool(NodeMaker& make) {
  COT_TRY(make.need_image(0));
  const MsliteAttributes& a = make.attributes();
  const bool is_max = make.op().op == MsliteOp::max_pool;
  COT_ASSIGN(const std::string in, make.read(0));
  if (a.is_global) {
    return make.define(make.nhwc(make.node(is_max ? "GlobalMaxPool" : "GlobalAveragePool", {make.nchw(in)})));
  }
  const Shape& x = make.input(0).shape;
  if (a.rounds_up && !a.is_same &&
      (ends_in_padding(x[1], a.kernel_h, a.stride_h, a.pads[0], a.pads[1]) ||
       ends_in_padding(x[2], a.kernel_w, a.stride_w, a.pads[2], a.pads[3]))) {
    return no_counterpart("its last window lies in the padding");
  }
  std::map<std::string, Attribute> attributes{{"kernel_shape", std::vector<int64_t>{a.kernel_h, a.kernel_w}},
                                              {"ceil_mode", int64_t{a.rounds_up && !a.is_same}}};
  add_padding(a, attributes);
  return make.define(make.nhwc(make.node(is_max ? "MaxPool" : "AveragePool", {make.nchw(in)}, std::move(attributes))));
}

// BatchNorm has mean and variance, FusedBatchNorm scale and bias before them.
Status make_batch_norm(NodeMaker& make) {
  const bool is_fused = make.op().op == MsliteOp::fused_batch_norm;
  COT_ASSIGN(const size_t rank, make.rank_of(0));
  if (rank < 2) return does_not_fit("its input has no channels");
  COT_ASSIGN(const std::string in, make.read(0));
  const size_t statistics = is_fused ? 3 : 1;
  COT_TRY(make.need_rank(statistics, 1));
  const int64_t channels = make.input(statistics).shape[0];
  if (channels < 1) return does_not_fit("its mean is of no size that is known");
  std::string scale, bias;
  if (is_fused) {
    COT_ASSIGN(scale, make.table(1, {0}));
    COT_ASSIGN(bias, make.table(2, {0}));
  }
  COT_ASSIGN(const std::string mean, make.table(statistics, {0}));
  COT_ASSIGN(const std::string variance, make.table(statistics + 1, {0}));
  if (!is_fused) scale = make.uniform("ones", channels, 1), bias = make.uniform("zeros", channels, 0);
  const std::string y = make.node("BatchNormalization", {channels_first(make, in, rank), scale, bias, mean, variance},
                                  {{"epsilon", make.attributes().epsilon}});
  return make.define(channels_last(make, y, rank));
}

Status make_layer_norm(NodeMaker& make) {
  const MsliteAttributes& a = make.attributes();
  COT_ASSIGN(const size_t rank, make.rank_of(0));
  COT_ASSIGN(const int64_t axis, NodeMaker::axis_within(a.axis, rank));
  COT_ASSIGN(const int64_t parameters, NodeMaker::axis_within(a.parameters_axis, rank));
  if (axis != parameters) return no_counterpart("begin_params_axis other than begin_norm_axis");
  COT_ASSIGN(const std::string in, make.read(0));
  COT_ASSIGN(const std::string scale, make.read(1));
  COT_ASSIGN(const std::string bias, make.read(2));
  return make.define(make.node("LayerNormalization", {in, scale, bias}, {{"axis", axis}, {"epsilon", a.epsilon}}));
}

Status make_prelu(NodeMaker& make) {
  COT_ASSIGN(const size_t rank, make.rank_of(0));
  COT_ASSIGN(const std::string in, make.read(0));
  const size_t slopes = make.input(1).data.size() / width_of(make.input(1).type);
  Shape shape{static_cast<int64_t>(slopes)};
  if (slopes != 1) shape.resize(rank < 2 ? 1 : rank - 1, 1);
  COT_ASSIGN(const std::string slope, make.table(1, identity_order(make.input(1).shape.size()), shape));
  return make.define(channels_last(make, make.node("PRelu", {channels_first(make, in, rank), slope}), rank));
}

Status make_resize(NodeMaker& make) {
  COT_TRY(make.need_image(0));
  const MsliteAttributes& a = make.attributes();
  const Shape& x = make.input(0).shape;
  int64_t height = a.height, width = a.width;
  if (make.input_count() > 1) {
    COT_ASSIGN(const std::vector<int64_t> size, make.whole_numbers(1));
    if (size.size() != 2 && size.size() != 4) return no_counterpart("its size must be two or four whole numbers");
    height = size[size.size() == 2 ? 0 : 1];
    width = size[size.size() == 2 ? 1 : 2];
  }
  if (height < 1 || width < 1) return does_not_fit("its height and width must be at least 1");
  if (x[0] < 1 || x[3] < 1) return no_counterpart("of a batch or channels that the file leaves open");
  const bool is_aligned = a.coordinates == MsliteCoordinates::align_corners;
  std::map<std::string, Attribute> attributes{{"mode", std::string(a.is_nearest ? "nearest" : "linear")}};
  attributes["coordinate_transformation_mode"] =
      std::string(is_aligned                                       ? "align_corners"
                  : a.coordinates == MsliteCoordinates::half_pixel ? "half_pixel"
                                                                   : "asymmetric");
  attributes["nearest_mode"] = std::string(is_aligned ? "round_prefer_ceil" : "floor");
  COT_ASSIGN(const std::string in, make.read(0));
  const std::string sizes = make.constant({x[0], x[3], height, width});
  return make.define(make.nhwc(make.node("Resize", {make.nchw(in), "", "", sizes}, std::move(attributes))));
}

}  // namespace

Result<bool> make_mslite_layer(NodeMaker& make) {
  Status (*family)(NodeMaker&) = nullptr;
  switch (make.op().op) {
    case MsliteOp::convolution: family = make_convolution; break;
    case MsliteOp::transposed_convolution: family = make_transposed; break;
    case MsliteOp::dense: family = make_dense; break;
    case MsliteOp::matmul: family = make_matmul; break;
    case MsliteOp::average_pool:
    case MsliteOp::max_pool: family = make_pool; break;
    case MsliteOp::batch_norm:
    case MsliteOp::fused_batch_norm: family = make_batch_norm; break;
    case MsliteOp::layer_norm: family = make_layer_norm; break;
    case MsliteOp::prelu: family = make_prelu; break;
    case MsliteOp::resize: family = make_resize; break;
    default: return false;
  }
  COT_TRY(family(make));
  return true;
}

}  // namespace coterie::model_import
