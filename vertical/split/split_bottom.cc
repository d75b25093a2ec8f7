#include "vertical/split/split_bottom.h"

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/model_builder.h"

namespace coterie::vertical {
namespace {

Error differs(const std::string& what) {
  return Error(ErrorCode::invalid_argument, "split: the bottom is not of this job: " + what, "bottom_differs");
}

// A dense layer of a graph: where its weights and biases lie among the parameters.
struct DensePlace {
  uint32_t inputs = 0, units = 0;
  size_t weights = 0, biases = 0;
};

// Follows a tensor through the ops that read it.
class Walk {
 public:
  Walk(const Model& model, uint32_t from) : model_(model), at_(from) {}

  // The next op, which must be of this kind and the tensor's only reader.
  Result<const OpInfo*> next(OpKind kind, const std::string& layer) {
    const OpInfo* reader = nullptr;
    for (const OpInfo& op : model_.graph().ops) {
      if (std::ranges::find(op.inputs, at_) == op.inputs.end()) continue;
      if (reader != nullptr) return differs(layer + ": two ops read what is in front of it");
      reader = &op;
    }
    const std::string found(reader == nullptr ? "the end" : to_string(reader->kind));
    if (reader == nullptr || reader->kind != kind) {
      return differs(layer + ": expected " + std::string(to_string(kind)) + ", is " + found);
    }
    at_ = reader->outputs[0];
    return reader;
  }

  Result<DensePlace> dense(const std::string& layer, uint32_t inputs, uint32_t units) {
    COT_ASSIGN(const OpInfo* const op, next(OpKind::dense, layer));
    if (op->inputs.size() < 3 || op->inputs[2] == kNoTensor) return differs(layer + ": has no bias");
    const TensorInfo& weights = model_.graph().tensors[op->inputs[1]];
    const TensorInfo& biases = model_.graph().tensors[op->inputs[2]];
    if (!has_payload(weights.role) || !has_payload(biases.role)) return differs(layer + ": its weights are computed");
    if (weights.shape != Shape{inputs, units}) {
      return differs(layer + ": expected " + std::to_string(inputs) + " to " + std::to_string(units) + " numbers, is " +
                     std::to_string(weights.shape[0]) + " to " + std::to_string(weights.shape[1]));
    }
    return DensePlace{.inputs = inputs,
                      .units = units,
                      .weights = weights.payload_offset / sizeof(float),
                      .biases = biases.payload_offset / sizeof(float)};
  }

 private:
  const Model& model_;
  uint32_t at_;
};

// `hidden` 0: none.
Result<std::vector<DensePlace>> find_bottom(const Model& model, size_t own_input, uint32_t inputs, uint32_t hidden,
                                            uint32_t cut) {
  if (own_input >= model.graph().inputs.size() || model.input_type(own_input) != DataType::float32 ||
      model.input_shape(own_input) != Shape{inputs}) {
    return differs("its input: expected " + std::to_string(inputs) + " numbers");
  }
  Walk walk(model, model.graph().inputs[own_input]);
  std::vector<DensePlace> layers;
  if (hidden > 0) {
    COT_ASSIGN(const DensePlace layer, walk.dense("hidden layer", inputs, hidden));
    layers.push_back(layer);
    COT_TRY(walk.next(OpKind::relu, "behind the hidden layer"));
  }
  COT_ASSIGN(const DensePlace layer, walk.dense("layer of the cut", hidden > 0 ? hidden : inputs, cut));
  layers.push_back(layer);
  COT_TRY(walk.next(OpKind::tanh, "behind the layer of the cut"));
  return layers;
}

Status check_network(const SplitSettings& settings) {
  COT_TRY(check_split_settings(settings));
  if (settings.network == SplitNetwork::mlp) return {};
  return differs("the job's network is " + std::string(split_network_name(settings.network)) +
                 ", and mlp alone has a bottom that devices can train");
}

std::vector<float> copy_of(std::span<const float> parameters, size_t first, size_t count) {
  return {parameters.begin() + static_cast<ptrdiff_t>(first),
          parameters.begin() + static_cast<ptrdiff_t>(first + count)};
}

// The first layer as the header derives it. Sums are in double precision.
Status place_first(const DenseWeights& from, const DensePlace& to, std::span<const std::optional<BottomInput>> columns,
                   const SplitColumns& fitted, std::span<float> parameters) {
  std::vector<double> biases(from.biases.begin(), from.biases.end());
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c]) continue;
    const BottomInput& at_devices = *columns[c];
    const SplitColumn& here = fitted.columns[c];
    const double shift = at_devices.deviation > 0 ? (here.mean - at_devices.mean) / at_devices.deviation : 0;
    // A column of one value, here or there, has no slope: its z is 0.
    const bool is_flat = at_devices.deviation == 0 || std::isinf(here.deviation);
    const double slope = is_flat ? 0 : here.deviation / at_devices.deviation;
    for (uint32_t unit = 0; unit < from.units; ++unit) {
      const double weight = from.weights[size_t{at_devices.input} * from.units + unit];
      const auto placed = static_cast<float>(weight * slope);
      biases[unit] += weight * shift;
      if (!std::isfinite(placed) || !std::isfinite(static_cast<float>(biases[unit]))) {
        return Error(ErrorCode::invalid_argument,
                     "split: the bottom's weights of the column " + at_devices.name +
                         " leave the range of floats: at the devices its deviation is " +
                         std::to_string(at_devices.deviation) + ", here " + std::to_string(here.deviation),
                     "bottom_overflows");
      }
      parameters[to.weights + c * from.units + unit] = placed;
    }
  }
  for (uint32_t unit = 0; unit < from.units; ++unit) parameters[to.biases + unit] = static_cast<float>(biases[unit]);
  return {};
}

}  // namespace

