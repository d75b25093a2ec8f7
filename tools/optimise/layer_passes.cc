// Into layers, and whole layers: what stands beside a dense layer or a convolution becomes part of its numbers.
#include <algorithm>
#include <cmath>

#include "tools/model/fold_norms.h"
#include "tools/model/fold_transposes.h"
#include "tools/optimise/pass.h"

namespace coterie {
namespace {

constexpr OpKind kLayers[] = {OpKind::dense, OpKind::conv2d, OpKind::conv_transpose2d};

// The layer that makes the tensor for one reader alone, and that alone reads its weight; kNoOp.
uint32_t own_layer(const PassGraph& graph, uint32_t tensor) {
  for (const OpKind kind : kLayers) {
    const uint32_t maker = graph.sole_maker(tensor, kind);
    if (maker != kNoOp) return graph.has_one_reader(graph.op(maker).inputs[1]) ? maker : kNoOp;
  }
  return kNoOp;
}

void set_bias(OpInfo& layer, uint32_t bias) {
  layer.inputs.resize(3, kNoTensor);
  layer.inputs[2] = bias;
}

// One number a channel of the layer's output, for known values that broadcast to it; empty: they do not.
std::vector<float> of_channels(const PassGraph& graph, uint32_t known, uint32_t output) {
  const Shape &shape = graph.shape(known), &wide = graph.shape(output);
  const uint64_t count = elements(shape);
  const auto channels = static_cast<size_t>(wide.back());
  if (shape.size() > wide.size() || (count != 1 && (count != channels || shape.back() != wide.back()))) return {};
  const std::vector<float> values = graph.values(known);
  return count == 1 ? std::vector<float>(channels, values[0]) : values;
}

bool pad_into_window(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::conv2d) return false;
  const uint32_t maker = graph.maker(op.inputs[0], OpKind::pad);
  if (maker == kNoOp) return false;
  const auto& pad = std::get<PadAttributes>(graph.op(maker).attributes);
  auto& a = std::get<Conv2dAttributes>(op.attributes);
  const auto is_image_pad = [](const std::vector<int64_t>& counts) {
    return counts.size() == 4 && counts[0] == 0 && counts[3] == 0 && counts[1] >= 0 && counts[2] >= 0;
  };
  if (pad.value != 0 || !is_image_pad(pad.before) || !is_image_pad(pad.after)) return false;
  // A window must not lie on padding alone.
  const Shape& weight = graph.shape(op.inputs[1]);
  const int64_t extent_h = (weight[0] - 1) * a.dilation_h + 1, extent_w = (weight[1] - 1) * a.dilation_w + 1;
  const int64_t top = a.pad_top + pad.before[1], left = a.pad_left + pad.before[2];
  const int64_t bottom = a.pad_bottom + pad.after[1], right = a.pad_right + pad.after[2];
  if (std::max(top, bottom) >= extent_h || std::max(left, right) >= extent_w) return false;
  a.pad_top = static_cast<uint32_t>(top), a.pad_bottom = static_cast<uint32_t>(bottom);
  a.pad_left = static_cast<uint32_t>(left), a.pad_right = static_cast<uint32_t>(right);
  op.inputs[0] = graph.op(maker).inputs[0];
  return true;
}

// layer(x) + c: c is the layer's bias, or part of it.
bool add_bias(PassGraph& graph, uint32_t i) {
  const OpInfo& op = graph.op(i);
  if (op.kind != OpKind::add) return false;
  for (size_t at = 0; at < 2; ++at) {
    const uint32_t maker = own_layer(graph, other_operand(op, at));
    const uint32_t added = op.inputs[at];
    if (maker == kNoOp) continue;
    OpInfo& layer = graph.op(maker);
    const uint32_t y = layer.outputs[0];
    const bool has_bias = has_operand(layer, 2);
    // Whoever trains it keeps it: a parameter that has the shape of a bias is one.
    if (!has_bias && has_payload(graph.tensor(added).role) && graph.shape(added) == Shape{graph.shape(y).back()}) {
      set_bias(layer, added);
      return graph.read_instead(op.outputs[0], y);
    }
    if (!graph.is_known(added) || (has_bias && !graph.is_known(layer.inputs[2]))) continue;
    std::vector<float> values = of_channels(graph, added, y);
    if (values.empty()) continue;
    if (has_bias) {
      const std::vector<float> bias = graph.values(layer.inputs[2]);
      for (size_t c = 0; c < values.size(); ++c) values[c] += bias[c];
    }
    const auto bias = graph.add_known(layer.name + ".bias", {graph.shape(y).back()}, values);
    if (!bias) continue;
    set_bias(layer, *bias);
    return graph.read_instead(op.outputs[0], y);
  }
  return false;
}

// Weights times a factor an output channel, bias too; false: one is no longer finite.
bool scale_layer(PassGraph& graph, OpInfo& layer, const std::vector<float>& factors, bool scales_bias) {
  std::vector<float> weights = graph.values(layer.inputs[1]);
  // The last dimension is that of the output's channels, but for conv_transpose2d, which takes one factor.
  for (size_t k = 0; k < weights.size(); ++k) weights[k] *= factors[k % factors.size()];
  const auto weight = graph.add_known(layer.name + ".weight", graph.shape(layer.inputs[1]), weights);
  if (!weight) return false;
  if (scales_bias && has_operand(layer, 2)) {
    std::vector<float> values = graph.values(layer.inputs[2]);
    for (size_t c = 0; c < values.size(); ++c) values[c] *= factors[c % factors.size()];
    const auto bias = graph.add_known(layer.name + ".bias", graph.shape(layer.inputs[2]), values);
    if (!bias) return false;
    layer.inputs[2] = *bias;
  }
  layer.inputs[1] = *weight;
  return true;
}

// layer(x) * c.
bool scale_output(PassGraph& graph, uint32_t i) {
  const OpInfo& op = graph.op(i);
  if (op.kind != OpKind::mul) return false;
  for (size_t at = 0; at < 2; ++at) {
    const uint32_t maker = own_layer(graph, other_operand(op, at));
    if (maker == kNoOp || !graph.is_known(op.inputs[at])) continue;
    OpInfo& layer = graph.op(maker);
    if (!graph.is_known(layer.inputs[1]) || (has_operand(layer, 2) && !graph.is_known(layer.inputs[2]))) continue;
    std::vector<float> factors = of_channels(graph, op.inputs[at], layer.outputs[0]);
    if (factors.empty()) continue;
    if (layer.kind == OpKind::conv_transpose2d) {
      if (elements(graph.shape(op.inputs[at])) != 1) continue;
      factors.resize(1);
    }
    if (!scale_layer(graph, layer, factors, true)) continue;
    return graph.read_instead(op.outputs[0], layer.outputs[0]);
  }
  return false;
}

// layer(x * c) of one c.
bool scale_input(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (std::ranges::find(kLayers, op.kind) == std::end(kLayers)) return false;
  const uint32_t maker = graph.sole_maker(op.inputs[0], OpKind::mul);
  if (maker == kNoOp || !graph.is_known(op.inputs[1]) || !graph.has_one_reader(op.inputs[1])) return false;
  const OpInfo& product = graph.op(maker);
  for (size_t at = 0; at < 2; ++at) {
    const uint32_t x = other_operand(product, at);
    const std::optional<float> factor = graph.scalar(product.inputs[at]);
    if (!factor || graph.shape(x) != graph.shape(op.inputs[0]) || !scale_layer(graph, op, {*factor}, false)) continue;
    op.inputs[0] = x;
    return true;
  }
  return false;
}

// A product with a matrix that the graph stores is a dense layer.
bool make_dense(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::matmul || op.attributes != OpAttributes(MatmulAttributes{})) return false;
  const TensorRole role = graph.tensor(op.inputs[1]).role;
  if (role != TensorRole::parameter && role != TensorRole::constant) return false;
  if (graph.shape(op.inputs[1]).size() != 2) return false;
  op.kind = OpKind::dense;
  op.attributes = default_attributes(OpKind::dense);
  return true;
}

