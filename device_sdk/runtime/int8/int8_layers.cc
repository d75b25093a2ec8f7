#include "device_sdk/runtime/int8/int8_layers.h"

#include <algorithm>
#include <optional>

#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/int8/foldable_norm.h"
#include "device_sdk/runtime/ops/convolution.h"
#include "device_sdk/runtime/ops/pooling.h"

namespace coterie {
namespace {

using kernels::DenseShape;

Error refusal(const OpInfo& op, const std::string& why) {
  return Error(ErrorCode::invalid_argument,
               "op " + op.name + " (" + std::string(to_string(op.kind)) + ") cannot compute in int8: " + why);
}

size_t size(int64_t dimension) { return static_cast<size_t>(dimension); }

struct Bounds {
  float low, high;
};

// What an op bounds its input by; none: it is another op.
std::optional<Bounds> bounds_of(const OpInfo& op) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  if (op.kind == OpKind::relu) return Bounds{0, kNone};
  if (op.kind == OpKind::relu6) return Bounds{0, 6};
  if (op.kind != OpKind::clip) return std::nullopt;
  const auto& a = std::get<UnaryAttributes>(op.attributes);
  return Bounds{a.alpha, a.beta};
}

class Structure {
 public:
  Structure(const Model& model, Int8Stage stage)
      : model_(model), stage_(stage), index_(model.graph()), value_(model.graph().tensors.size(), kNoTensor) {}

  Result<Int8Layers> build() {
    const ModelGraph& graph = model_.graph();
    if (graph.inputs.size() != 1 || model_.input_type() != DataType::float32) {
      return Error(ErrorCode::invalid_argument,
                   "a model that computes in int8 has one input of float32; this one has " +
                       std::to_string(graph.inputs.size()) + ", the first of " +
                       std::string(to_string(model_.input_type())));
    }
    found_.input = graph.inputs[0];
    value_[found_.input] = found_.input;
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      if (!index_.is_needed[i]) continue;
      COT_TRY(add(graph.ops[i]));
    }
    if (found_.layers.empty()) {
      return Error(ErrorCode::invalid_argument, "the model has no layer that could compute in int8");
    }
    found_.output = value_[graph.output];
    return std::move(found_);
  }

 private:
  // One example's: the batch must be the first dimension alone.
  Result<Shape> example_shape(const OpInfo& op, uint32_t tensor) const {
    const Shape& whole = model_.shape(tensor);
    const bool is_plain = !whole.empty() && whole[0] == -1 &&
                          std::all_of(whole.begin() + 1, whole.end(), [](int64_t each) { return each > 0; });
    if (!is_plain)
      return refusal(op, "its examples do not lie one behind the other; reshape so that the batch is first");
    if (model_.type(tensor) != DataType::float32) return refusal(op, "it has integers");
    return Shape(whole.begin() + 1, whole.end());
  }

  Result<uint32_t> value_of(const OpInfo& op, size_t input) const {
    const uint32_t tensor = op.inputs[input];
    if (tensor == kNoTensor || value_[tensor] == kNoTensor) {
      return refusal(op, "what it reads is no value of the network (a parameter, a constant, or behind softmax)");
    }
    return value_[tensor];
  }

  Result<uint32_t> parameter(const OpInfo& op, size_t input) const {
    const uint32_t tensor = op.inputs[input];
    if (model_.graph().tensors[tensor].role != TensorRole::parameter) {
      return refusal(op, "its weights are no parameters of the model; make a layer with weights of its own");
    }
    return tensor;
  }

  static Shape image_of(Shape example) {
    example.insert(example.begin(), 1);
    return example;
  }

  Status add_pool(const OpInfo& op, const Shape& x, Int8Layer layer) {
    kernels::Pool2dShape shape = ops::pool_shape(image_of(x), op);
    layer.kind = op.kind == OpKind::max_pool2d ? Int8Kind::max_pool2d : Int8Kind::average_pool2d;
    if (layer.kind == Int8Kind::average_pool2d && shape.count_padding) {
      return refusal(op, "its means count padding (count_include_pad); export it without");
    }
    shape.count_padding = false;  // of a maximum it says nothing
    layer.shape = shape;
    found_.layers.push_back(std::move(layer));
    return {};
  }

