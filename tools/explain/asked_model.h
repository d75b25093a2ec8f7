// AskedModel: what explanations ask of a model: how high an output is for inputs that are a little different, and how
// steeply it rises.
//
// An output is taken as the model gives it: of most classifiers a logit.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "device_sdk/runtime/predictor.h"
#include "tools/explain/gradients.h"

namespace coterie {

inline constexpr uint64_t kExplainedValuesMax = 1 << 22;  // of an input: some methods hold 66 copies of it

// Inputs lie one behind the other, any number of whole ones. Not thread-safe.
class AskedModel {
 public:
  // Asked before each batch; an error ends what is under way.
  using GoOn = std::function<Status()>;

  // Errors: invalid_argument (several inputs, or one that is not float32; an output that is not one row an example),
  // too_large (kExplainedValuesMax, or memory).
  static Result<AskedModel> create(const Model& model, GoOn go_on = nullptr);

  const Model& model() const { return model_; }
  const GoOn& go_on() const { return go_on_; }
  const Shape& input_shape() const { return model_.input_shape(); }
  size_t input_size() const { return elements(model_.input_shape()); }
  uint32_t outputs() const { return static_cast<uint32_t>(elements(model_.output_shape())); }

  // All outputs of each input. Errors: invalid_argument (an index outside a table) and GoOn's, likewise below.
  Result<std::vector<float>> answers(std::span<const float> inputs);
  // Output `picked` of each.
  Result<std::vector<double>> scores(std::span<const float> inputs, uint32_t picked);
  // The gradient of each one's output `picked` by it, in its shape.
  Result<std::vector<float>> gradients(std::span<const float> inputs, uint32_t picked);
  // The gradient of a sum of each one's outputs, which count as much as `output_gradients` says, a row an input.
  Result<std::vector<float>> gradients(std::span<const float> inputs, std::span<const float> output_gradients);

 private:
  AskedModel(const Model& model, Gradients gradients, Predictor predictor, GoOn go_on)
      : model_(model), gradients_(std::move(gradients)), predictor_(std::move(predictor)), go_on_(std::move(go_on)) {}

  Model model_;
  Gradients gradients_;
  Predictor predictor_;
  GoOn go_on_;
};

}  // namespace coterie