bool make_swish(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::mul) return false;
  for (size_t at = 0; at < 2; ++at) {
    const uint32_t maker = graph.sole_maker(op.inputs[at], OpKind::sigmoid);
    if (maker == kNoOp || graph.op(maker).inputs[0] != other_operand(op, at)) continue;
    op.kind = OpKind::swish;
    op.inputs = graph.op(maker).inputs;
    return true;
  }
  return false;
}

bool make_pool(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::reduce_mean || graph.shape(op.inputs[0]).size() != 4) return false;
  const auto& a = std::get<ReduceAttributes>(op.attributes);
  if (a.keep_dimensions || a.axes != std::vector<int64_t>{1, 2}) return false;
  op.kind = OpKind::global_average_pool2d;
  op.attributes = default_attributes(OpKind::global_average_pool2d);
  return true;
}

bool make_log_softmax(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::log) return false;
  const uint32_t maker = graph.maker(op.inputs[0], OpKind::softmax);
  if (maker == kNoOp) return false;
  op.kind = OpKind::log_softmax;
  op.attributes = graph.op(maker).attributes;
  op.inputs = graph.op(maker).inputs;
  return true;
}

// a[m, k] b[k, n], with sums in double.
std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, size_t k, size_t n) {
  std::vector<float> values(a.size() / k * n);
  std::vector<double> row(n);
  for (size_t m = 0; m < a.size() / k; ++m) {
    std::ranges::fill(row, 0.0);
    for (size_t j = 0; j < k; ++j) {
      const double factor = a[m * k + j];
      for (size_t c = 0; c < n; ++c) row[c] += factor * static_cast<double>(b[j * n + c]);
    }
    std::ranges::transform(row, values.begin() + static_cast<ptrdiff_t>(m * n),
                           [](double sum) { return static_cast<float>(sum); });
  }
  return values;
}

