#include "device_sdk/runtime/model_builder.h"

#include <cmath>

#include "base/checked.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/seal.h"
#include "proto/codec/limits.h"
#include "proto/messages/model_outputs.h"

namespace coterie {

namespace {

constexpr int64_t kBatch = 2;  // shapes are inferred for so many examples

}  // namespace

ModelBuilder::ModelBuilder(std::string name, Shape input_shape, uint64_t seed, DataType input_type) : prng_(seed) {
  graph_.name = std::move(name);
  graph_.tensors.push_back({.name = "input", .role = TensorRole::input, .shape = input_shape, .type = input_type});
  graph_.inputs = {0};
  input_shape.insert(input_shape.begin(), kBatch);
  types_.push_back({input_type, std::move(input_shape)});
}

TensorId ModelBuilder::input(std::string name, Shape shape, DataType type) {
  const auto id = static_cast<TensorId>(graph_.tensors.size());
  graph_.tensors.push_back({.name = std::move(name), .role = TensorRole::input, .shape = shape, .type = type});
  graph_.inputs.push_back(id);
  shape.insert(shape.begin(), kBatch);
  types_.push_back({type, std::move(shape)});
  return id;
}

Shape ModelBuilder::shape(TensorId tensor) const {
  const Shape& whole = types_[tensor].shape;
  const TensorRole role = graph_.tensors[tensor].role;
  if (has_payload(role) || role == TensorRole::constant || whole.empty()) return whole;
  return Shape(whole.begin() + 1, whole.end());
}

ShapeAttributes ModelBuilder::batched(Shape shape) {
  shape.insert(shape.begin(), -1);
  return {std::move(shape)};
}

TensorId ModelBuilder::stored(TensorRole role, std::string name, Shape shape, std::vector<float> values) {
  const auto count = element_count(shape);
  if (!mistake_ && !count) mistake_ = count.error();
  if (!mistake_ && *count != values.size()) {
    mistake_ = Error(ErrorCode::invalid_argument, "parameter " + name + " has " + std::to_string(values.size()) +
                                                      " values for shape " + to_text(shape));
  }
  constexpr size_t kAlignment = limits::kParameterAlignment / sizeof(float);
  payload_.resize(round_up(payload_.size(), kAlignment));
  graph_.tensors.push_back(
      {.name = std::move(name), .role = role, .shape = shape, .payload_offset = payload_.size() * sizeof(float)});
  types_.push_back({DataType::float32, std::move(shape)});
  payload_.insert(payload_.end(), values.begin(), values.end());
  return static_cast<TensorId>(graph_.tensors.size() - 1);
}

TensorId ModelBuilder::constant(std::string name, DataType type, Shape shape, ByteView data) {
  const auto count = element_count(shape);
  if (!mistake_ && !count) mistake_ = count.error();
  if (!mistake_ && *count * kElementBytes != data.size()) {
    mistake_ = Error(ErrorCode::invalid_argument,
                     "constant " + name + " has " + std::to_string(data.size()) + " bytes for shape " + to_text(shape));
  }
  graph_.tensors.push_back({.name = std::move(name),
                            .role = TensorRole::constant,
                            .shape = shape,
                            .type = type,
                            .data = Bytes(data.begin(), data.end())});
  types_.push_back({type, std::move(shape)});
  return static_cast<TensorId>(graph_.tensors.size() - 1);
}

TensorId ModelBuilder::constant(std::string name, Shape shape, std::span<const float> values) {
  const ByteView data(reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes());
  return constant(std::move(name), DataType::float32, std::move(shape), data);
}

TensorId ModelBuilder::constant(std::string name, Shape shape, std::span<const int32_t> values) {
  const ByteView data(reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes());
  return constant(std::move(name), DataType::int32, std::move(shape), data);
}

template <typename Draw>
TensorId ModelBuilder::drawn(std::string name, Shape shape, const Draw& draw) {
  const auto count = element_count(shape);
  if (!count || *count > limits::kTensorElementsMax) {
    if (!mistake_) mistake_ = Error(ErrorCode::too_large, "parameter " + name + " is too large or empty");
    return parameter(std::move(name), {1}, {0});
  }
  std::vector<float> values(*count);
  for (float& value : values) value = static_cast<float>(draw());
  return parameter(std::move(name), std::move(shape), std::move(values));
}

TensorId ModelBuilder::normal(std::string name, Shape shape, double deviation) {
  return drawn(std::move(name), std::move(shape), [&] { return deviation * prng_.normal(); });
}

TensorId ModelBuilder::uniform(std::string name, Shape shape, double bound) {
  return drawn(std::move(name), std::move(shape), [&] { return prng_.uniform(-bound, bound); });
}

TensorId ModelBuilder::he_normal(std::string name, Shape shape, uint64_t fan_in) {
  return normal(std::move(name), std::move(shape), std::sqrt(2.0 / static_cast<double>(fan_in)));
}

TensorId ModelBuilder::dense(TensorId x, uint32_t units, bool bias) {
  const std::string name = next_name("dense");
  const int64_t in = shape(x).empty() ? 1 : shape(x).back();
  std::vector<TensorId> inputs = {x, he_normal(name + ".weight", {in, units}, static_cast<uint64_t>(in))};
  if (bias) inputs.push_back(parameter(name + ".bias", {units}, std::vector<float>(units)));
  return op(OpKind::dense, std::move(inputs), {}, name);
}

TensorId ModelBuilder::conv2d(TensorId x, const ConvLayer& layer) {
  const std::string name = next_name("conv");
  const int64_t channels = shape(x).size() == 3 ? shape(x)[2] : 1;
  const int64_t depth = layer.groups > 0 ? std::max<int64_t>(1, channels / layer.groups) : 1;
  const int64_t kernel = layer.kernel;
  const Shape weight{kernel, kernel, depth, layer.filters};
  const auto fan_in = static_cast<uint64_t>(kernel * kernel * depth);
  std::vector<TensorId> inputs = {x, he_normal(name + ".weight", weight, fan_in)};
  if (layer.bias) inputs.push_back(parameter(name + ".bias", {layer.filters}, std::vector<float>(layer.filters)));
  return op(OpKind::conv2d, std::move(inputs),
            Conv2dAttributes{layer.stride, layer.stride, layer.pad, layer.pad, layer.pad, layer.pad, layer.groups},
            name);
}

TensorId ModelBuilder::batch_norm(TensorId x, const NormAttributes& attributes) {
  const std::string name = next_name("batch_norm");
  const int64_t channels = shape(x).empty() ? 1 : shape(x).back();
  const std::vector<float> zeros(static_cast<size_t>(channels)), ones(static_cast<size_t>(channels), 1.0f);
  const TensorId scale = parameter(name + ".scale", {channels}, ones);
  const TensorId bias = parameter(name + ".bias", {channels}, zeros);
  const TensorId mean = state(name + ".mean", {channels}, zeros);
  const TensorId variance = state(name + ".variance", {channels}, ones);
  return op(OpKind::batch_norm, {x, scale, bias, mean, variance}, attributes, name);
}

TensorId ModelBuilder::layer_norm(TensorId x, const NormAttributes& attributes) {
  const std::string name = next_name("layer_norm");
  const Shape whole = shape(x);
  const size_t axes = std::min<size_t>(attributes.axes, whole.size());
  const Shape normalised(whole.end() - static_cast<ptrdiff_t>(axes), whole.end());
  const uint64_t count = element_count(normalised).value_or(1);
  const TensorId scale = parameter(name + ".scale", normalised, std::vector<float>(count, 1.0f));
  const TensorId bias = parameter(name + ".bias", normalised, std::vector<float>(count));
  return op(OpKind::layer_norm, {x, scale, bias}, attributes, name);
}

TensorId ModelBuilder::embedding(TensorId indices, uint32_t rows, uint32_t features) {
  const std::string name = next_name("embedding");
  return op(OpKind::embedding, {normal(name + ".table", {rows, features}, 1.0), indices}, {}, name);
}

TensorId ModelBuilder::max_pool2d(TensorId x, const PoolLayer& l) {
  return op(OpKind::max_pool2d, {x},
            Pool2dAttributes{l.kernel, l.kernel, l.stride, l.stride, l.pad, l.pad, l.pad, l.pad});
}

TensorId ModelBuilder::average_pool2d(TensorId x, const PoolLayer& l) {
  return op(OpKind::average_pool2d, {x},
            Pool2dAttributes{l.kernel, l.kernel, l.stride, l.stride, l.pad, l.pad, l.pad, l.pad});
}

std::vector<TensorId> ModelBuilder::outputs(OpKind kind, std::vector<TensorId> inputs, OpAttributes attributes,
                                            std::string name) {
  if (name.empty()) name = next_name(std::string(to_string(kind)));
  if (std::holds_alternative<std::monostate>(attributes)) attributes = default_attributes(kind);
  OpInfo info{.kind = kind, .name = name, .inputs = std::move(inputs), .attributes = std::move(attributes)};
  std::vector<TensorType> inferred = {{DataType::float32, {kBatch, 1}}};
  if (!mistake_) {
    auto types = infer(info);
    if (types) inferred = std::move(*types);
    else mistake_ = types.error().with_context("op " + name);
  }
  for (size_t i = 0; i < inferred.size(); ++i) {
    info.outputs.push_back(static_cast<TensorId>(graph_.tensors.size()));
    const std::string suffix = i == 0 ? "" : "." + std::to_string(i);
    graph_.tensors.push_back({.name = name + suffix, .role = TensorRole::activation});
    types_.push_back(std::move(inferred[i]));
  }
  graph_.ops.push_back(std::move(info));
  return graph_.ops.back().outputs;
}

Result<std::vector<TensorType>> ModelBuilder::infer(OpInfo op) const {
  if (auto* shape = std::get_if<ShapeAttributes>(&op.attributes)) shape->shape = at_batch(shape->shape, kBatch);
  std::vector<Operand> operands;
  for (const TensorId id : op.inputs) {
    if (id == kNoTensor) operands.push_back({});
    else operands.push_back({true, graph_.tensors[id].role, types_[id].type, types_[id].shape});
  }
  const OpRule* rule = rule_of(op.kind);
  if (rule == nullptr) return does_not_fit("this build has no " + std::string(to_string(op.kind)));
  if (op.attributes.index() != default_attributes(op.kind).index()) return does_not_fit("has another op's attributes");
  return rule->infer(op, operands);
}

Result<Bytes> ModelBuilder::finish(TensorId output, std::span<const TensorId> further) {
  if (mistake_) return *mistake_;
  ModelGraph graph = graph_;
  std::vector<TensorId> outputs = {output};
  outputs.insert(outputs.end(), further.begin(), further.end());
  if (outputs.size() > kModelOutputsMax) {
    return Error(ErrorCode::invalid_argument,
                 std::to_string(outputs.size()) + " outputs, at most " + std::to_string(kModelOutputsMax));
  }
  set_graph_outputs(graph, outputs);
  Bytes file = sealed_model_file(graph, payload_);
  COT_TRY(Model::load(file));
  return file;
}

}  // namespace coterie
