#include "device_sdk/runtime/model_builder.h"

#include <cmath>

#include "base/checked.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/op_rule.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"

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

Shape ModelBuilder::shape(TensorId tensor) const {
  const Shape& whole = types_[tensor].shape;
  if (has_payload(graph_.tensors[tensor].role) || whole.empty()) return whole;
  return Shape(whole.begin() + 1, whole.end());
}

ShapeAttributes ModelBuilder::batched(Shape shape) {
  shape.insert(shape.begin(), -1);
  return {std::move(shape)};
}

TensorId ModelBuilder::parameter(std::string name, Shape shape, std::vector<float> values) {
  const auto count = element_count(shape);
  if (!mistake_ && !count) mistake_ = count.error();
  if (!mistake_ && *count != values.size()) {
    mistake_ = Error(ErrorCode::invalid_argument, "parameter " + name + " has " + std::to_string(values.size()) +
                                                      " values for shape " + to_text(shape));
  }
  constexpr size_t kAlignment = limits::kParameterAlignment / sizeof(float);
  payload_.resize(round_up(payload_.size(), kAlignment));
  graph_.tensors.push_back({.name = std::move(name),
                            .role = TensorRole::parameter,
                            .shape = shape,
                            .payload_offset = payload_.size() * sizeof(float)});
  types_.push_back({DataType::float32, std::move(shape)});
  payload_.insert(payload_.end(), values.begin(), values.end());
  return static_cast<TensorId>(graph_.tensors.size() - 1);
}

TensorId ModelBuilder::he_normal(std::string name, Shape shape, uint64_t fan_in) {
  const auto count = element_count(shape);
  if (!count || *count > limits::kTensorElementsMax) {
    if (!mistake_) mistake_ = Error(ErrorCode::too_large, "parameter " + name + " is too large or empty");
    return parameter(std::move(name), {1}, {0});
  }
  std::vector<float> values(*count);
  const double deviation = std::sqrt(2.0 / static_cast<double>(fan_in));
  for (float& value : values) value = static_cast<float>(deviation * prng_.normal());
  return parameter(std::move(name), std::move(shape), std::move(values));
}

TensorId ModelBuilder::dense(TensorId x, uint32_t units, bool bias) {
  const std::string name = next_name("dense");
  const int64_t in = shape(x).empty() ? 1 : shape(x).back();
  std::vector<TensorId> inputs = {x, he_normal(name + ".weight", {in, units}, static_cast<uint64_t>(in))};
  if (bias) inputs.push_back(parameter(name + ".bias", {units}, std::vector<float>(units)));
  return op(OpKind::dense, std::move(inputs));
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
            Conv2dAttributes{layer.stride, layer.stride, layer.pad, layer.pad, layer.pad, layer.pad, layer.groups});
}

TensorId ModelBuilder::max_pool2d(TensorId x, const PoolLayer& l) {
  return op(OpKind::max_pool2d, {x},
            Pool2dAttributes{l.kernel, l.kernel, l.stride, l.stride, l.pad, l.pad, l.pad, l.pad});
}

TensorId ModelBuilder::average_pool2d(TensorId x, const PoolLayer& l) {
  return op(OpKind::average_pool2d, {x},
            Pool2dAttributes{l.kernel, l.kernel, l.stride, l.stride, l.pad, l.pad, l.pad, l.pad});
}

TensorId ModelBuilder::op(OpKind kind, std::vector<TensorId> inputs, OpAttributes attributes) {
  const std::string name = next_name(std::string(to_string(kind)));
  const auto output = static_cast<TensorId>(graph_.tensors.size());
  if (std::holds_alternative<std::monostate>(attributes)) attributes = default_attributes(kind);
  OpInfo info{.kind = kind, .name = name, .inputs = std::move(inputs), .outputs = {output},
              .attributes = std::move(attributes)};
  TensorType inferred{DataType::float32, {kBatch, 1}};
  if (!mistake_) {
    auto types = infer(info);
    if (types) inferred = std::move((*types)[0]);
    else mistake_ = types.error().with_context("op " + name);
  }
  graph_.tensors.push_back({.name = name, .role = TensorRole::activation});
  types_.push_back(std::move(inferred));
  graph_.ops.push_back(std::move(info));
  return output;
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

Result<Bytes> ModelBuilder::finish(TensorId output) {
  if (mistake_) return *mistake_;
  ModelGraph graph = graph_;
  graph.output = output;
  Bytes file = encode_head(graph, payload_.size() * sizeof(float));
  const auto* values = reinterpret_cast<const uint8_t*>(payload_.data());
  file.insert(file.end(), values, values + payload_.size() * sizeof(float));
  COT_TRY(Model::load(file));
  return file;
}

}  // namespace coterie