// Two dense layers without anything between them, where one multiplies less than both.
bool join_dense(PassGraph& graph, uint32_t i) {
  OpInfo& op = graph.op(i);
  if (op.kind != OpKind::dense) return false;
  const uint32_t maker = graph.sole_maker(op.inputs[0], OpKind::dense);
  if (maker == kNoOp) return false;
  const OpInfo& inner = graph.op(maker);
  for (const OpInfo* layer : {&inner, static_cast<const OpInfo*>(&op)}) {
    if (!graph.is_known(layer->inputs[1]) || !graph.has_one_reader(layer->inputs[1]) ||
        (has_operand(*layer, 2) && !graph.is_known(layer->inputs[2])))
      return false;
  }
  const Shape &first = graph.shape(inner.inputs[1]), &second = graph.shape(op.inputs[1]);
  const int64_t in = first[0], mid = first[1], out = second[1];
  if (in * out > in * mid + mid * out) return false;
  const std::vector<float> w2 = graph.values(op.inputs[1]);
  const auto k = static_cast<size_t>(mid), n = static_cast<size_t>(out);
  const auto weight = graph.add_known(op.name + ".weight", {in, out}, product(graph.values(inner.inputs[1]), w2, k, n));
  if (!weight) return false;
  if (has_operand(inner, 2)) {
    std::vector<float> bias = product(graph.values(inner.inputs[2]), w2, k, n);
    if (has_operand(op, 2)) {
      const std::vector<float> own = graph.values(op.inputs[2]);
      for (size_t c = 0; c < bias.size(); ++c) bias[c] += own[c];
    }
    const auto sum = graph.add_known(op.name + ".bias", {out}, bias);
    if (!sum) return false;
    set_bias(op, *sum);
  }
  op.inputs[0] = inner.inputs[0];
  op.inputs[1] = *weight;
  return true;
}

using enum Optimisation;

constexpr Pass kRows[] = {
    {"padded-convolution", rounding, rounding, "a pad with zeros in front of a convolution is the convolution's",
     pad_into_window},
    {"stored-matrix", rounding, rounding, "a matrix product with a stored matrix is a dense layer", make_dense},
    {"layer-bias", rounding, rounding, "what is added behind a layer, a number a channel, is its bias", add_bias},
    {"scaled-output", rounding, kNeverTrained, "known factors behind a layer, one a channel, are part of its weights",
     scale_output},
    {"scaled-input", rounding, kNeverTrained, "a known factor in front of a layer is part of its weights", scale_input},
    {"batch-norms", rounding, kNeverTrained, "a batch norm behind a layer is part of its weights", nullptr,
     without_norms},
    {"dense-rows", rounding, kNeverTrained, "a transpose in front of a dense layer is an order of its rows", nullptr,
     without_transposes},
    {"swish", rounding, rounding, "x * sigmoid(x) is one op", make_swish},
    {"mean-pool", rounding, rounding, "a mean over an image's rows and columns is a pool", make_pool},
    {"log-softmax", trading, trading, "log(softmax(x)) is one op, finite where a softmax is 0", make_log_softmax},
    {"dense-pairs", trading, kNeverTrained,
     "two dense layers without a function between them are one, where that multiplies less", join_dense},
};

}  // namespace

const std::span<const Pass> passes_of::layers = kRows;

}  // namespace coterie
