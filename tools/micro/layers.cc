#include "tools/micro/layers.h"

#include <algorithm>
#include <set>
#include <string>

#include "device_sdk/runtime/ops/pooling.h"
#include "tools/micro/identifier.h"

namespace coterie {
namespace {

constexpr uint64_t kElementsMax = (1ull << 31) - 1;  // of one buffer or weight: size_t has 32 bits on a microcontroller

Error refusal(const OpInfo& op, const std::string& why) {
  return Error(ErrorCode::invalid_argument, "op " + micro_comment(op.name) + " (" + std::string(to_string(op.kind)) +
                                                ") cannot be written as C: " + why);
}

// What C is written for, in the order in which a refusal names them. layer_of() knows each.
constexpr OpKind kWritten[] = {OpKind::dense,      OpKind::conv2d,         OpKind::relu,
                               OpKind::max_pool2d, OpKind::average_pool2d, OpKind::global_average_pool2d,
                               OpKind::flatten,    OpKind::reshape,        OpKind::identity,
                               OpKind::dropout,    OpKind::softmax};

std::string written_kinds() {
  std::string text;
  for (const OpKind& kind : kWritten) {
    text += &kind == std::begin(kWritten) ? "" : &kind + 1 == std::end(kWritten) ? " and " : ", ";
    text += to_string(kind);
  }
  return text;
}

// What is wrong with the kind, and what can be done.
std::string why_not(OpKind kind, bool trains) {
  constexpr const char* kInt8 =
      "int8 C has it (`coterie model quantise --full` makes the file, and --int8 here writes it)";
  switch (kind) {
    case OpKind::add: return std::string("float32 C has chains of layers, no branches; ") + kInt8;
    case OpKind::relu6:
    case OpKind::clip: return kInt8;
    case OpKind::batch_norm:
      if (trains) break;
      return "`coterie model optimise` makes a norm part of the layer in front of it; export what that writes";
    case OpKind::transpose:
      if (!trains) break;
      return "C that trains keeps the file's parameters as they are, and only one that predicts takes an image that is "
             "flattened channels first; train a model whose images are flattened channels last, or are pooled to one "
             "pixel before";
    default: break;
  }
  return written_kinds() + " can; replace it, or run the model with the device SDK";
}

// What no change of shapes helps comes first: whoever has an LSTM need not hear of the transpose in front of it.
Status check_kinds(const ModelGraph& graph, bool trains) {
  const OpInfo* turned = nullptr;
  for (const OpInfo& op : graph.ops) {
    if (std::ranges::find(kWritten, op.kind) != std::end(kWritten)) continue;
    if (op.kind != OpKind::transpose) return refusal(op, why_not(op.kind, trains));
    if (turned == nullptr) turned = &op;
  }
  return turned == nullptr ? Status() : Status(refusal(*turned, why_not(turned->kind, trains)));
}

// Sizes of one example: the batch must be the first dimension alone.
Result<Shape> example_shape(const Model& model, const OpInfo& op, uint32_t tensor) {
  const Shape& whole = model.shape(tensor);
  const bool is_plain = !whole.empty() && whole[0] == -1 &&
                        std::all_of(whole.begin() + 1, whole.end(), [](int64_t size) { return size > 0; });
  if (!is_plain) return refusal(op, "its examples do not lie one behind the other; reshape so that the batch is first");
  if (model.type(tensor) != DataType::float32) return refusal(op, "it has integers; only float32 is written");
  Shape shape(whole.begin() + 1, whole.end());
  COT_ASSIGN(const uint64_t elements, element_count(shape));
  if (elements > kElementsMax) return refusal(op, "an example of it has more than 2^31 - 1 elements");
  return shape;
}

size_t size(int64_t dimension) { return static_cast<size_t>(dimension); }

Status add_weights(const Model& model, const OpInfo& op, std::set<uint32_t>& seen, MicroLayer& layer) {
  const auto stored = [&](uint32_t tensor) -> Status {
    if (model.graph().tensors[tensor].role != TensorRole::parameter) {
      return refusal(op, "its weights are no parameters of the model; make a layer with weights of its own");
    }
    if (!seen.insert(tensor).second) {
      return refusal(op, "it shares weights with another layer; give it a copy of them");
    }
    return {};
  };
  layer.weight = op.inputs[1];
  COT_TRY(stored(*layer.weight));
  if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) {
    layer.bias = op.inputs[2];
    COT_TRY(stored(*layer.bias));
  }
  return {};
}

Result<MicroLayer> dense_layer(const OpInfo& op, const Shape& x, const Shape& y) {
  if (x.size() != 1) return refusal(op, "it has several rows an example; flatten in front of it");
  return MicroLayer{.kind = MicroKind::dense, .shape = kernels::DenseShape{1, size(x[0]), size(y[0])}};
}

MicroLayer conv_layer(const OpInfo& op, const Shape& x, const Shape& w) {
  const auto& a = std::get<Conv2dAttributes>(op.attributes);
  return {.kind = MicroKind::conv2d,
          .shape = kernels::Conv2dShape{.batch = 1,
                                        .height = size(x[0]),
                                        .width = size(x[1]),
                                        .channels = size(x[2]),
                                        .kernel_h = size(w[0]),
                                        .kernel_w = size(w[1]),
                                        .filters = size(w[3]),
                                        .stride_h = a.stride_h,
                                        .stride_w = a.stride_w,
                                        .pad_top = a.pad_top,
                                        .pad_left = a.pad_left,
                                        .pad_bottom = a.pad_bottom,
                                        .pad_right = a.pad_right,
                                        .groups = a.groups,
                                        .dilation_h = a.dilation_h,
                                        .dilation_w = a.dilation_w}};
}

Result<MicroLayer> pool_layer(const OpInfo& op, const Shape& x) {
  Shape images = x;
  images.insert(images.begin(), 1);
  kernels::Pool2dShape shape = ops::pool_shape(images, op);
  const bool is_average = op.kind != OpKind::max_pool2d;
  if (is_average && shape.count_padding) {
    return refusal(op, "its means count padding (count_include_pad); export it without");
  }
  if (shape.kernel_h * shape.kernel_w > kElementsMax) return refusal(op, "its window has more than 2^31 - 1 pixels");
  shape.count_padding = false;  // of a maximum it says nothing
  return MicroLayer{.kind = is_average ? MicroKind::average_pool2d : MicroKind::max_pool2d, .shape = shape};
}

// Nothing: the op moves no element.
Result<std::optional<MicroLayer>> layer_of(const Model& model, const OpInfo& op, bool trains) {
  COT_ASSIGN(const Shape x, example_shape(model, op, op.inputs[0]));
  COT_ASSIGN(const Shape y, example_shape(model, op, op.outputs[0]));
  const auto some = [](MicroLayer layer) { return std::optional(std::move(layer)); };
  switch (op.kind) {
    case OpKind::flatten:
    case OpKind::reshape:
    case OpKind::identity: return std::optional<MicroLayer>();
    case OpKind::dropout:
      if (trains) return refusal(op, "training in C has no random numbers; convert the model without it");
      return std::optional<MicroLayer>();
    case OpKind::dense: {
      COT_ASSIGN(MicroLayer layer, dense_layer(op, x, y));
      return some(std::move(layer));
    }
    case OpKind::conv2d: return some(conv_layer(op, x, model.shape(op.inputs[1])));
    case OpKind::max_pool2d:
    case OpKind::average_pool2d:
    case OpKind::global_average_pool2d: {
      COT_ASSIGN(MicroLayer layer, pool_layer(op, x));
      return some(std::move(layer));
    }
    case OpKind::relu: return some({.kind = MicroKind::relu});
    case OpKind::softmax:
      if (trains) return refusal(op, "training has its own softmax, in the loss; convert the model without it");
      if (x.size() != 1) return refusal(op, "it has several rows an example; only a vector is written");
      return some({.kind = MicroKind::softmax});
    default: return refusal(op, why_not(op.kind, trains));
  }
}

Status check_input(const Model& model) {
  if (model.graph().inputs.size() != 1) {
    return Error(ErrorCode::invalid_argument, "the model has " + std::to_string(model.graph().inputs.size()) +
                                                  " inputs; C is written of models with one");
  }
  if (model.input_type() != DataType::float32) {
    return Error(ErrorCode::invalid_argument, "the model's input is int32; C is written of models that take float32");
  }
  return {};
}

// Where the relu stands directly behind a layer with weights, it is part of it.
void fuse_relu(std::vector<MicroLayer>& layers) {
  std::vector<MicroLayer> fused;
  for (MicroLayer& layer : layers) {
    const bool follows_weights = !fused.empty() && fused.back().weight && !fused.back().has_relu;
    if (layer.kind == MicroKind::relu && follows_weights) fused.back().has_relu = true;
    else fused.push_back(std::move(layer));
  }
  layers = std::move(fused);
}

}  // namespace

