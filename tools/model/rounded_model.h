// A model some of whose weights went through integers of a few bits and back: what `quantise` tries, keeps and stores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/int8_grid.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/stored_weights.h"
#include "tools/model/input_moments.h"
#include "tools/model/weight_form.h"

namespace coterie {

// The bytes of integers in a file, up to where the next ones may begin.
uint64_t stored_bytes(uint64_t count, uint32_t bits);

class RoundedModel {
 public:
  // `exact`: flat parameters of the model, perhaps others than its own. All `weights` in one form, without a corrected
  // bias. The model must outlive it.
  RoundedModel(const Model& model, std::vector<float> exact, const std::vector<Int8WeightAxis>& weights,
               const WeightForm& form);

  const Model& model() const { return *model_; }
  const std::vector<float>& exact() const { return exact_; }
  const std::vector<float>& rounded() const { return rounded_; }  // flat
  size_t size() const { return weights_.size(); }                 // in the order that was given
  const WeightForm& form(size_t i) const { return weights_[i].form; }
  const std::string& name(size_t i) const;
  const Shape& shape(size_t i) const;
  Int8Loss loss(size_t i) const;
  uint64_t stored_bytes(size_t i, uint32_t bits) const { return coterie::stored_bytes(elements(shape(i)), bits); }
  uint64_t scale_bytes(size_t i) const;

  uint32_t tensor(size_t i) const { return axes_[i].tensor; }

  std::span<const float> bias(size_t i) const;  // as it is now; precondition: can_correct(i)
  // From then on the bias can be corrected: what that layer reads is `means` on average (mean_activation.h).
  void learn_means(size_t i, std::vector<double> means) { weights_[i].means = std::move(means); }
  bool can_correct(size_t i) const { return !weights_[i].means.empty(); }

  // What weight i and its bias are or were, for `restore`.
  struct Weight {
    WeightForm form;
    StoredWeights stored;
    std::vector<double> means;  // empty: not known
    std::vector<float> bias;    // corrected, where it is compensated
  };
  // Preconditions: is_bias_corrected only if can_correct(i); is_compensated only if it is so already, by the same bits
  // and rule: what is compensated stays.
  Weight change(size_t i, const WeightForm& form);
  // By its bits and its rule, with integers that make up for each other, and for what layers before it have changed.
  // Where its bias can be corrected it is, and integers leave to it what is off on average. Precondition: moments are
  // of its inputs.
  Weight compensate(size_t i, const InputMoments& moments);
  const Weight& weight(size_t i) const { return weights_[i]; }
  void restore(size_t i, Weight weight);

  // The sealed file; with grids one that computes in int8. Precondition: none is of kFloatBits.
  Result<Bytes> file(const std::vector<TensorGrid>& grids = {}) const;

 private:
  void put(size_t i);

  const Model* model_;
  std::vector<Int8WeightAxis> axes_;
  std::vector<float> exact_, rounded_;
  std::vector<Weight> weights_;
};

// The dense layer or convolution that reads the weight, if nobody else does, and if it has a bias that nobody else
// reads; null: there is none.
const OpInfo* biased_reader(const ModelGraph& graph, uint32_t weight);

// Tells the model what its layers read on average over the examples, where that can be known. Errors: those of
// mean_activation but malformed.
Status learn_means(RoundedModel& model, ExampleSource& examples, uint64_t target_elements);

// The mean of what a dense layer or a convolution adds up for each output, beside its bias: `weights` [.., rows,
// outputs] times the means of its inputs. A group of outputs reads a group of `rows` inputs.
std::vector<double> mean_sums(std::span<const float> weights, size_t rows, size_t outputs,
                              const std::vector<double>& means);

}  // namespace coterie
