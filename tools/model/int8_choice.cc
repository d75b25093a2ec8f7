#include "tools/model/int8_choice.h"

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/stored_weights.h"
#include "tools/model/compensated_rounding.h"

namespace coterie {
namespace {

constexpr float kWeightScaleMin = kGridScaleMin;
constexpr float kBiasStepsMax = 1 << 28;  // half a range stays for the products

}  // namespace

Result<Int8Choice> Int8Choice::create(const Model& model, ExampleSource& examples, uint64_t target_elements,
                                      uint32_t weight_bits) {
  COT_ASSIGN(Int8Layers layers, int8_layers(model));
  Int8Choice choice(model, std::move(layers));
  for (const uint32_t tensor : int8_grid_tensors(choice.layers_)) {
    COT_ASSIGN(ActivationHistogram histogram, activation_histogram(model, tensor, examples, target_elements));
    choice.add_grid(std::move(histogram), tensor, GridRule::min_max);
  }
  choice.add_weights(weight_bits);
  return choice;
}

Result<Int8Choice> Int8Choice::create(const Model& model, const ActivationHistograms& ranges, uint32_t weight_bits) {
  COT_ASSIGN(Int8Layers layers, int8_layers(model));
  Int8Choice choice(model, std::move(layers));
  for (const uint32_t tensor : int8_grid_tensors(choice.layers_)) {
    const std::string& name = model.graph().tensors[tensor].name;
    const auto found = ranges.find(name);
    if (found == ranges.end()) {
      return Error(ErrorCode::invalid_argument,
                   "ranges: there is none of tensor " + name + ", which needs one; the job has to name it");
    }
    choice.add_grid(found->second, tensor, GridRule::least_mse);
  }
  choice.add_weights(weight_bits);
  return choice;
}

void Int8Choice::add_grid(ActivationHistogram histogram, uint32_t tensor, GridRule rule) {
  grids_.push_back(grid_for(histogram, tensor, rule));
  grid_rules_.push_back(rule);
  histograms_.push_back(std::move(histogram));
}

// By min_max each.
void Int8Choice::add_weights(uint32_t bits) {
  std::vector<uint32_t> tensors;
  for (const Int8Layer& layer : layers_.layers) {
    if (layer.is_weighted()) tensors.push_back(layer.weight);
  }
  std::ranges::sort(tensors);
  for (const uint32_t tensor : tensors) {
    weights_.push_back({.form = {.tensor = tensor, .axis = 0, .scales = {}}, .values = {}});
    weight_rules_.push_back(RangeRule::min_max);
    is_bias_corrected_.push_back(false);
    is_compensated_.push_back(false);
    round_weight(weights_.size() - 1, RangeRule::min_max, bits);
  }
}

std::span<const float> Int8Choice::values(uint32_t tensor) const {
  const TensorInfo& info = model_.graph().tensors[tensor];
  return model_.parameters().subspan(info.payload_offset / sizeof(float), elements(info.shape));
}

void Int8Choice::round_weight(size_t i, RangeRule rule, uint32_t bits) {
  const uint32_t tensor = weights_[i].form.tensor;
  const Shape& shape = model_.graph().tensors[tensor].shape;
  weights_[i] = to_int8(values(tensor), shape, tensor, static_cast<uint32_t>(shape.size() - 1), rule, bits);
  weight_rules_[i] = rule;
  is_compensated_[i] = false;
}

void Int8Choice::compensate_weight(size_t i, const InputMoments& moments) {
  round_weight(i, weight_rules_[i]);
  const Int8Weights& plain = weights_[i];
  const StoredWeights found = compensated(
      values(weight_tensor(i)), {.form = plain.form, .values = {plain.values.begin(), plain.values.end()}}, moments);
  weights_[i] = {.form = found.form, .values = {found.values.begin(), found.values.end()}};
  is_compensated_[i] = true;
}

uint32_t Int8Choice::bias_tensor(size_t i) const {
  return std::ranges::find(layers_.layers, weight_tensor(i), &Int8Layer::weight)->bias;
}

Status Int8Choice::take_weight(size_t i, const Int8Choice& other) {
  weights_[i] = other.weights_[i];
  weight_rules_[i] = other.weight_rules_[i];
  is_compensated_[i] = other.is_compensated_[i];
  if (bias_tensor(i) != kNoTensor) COT_TRY(correct_bias(i, other.values(bias_tensor(i))));
  is_bias_corrected_[i] = other.is_bias_corrected_[i];
  return {};
}

Status Int8Choice::correct_bias(size_t i, std::span<const float> bias) {
  std::vector<float> parameters(model_.parameters().begin(), model_.parameters().end());
  const uint64_t first = model_.graph().tensors[bias_tensor(i)].payload_offset / sizeof(float);
  std::ranges::copy(bias, parameters.begin() + static_cast<std::ptrdiff_t>(first));
  COT_ASSIGN(model_, Model::load(model_.file_with(parameters)));
  is_bias_corrected_[i] = true;
  return {};
}

void Int8Choice::lay_grid(size_t i, GridRule rule) {
  grids_[i] = grid_for(histograms_[i], grids_[i].tensor, rule);
  grid_rules_[i] = rule;
}

// A channel whose weights are nothing beside its bias (a filter that died, say) has a scale so small that the bias
// would leave its int32. It gets the least one with which it does not.
std::vector<Int8Weights> Int8Choice::bounded_weights() const {
  std::vector<Int8Weights> weights = weights_;
  for (const Int8Layer& layer : layers_.layers) {
    if (!layer.is_weighted()) continue;
    const auto tensor_of = [](const Int8Weights& each) { return each.form.tensor; };
    Int8Weights& found = *std::ranges::find(weights, layer.weight, tensor_of);
    const auto exact = values(layer.weight);
    // What keeps a grid has that of the layer before it.
    uint32_t from = layer.inputs[0];
    for (auto maker = std::ranges::find(layers_.layers, from, &Int8Layer::output);
         maker != layers_.layers.end() && maker->keeps_grid();
         maker = std::ranges::find(layers_.layers, from, &Int8Layer::output)) {
      from = maker->inputs[0];
    }
    const float scale_in = std::ranges::find(grids_, from, &TensorGrid::tensor)->scale;
    const size_t outputs = found.form.scales.size();
    for (size_t o = 0; o < outputs; ++o) {
      const float bias = layer.bias == kNoTensor ? 0 : std::fabs(values(layer.bias)[o]);
      const float least = std::max(kWeightScaleMin, bias / (scale_in * kBiasStepsMax));
      if (found.form.scales[o] >= least) continue;
      found.form.scales[o] = least;
      for (size_t i = o; i < exact.size(); i += outputs) {
        found.values[i] = static_cast<int8_t>(integer_on(exact[i], least, found.form.bits));
      }
    }
  }
  return weights;
}

}  // namespace coterie
