// One way to bring a model to int8: by which rule each range and each weight is rounded, the latter to how many bits,
// and what comes of it.
#pragma once

#include <vector>

#include "device_sdk/runtime/int8/int8_program.h"
#include "tools/model/activation_range.h"
#include "tools/model/int8_range.h"

namespace coterie {

struct InputMoments;

// The model is one that int8_layers takes. Copies have the rounded weights.
class Int8Choice {
 public:
  // By min_max throughout. Ranges are those of the examples. Errors: those of int8_layers and activation_histogram.
  static Result<Int8Choice> create(const Model& model, ExampleSource& examples, uint64_t target_elements,
                                   uint32_t weight_bits = 8);
  // By `ranges` of what the model computes, whose grids are laid by least_mse. Errors: those of int8_layers;
  // invalid_argument (there is none of a tensor that needs one).
  static Result<Int8Choice> create(const Model& model, const ActivationHistograms& ranges, uint32_t weight_bits = 8);

  const Model& model() const { return model_; }
  const Int8Layers& layers() const { return layers_; }
  size_t weight_count() const { return weights_.size(); }
  size_t grid_count() const { return grids_.size(); }
  uint32_t weight_tensor(size_t i) const { return weights_[i].form.tensor; }
  uint32_t grid_tensor(size_t i) const { return grids_[i].tensor; }
  RangeRule weight_rule(size_t i) const { return weight_rules_[i]; }
  uint32_t weight_bits(size_t i) const { return weights_[i].form.bits; }
  const std::vector<TensorGrid>& grids() const { return grids_; }
  // As they are stored and computed with.
  std::vector<Int8Weights> bounded_weights() const;
  GridRule grid_rule(size_t i) const { return grid_rules_[i]; }

  void round_weight(size_t i, RangeRule rule) { round_weight(i, rule, weight_bits(i)); }
  void round_weight(size_t i, RangeRule rule, uint32_t bits);  // at most 8
  // Another bias for the layer of weight i, which has one.
  Status correct_bias(size_t i, std::span<const float> bias);
  bool is_bias_corrected(size_t i) const { return is_bias_corrected_[i]; }
  // By its bits and its rule, with integers that make up for each other (compensated_rounding.h).
  void compensate_weight(size_t i, const InputMoments& moments);
  bool is_compensated(size_t i) const { return is_compensated_[i]; }
  // The weight i of another choice of the same model and its bias, as they are there.
  Status take_weight(size_t i, const Int8Choice& other);
  void lay_grid(size_t i, GridRule rule);

  Result<Int8Program> program() const { return make_int8_program(model_, bounded_weights(), grids_); }
  // The sealed file; the program is that of open_int8_model.
  Bytes file() const { return store_as_int8(model_, bounded_weights(), grids_); }

 private:
  Int8Choice(Model model, Int8Layers layers) : model_(std::move(model)), layers_(std::move(layers)) {}

  void add_grid(ActivationHistogram histogram, uint32_t tensor, GridRule rule);
  void add_weights(uint32_t bits);
  uint32_t bias_tensor(size_t i) const;
  std::span<const float> values(uint32_t tensor) const;

  Model model_;
  Int8Layers layers_;
  std::vector<Int8Weights> weights_;  // by tensor
  std::vector<RangeRule> weight_rules_;
  std::vector<bool> is_bias_corrected_, is_compensated_;
  std::vector<ActivationHistogram> histograms_;
  std::vector<TensorGrid> grids_;  // by tensor
  std::vector<GridRule> grid_rules_;
};

}  // namespace coterie