Result<std::vector<MicroLayer>> micro_layers(const Model& model, bool trains) {
  COT_TRY(check_input(model));
  COT_TRY(check_kinds(model.graph(), trains));
  const ModelGraph& graph = model.graph();
  std::vector<MicroLayer> layers;
  std::set<uint32_t> weights;
  uint32_t last = graph.inputs[0];  // the tensor that the next op must read
  bool may_train = false;
  for (const OpInfo& op : graph.ops) {
    if (op.inputs.empty() || op.inputs[0] != last) {
      return refusal(op,
                     "it does not read what the op before it wrote; only chains of layers are written, no branches");
    }
    COT_ASSIGN(std::optional<MicroLayer> layer, layer_of(model, op, trains));
    last = op.outputs[0];
    if (!layer) continue;
    layer->name = op.name;
    COT_ASSIGN(layer->in, element_count(*example_shape(model, op, op.inputs[0])));
    COT_ASSIGN(layer->out, element_count(*example_shape(model, op, op.outputs[0])));
    if (layer->kind == MicroKind::dense || layer->kind == MicroKind::conv2d) {
      COT_TRY(add_weights(model, op, weights, *layer));
    }
    layers.push_back(std::move(*layer));
  }
  if (last != graph.output) {
    return Error(ErrorCode::invalid_argument,
                 "the model's output is not what its last op writes; remove what follows it");
  }
  if (layers.empty()) return Error(ErrorCode::invalid_argument, "the model computes nothing: there is no C to write");
  for (const uint32_t weight : weights) may_train = may_train || !graph.tensors[weight].is_frozen;
  if (trains && !may_train) {
    return Error(ErrorCode::invalid_argument, "every parameter of the model is frozen: there is nothing to train");
  }
  if (trains && layers.back().out < 2) {
    return Error(ErrorCode::invalid_argument,
                 "the model has one output; training in C lowers the cross-entropy of two classes or more");
  }
  fuse_relu(layers);
  return layers;
}

}  // namespace coterie
