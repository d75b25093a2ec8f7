// Operators with weights, and pools: those that ONNX has for NCHW.
#include <algorithm>
#include <numeric>

#include "model_import/tflite/graph_maker.h"

namespace coterie::model_import {
namespace {

Error malformed(const std::string& why) { return Error(ErrorCode::malformed, why); }

std::map<std::string, Attribute> window_of(const TfliteOptions& o) {
  return {{"strides", std::vector<int64_t>{o.stride_h, o.stride_w}},
          {"auto_pad", std::string(o.is_same ? "SAME_UPPER" : "VALID")}};
}

// A bias of one number an output, if there is one.
Result<std::vector<std::string>> with_bias(GraphMaker& make, std::vector<std::string> inputs, size_t at) {
  if (!make.op().has(at)) return inputs;
  COT_TRY(make.need_rank(at, 1));
  if (!is_real(make.input(at).type) && !make.input(at).grid.is_given()) {
    return Error(ErrorCode::invalid_argument, "its bias is of integers without scales");
  }
  COT_ASSIGN(const std::string bias, make.table(at, {0}));
  inputs.push_back(bias);
  return inputs;
}

Status make_convolution(GraphMaker& make) {
  COT_TRY(make.need_inputs(2));
  COT_TRY(make.need_rank(0, 4));
  COT_TRY(make.need_rank(1, 4));
  const TfliteOptions& o = make.op().options;
  const Shape &x = make.input(0).shape, &w = make.input(1).shape;
  const bool is_depthwise = make.op().op == TfliteOp::depthwise_conv_2d;
  if (is_depthwise && (w[0] != 1 || w[3] % x[3] != 0)) {
    return malformed("its weights of " + std::to_string(w[3]) + " channels do not fit an input of " +
                     std::to_string(x[3]));
  }
  if (!is_depthwise && x[3] % w[3] != 0) {
    return malformed("its weights are for " + std::to_string(w[3]) + " channels, its input has " +
                     std::to_string(x[3]));
  }
  COT_ASSIGN(const std::string in, make.read(0));
  // OHWI, or 1HWC where each channel has outputs of its own, to OIHW.
  COT_ASSIGN(const std::string weight,
             make.table(1, is_depthwise ? std::vector<uint32_t>{3, 0, 1, 2} : std::vector<uint32_t>{0, 3, 1, 2}));
  COT_ASSIGN(std::vector<std::string> inputs, with_bias(make, {make.nchw(in), weight}, 2));
  std::map<std::string, Attribute> attributes = window_of(o);
  attributes["dilations"] = std::vector<int64_t>{o.dilation_h, o.dilation_w};
  attributes["kernel_shape"] = std::vector<int64_t>{w[1], w[2]};
  attributes["group"] = is_depthwise ? x[3] : x[3] / w[3];
  return make.define(make.nhwc(make.node("Conv", std::move(inputs), std::move(attributes))));
}

// One dimension: what is cut off at the beginning and at the end of the whole output, and what is added to it.
struct Cut {
  int64_t before = 0, after = 0, more = 0;
};
Cut cut_of(int64_t in, int64_t out, int64_t stride, int64_t kernel, bool is_same) {
  const int64_t whole = stride * (in - 1) + kernel;
  // The padding is that of the convolution which this one turns round: from `out` to ceil(out / stride).
  const int64_t convolved = is_same ? (out + stride - 1) / stride : (out + stride - kernel) / stride;
  Cut cut{.before = std::max<int64_t>(0, (convolved - 1) * stride + kernel - out) / 2};
  const int64_t rest = whole - cut.before - out;
  (rest >= 0 ? cut.after : cut.more) = std::abs(rest);
  return cut;
}

Status make_transpose_conv(GraphMaker& make) {
  COT_TRY(make.need_inputs(3));
  COT_TRY(make.need_rank(1, 4));
  COT_TRY(make.need_rank(2, 4));
  std::vector<int64_t> to = make.output().shape;  // where the file computes it
  if (make.input(0).is_constant()) {
    COT_ASSIGN(to, make.whole_numbers(0));
  }
  const TfliteOptions& o = make.op().options;
  const Shape &w = make.input(1).shape, &x = make.input(2).shape;
  if (to.size() != 4 || to[1] < 1 || to[2] < 1 || to[1] > INT32_MAX || to[2] > INT32_MAX) {
    return malformed("its output shape must be four numbers, at least 1");
  }
  if (w[3] != x[3]) return malformed("its weights are for other channels than its input has");
  const Cut h = cut_of(x[1], to[1], o.stride_h, w[1], o.is_same), v = cut_of(x[2], to[2], o.stride_w, w[2], o.is_same);
  if (h.more >= o.stride_h || v.more >= o.stride_w) return malformed("its output is larger than its input reaches");
  COT_ASSIGN(const std::string in, make.read(2));
  COT_ASSIGN(const std::string weight, make.table(1, {3, 0, 1, 2}));
  COT_ASSIGN(std::vector<std::string> inputs, with_bias(make, {make.nchw(in), weight}, 3));
  return make.define(make.nhwc(make.node("ConvTranspose", std::move(inputs),
                                         {{"strides", std::vector<int64_t>{o.stride_h, o.stride_w}},
                                          {"kernel_shape", std::vector<int64_t>{w[1], w[2]}},
                                          {"pads", std::vector<int64_t>{h.before, v.before, h.after, v.after}},
                                          {"output_padding", std::vector<int64_t>{h.more, v.more}}})));
}

Status make_dense(GraphMaker& make) {
  COT_TRY(make.need_inputs(2));
  COT_TRY(make.need_rank(1, 2));
  const Shape &x = make.input(0).shape, &w = make.input(1).shape;
  const int64_t elements = std::accumulate(x.begin(), x.end(), int64_t{1}, std::multiplies<>());
  if (x.empty() || elements % w[1] != 0) {
    return malformed("its weights are for " + std::to_string(w[1]) + " inputs, it has " + std::to_string(elements));
  }
  COT_ASSIGN(std::string in, make.read(0));
  COT_ASSIGN(const std::string weight, make.table(1, {1, 0}));
  if (make.op().options.keeps_dimensions && x.size() != 2) {
    if (x.back() != w[1]) return malformed("its weights are for other inputs than its last dimension has");
    std::string y = make.node("MatMul", {in, weight});
    COT_ASSIGN(const std::vector<std::string> added, with_bias(make, {y}, 2));
    if (added.size() == 2) y = make.node("Add", added);
    return make.define(y);
  }
  // The format takes a value of any rank as rows of as many numbers as there are inputs.
  if (x.size() != 2 || x[1] != w[1]) in = make.node("Reshape", {in, make.constant({-1, w[1]})});
  COT_ASSIGN(std::vector<std::string> inputs, with_bias(make, {in, weight}, 2));
  return make.define(make.node("Gemm", std::move(inputs)));
}

Status make_pool(GraphMaker& make) {
  COT_TRY(make.need_inputs(1));
  COT_TRY(make.need_rank(0, 4));
  const TfliteOptions& o = make.op().options;
  COT_ASSIGN(const std::string in, make.read(0));
  std::map<std::string, Attribute> attributes = window_of(o);
  attributes["kernel_shape"] = std::vector<int64_t>{o.filter_h, o.filter_w};
  const char* const op = make.op().op == TfliteOp::max_pool_2d ? "MaxPool" : "AveragePool";
  return make.define(make.nhwc(make.node(op, {make.nchw(in)}, std::move(attributes))));
}

Status make_batch_matmul(GraphMaker& make) {
  COT_TRY(make.need_inputs(2));
  const auto turned = [&](const std::string& value, size_t i, bool is_turned) {
    if (!is_turned) return value;
    std::vector<int64_t> perm(make.input(i).shape.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return make.node("Transpose", {value}, {{"perm", perm}});
  };
  if (make.input(0).shape.size() < 2 || make.input(1).shape.size() < 2) return malformed("it multiplies no matrices");
  COT_ASSIGN(const std::string a, make.read(0));
  COT_ASSIGN(const std::string b, make.read(1));
  const std::string left = turned(a, 0, make.op().options.adjoint_x), right = turned(b, 1, make.op().options.adjoint_y);
  return make.define(make.node("MatMul", {left, right}));
}

Status make_resize(GraphMaker& make) {
  COT_TRY(make.need_inputs(2));
  COT_TRY(make.need_rank(0, 4));
  const TfliteOptions& o = make.op().options;
  COT_ASSIGN(const std::vector<int64_t> size, make.whole_numbers(1));
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) return malformed("its size must be two numbers, at least 1");
  const Shape& x = make.input(0).shape;
  const bool is_nearest = make.op().op == TfliteOp::resize_nearest_neighbor;
  std::map<std::string, Attribute> attributes{{"mode", std::string(is_nearest ? "nearest" : "linear")}};
  attributes["coordinate_transformation_mode"] = std::string(o.aligns_corners    ? "align_corners"
                                                             : o.has_half_pixels ? "half_pixel"
                                                                                 : "asymmetric");
  // floor((i + 0.5) * s) of the format is the nearest to (i + 0.5) * s - 0.5, upwards where two are as near.
  attributes["nearest_mode"] = std::string(o.aligns_corners || o.has_half_pixels ? "round_prefer_ceil" : "floor");
  COT_ASSIGN(const std::string in, make.read(0));
  const std::string sizes = make.constant({x[0], x[3], size[0], size[1]});
  return make.define(make.nhwc(make.node("Resize", {make.nchw(in), "", "", sizes}, std::move(attributes))));
}

}  // namespace

Result<bool> make_layer(GraphMaker& make) {
  Status (*family)(GraphMaker&) = nullptr;
  switch (make.op().op) {
    case TfliteOp::conv_2d:
    case TfliteOp::depthwise_conv_2d: family = make_convolution; break;
    case TfliteOp::transpose_conv: family = make_transpose_conv; break;
    case TfliteOp::fully_connected: family = make_dense; break;
    case TfliteOp::average_pool_2d:
    case TfliteOp::max_pool_2d: family = make_pool; break;
    case TfliteOp::batch_matmul: family = make_batch_matmul; break;
    case TfliteOp::resize_bilinear:
    case TfliteOp::resize_nearest_neighbor: family = make_resize; break;
    default: return false;
  }
  COT_TRY(family(make));
  return true;
}

}  // namespace coterie::model_import
