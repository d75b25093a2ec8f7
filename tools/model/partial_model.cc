#include "tools/model/partial_model.h"

#include <algorithm>
#include <optional>

#include "device_sdk/runtime/predictor.h"
#include "proto/codec/codec.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 32;

// Which tensors `tensor` is computed from.
std::vector<bool> needed_for(const ModelGraph& graph, uint32_t tensor) {
  std::vector<bool> needed(graph.tensors.size());
  needed[tensor] = true;
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    if (std::ranges::none_of(op->outputs, [&](uint32_t output) { return output != kNoTensor && needed[output]; }))
      continue;
    for (const uint32_t input : op->inputs) {
      if (input != kNoTensor) needed[input] = true;
    }
    // All of its outputs stay, as it writes them.
    for (const uint32_t output : op->outputs) {
      if (output != kNoTensor) needed[output] = true;
    }
  }
  return needed;
}

// The model that ends with `tensor`. Inputs and parameters stay, so that examples fit and the payload is the same.
Result<Model> ending_with(const Model& model, uint32_t tensor) {
  const ModelGraph& whole = model.graph();
  const std::vector<bool> needed = needed_for(whole, tensor);
  ModelGraph graph;
  graph.name = whole.name;
  std::vector<uint32_t> index(whole.tensors.size(), kNoTensor);
  for (uint32_t i = 0; i < whole.tensors.size(); ++i) {
    if (whole.tensors[i].role == TensorRole::activation && !needed[i]) continue;
    index[i] = static_cast<uint32_t>(graph.tensors.size());
    graph.tensors.push_back(whole.tensors[i]);
  }
  const auto moved = [&](std::vector<uint32_t> list) {
    for (uint32_t& each : list) each = each == kNoTensor ? kNoTensor : index[each];
    return list;
  };
  for (OpInfo op : whole.ops) {
    const bool is_needed =
        std::ranges::any_of(op.outputs, [&](uint32_t output) { return output != kNoTensor && needed[output]; });
    if (!is_needed) continue;
    op.inputs = moved(op.inputs);
    op.outputs = moved(op.outputs);
    graph.ops.push_back(std::move(op));
  }
  graph.inputs = moved(whole.inputs);
  graph.output = index[tensor];
  Bytes file = encode_head(graph, model.parameters().size_bytes());
  const auto* const payload = reinterpret_cast<const uint8_t*>(model.parameters().data());
  file.insert(file.end(), payload, payload + model.parameters().size_bytes());
  return Model::load(std::move(file));
}

// The inputs of `count` examples from `from` on, one behind the other.
Status read_inputs(const Model& model, ExampleSource& examples, uint64_t from, uint64_t count,
                   std::vector<std::vector<float>>& inputs, std::vector<float>& target) {
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].resize(count * elements(model.input_shape(i)));
  for (uint64_t slot = 0; slot < count; ++slot) {
    std::vector<Example::Place> places;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint64_t size = elements(model.input_shape(i));
      places.push_back(std::span(inputs[i]).subspan(slot * size, size));
    }
    COT_TRY(examples.read(from + slot, Example(places, target)));
  }
  return {};
}

}  // namespace

Status for_each_activation(const Model& model, uint32_t tensor, ExampleSource& examples, uint64_t target_elements,
                           const ActivationSink& sink) {
  if (examples.size() == 0) return Error(ErrorCode::invalid_argument, "there are no examples");
  const auto& inputs_of_model = model.graph().inputs;
  const auto input = std::ranges::find(inputs_of_model, tensor);
  const bool is_input = input != inputs_of_model.end();
  std::optional<Model> part;
  std::optional<Predictor> predictor;
  if (!is_input) {
    COT_ASSIGN(part, ending_with(model, tensor));
    COT_ASSIGN(predictor, Predictor::create(*part, kBatch));
  }
  std::vector<std::vector<float>> inputs(inputs_of_model.size());
  std::vector<float> target(target_elements), outputs;
  for (uint64_t from = 0; from < examples.size(); from += kBatch) {
    const uint64_t count = std::min<uint64_t>(kBatch, examples.size() - from);
    COT_TRY(read_inputs(model, examples, from, count, inputs, target));
    if (is_input) {
      sink(inputs[static_cast<size_t>(input - inputs_of_model.begin())]);
      continue;
    }
    outputs.resize(count * elements(part->output_shape()));
    const std::vector<std::span<const float>> views(inputs.begin(), inputs.end());
    COT_TRY(predictor->run(views, count, outputs));
    sink(outputs);
  }
  return {};
}

}  // namespace coterie