  Status add_weighted(const OpInfo& op, const Shape& x, const Shape& y, Int8Layer layer) {
    COT_ASSIGN(layer.weight, parameter(op, 1));
    if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) {
      COT_ASSIGN(layer.bias, parameter(op, 2));
    }
    if (op.kind == OpKind::dense) {
      if (x.size() != 1) return refusal(op, "it has several rows an example; flatten in front of it");
      layer.kind = Int8Kind::dense;
      layer.shape = DenseShape{1, size(x[0]), size(y[0])};
    } else {
      layer.kind = Int8Kind::conv2d;
      layer.shape =
          ops::convolution_shape(image_of(x), model_.shape(op.inputs[1]), std::get<Conv2dAttributes>(op.attributes));
    }
    found_.layers.push_back(std::move(layer));
    return {};
  }

  Status add_bounds(const OpInfo& op, const Bounds& bounds, Int8Layer layer) {
    if (!(bounds.low <= bounds.high)) return refusal(op, "its bounds are none");
    // Right behind a layer whose output nobody else reads it is part of that.
    const auto maker = std::ranges::find(found_.layers, op.inputs[0], &Int8Layer::output);
    const bool is_part = maker != found_.layers.end() && !maker->keeps_grid() && index_.has_one_reader(op.inputs[0]);
    if (is_part) {
      // max(min(x, h1), l1) first, then the other: what is left of both.
      maker->low = std::clamp(maker->low, bounds.low, bounds.high);
      maker->high = std::clamp(maker->high, bounds.low, bounds.high);
      maker->output = op.outputs[0];
      value_[op.inputs[0]] = kNoTensor;
      return {};
    }
    layer.kind = Int8Kind::clamp;
    layer.low = bounds.low, layer.high = bounds.high;
    found_.layers.push_back(std::move(layer));
    return {};
  }

  // It is part of the layer in front of it, which it becomes.
  Status add_norm(const OpInfo& op) {
    const auto maker = std::ranges::find(found_.layers, op.inputs[0], &Int8Layer::output);
    if (layer_of_norm(model_.graph(), index_, op) == kNoOp || maker == found_.layers.end()) {
      return refusal(op, "it stands behind no dense layer or convolution that could take it over");
    }
    maker->output = op.outputs[0];
    value_[op.inputs[0]] = kNoTensor;
    return {};
  }

  Status add_sum(const OpInfo& op, const Shape& x, Int8Layer layer) {
    COT_ASSIGN(const uint32_t other, value_of(op, 1));
    COT_ASSIGN(const Shape second, example_shape(op, op.inputs[1]));
    if (second != x) return refusal(op, "its operands have different shapes");
    layer.kind = Int8Kind::add;
    layer.inputs.push_back(other);
    found_.layers.push_back(std::move(layer));
    return {};
  }

  Status add(const OpInfo& op) {
    if (found_.has_softmax) return refusal(op, "it stands behind softmax");
    COT_ASSIGN(const uint32_t from, value_of(op, 0));
    COT_ASSIGN(const Shape x, example_shape(op, op.inputs[0]));
    COT_ASSIGN(const Shape y, example_shape(op, op.outputs[0]));
    uint32_t& to = value_[op.outputs[0]];
    to = op.outputs[0];
    Int8Layer layer{.name = op.name, .inputs = {from}, .output = to};
    if (const std::optional<Bounds> bounds = bounds_of(op)) return add_bounds(op, *bounds, std::move(layer));
    if (stage_ == Int8Stage::trained && op.kind == OpKind::batch_norm) return add_norm(op);
    if (stage_ == Int8Stage::trained && op.kind == OpKind::transpose) {
      to = from;
      return {};
    }
    switch (op.kind) {
      case OpKind::flatten:
      case OpKind::reshape:
      case OpKind::identity:
      case OpKind::dropout: to = from; return {};
      case OpKind::dense:
      case OpKind::conv2d: return add_weighted(op, x, y, std::move(layer));
      case OpKind::add: return add_sum(op, x, std::move(layer));
      case OpKind::max_pool2d:
      case OpKind::average_pool2d:
      case OpKind::global_average_pool2d: return add_pool(op, x, std::move(layer));
      case OpKind::softmax:
        if (x.size() != 1 || std::get<AxisAttributes>(op.attributes).axis != 1 ||
            op.outputs[0] != model_.graph().output) {
          return refusal(op, "it must be the model's last op, of a vector");
        }
        found_.has_softmax = true;
        to = from;
        return {};
      default:
        return refusal(op,
                       "dense, conv2d, max_pool2d, average_pool2d, global_average_pool2d, add, relu, relu6, clip, "
                       "flatten, reshape, identity, dropout, and softmax at the end can; store the weights alone as "
                       "int8 (without --full)");
    }
  }

  const Model& model_;
  Int8Stage stage_;
  GraphIndex index_;
  std::vector<uint32_t> value_;  // of each tensor: the tensor that is the value it holds
  Int8Layers found_;
};

}  // namespace

std::string_view to_string(Int8Kind kind) {
  switch (kind) {
    case Int8Kind::dense: return "dense";
    case Int8Kind::conv2d: return "conv2d";
    case Int8Kind::max_pool2d: return "max_pool2d";
    case Int8Kind::average_pool2d: return "average_pool2d";
    case Int8Kind::add: return "add";
    case Int8Kind::clamp: return "clamp";
  }
  return "unknown";
}

Result<Int8Layers> int8_layers(const Model& model, Int8Stage stage) { return Structure(model, stage).build(); }

std::vector<uint32_t> int8_grid_tensors(const Int8Layers& layers) {
  std::vector<uint32_t> tensors = {layers.input};
  for (const Int8Layer& layer : layers.layers) {
    if (!layer.keeps_grid()) tensors.push_back(layer.output);
  }
  std::ranges::sort(tensors);
  return tensors;
}

}  // namespace coterie