Result<Bytes> make_bottom_model(const SplitSettings& settings, uint32_t inputs, uint32_t outputs, uint64_t seed) {
  COT_TRY(check_network(settings));
  if (inputs == 0 || outputs == 0) return differs("a model for devices has numbers in and out");
  ModelBuilder build("split_bottom", {inputs}, seed);
  TensorId x = build.input();
  if (settings.hidden > 0) x = build.relu(build.dense(x, settings.hidden));
  return build.finish(build.dense(build.op(OpKind::tanh, {build.dense(x, settings.cut)}), outputs));
}

Result<SplitBottom> read_bottom(const SplitSettings& settings, const Model& trained, uint32_t inputs) {
  COT_TRY(check_network(settings));
  if (trained.graph().inputs.size() != 1) return differs("it has more inputs than one");
  COT_ASSIGN(const std::vector<DensePlace> places, find_bottom(trained, 0, inputs, settings.hidden, settings.cut));
  SplitBottom bottom;
  for (const DensePlace& layer : places) {
    bottom.layers.push_back(
        {.inputs = layer.inputs,
         .units = layer.units,
         .weights = copy_of(trained.parameters(), layer.weights, size_t{layer.inputs} * layer.units),
         .biases = copy_of(trained.parameters(), layer.biases, layer.units)});
  }
  return bottom;
}

Result<Bytes> place_bottom(const Model& network, size_t own_input, const SplitBottom& bottom,
                           std::span<const std::optional<BottomInput>> columns, const SplitColumns& fitted) {
  if (bottom.layers.empty() || bottom.layers.size() > 2 || columns.size() != fitted.columns.size()) {
    return differs(std::to_string(columns.size()) + " columns are placed of " + std::to_string(fitted.columns.size()));
  }
  const DenseWeights& first = bottom.layers.front();
  const DenseWeights& last = bottom.layers.back();
  for (const std::optional<BottomInput>& column : columns) {
    if (column && column->input >= first.inputs) return differs("it has no input " + std::to_string(column->input));
  }
  COT_ASSIGN(const std::vector<DensePlace> places,
             find_bottom(network, own_input, static_cast<uint32_t>(columns.size()),
                         bottom.layers.size() == 2 ? first.units : 0, last.units));
  std::vector<float> parameters(network.parameters().begin(), network.parameters().end());
  COT_TRY(place_first(first, places.front(), columns, fitted, parameters));
  if (bottom.layers.size() == 2) {
    const DensePlace& to = places.back();
    std::ranges::copy(last.weights, parameters.begin() + static_cast<ptrdiff_t>(to.weights));
    std::ranges::copy(last.biases, parameters.begin() + static_cast<ptrdiff_t>(to.biases));
  }
  return network.file_with(parameters);
}

}  // namespace coterie::vertical
