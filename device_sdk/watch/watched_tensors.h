// WatchedTensors: which checks of a plan are for which tensors of a model, and what those are called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/watch/watch_plan.h"

namespace coterie {

class WatchedTensors {
 public:
  using Checks = std::vector<size_t>;  // indices of plan.checks
  struct Name {
    std::string layer, tensor;
  };

  // `is_trained`: per tensor. `model` and `plan` must outlive it.
  WatchedTensors(const Model& model, const WatchPlan& plan, const std::vector<bool>& is_trained);

  // By tensor; empty where there is none.
  const Checks& of_output(uint32_t tensor) const { return outputs_[tensor]; }
  const Checks& of_weight(uint32_t tensor) const { return weights_[tensor]; }
  const Checks& of_start(uint32_t tensor) const { return starts_[tensor]; }
  const Checks& of_gradient(uint32_t tensor) const { return gradients_[tensor]; }
  // Those of subject op, which are for the ops that match.
  const Checks& of_op(uint32_t op) const { return ops_[op]; }
  bool has(Subject subject) const;
  // The first check that reads tensors and is for none of this model.
  std::optional<size_t> idle_check() const;
  // Those of a subject of the training as a whole.
  Checks of_training(Subject subject) const;

  // Pairs of a check and a tensor: what is remembered of a training is so many things at most.
  uint64_t pairs() const;

  // Trained parameters, by tensor.
  const std::vector<uint32_t>& trained() const { return trained_; }

  Name name_of_output(uint32_t tensor) const;
  Name name_of_weight(uint32_t tensor) const;
  Name name_of_gradient(uint32_t tensor) const;
  std::string name_of_op(uint32_t op) const { return model_.graph().ops[op].name; }

  // What a buffer of `tensor`'s values shows where the layer applies the ReLU behind it: the ReLU's output. `is_there`:
  // of each tensor, whether the program has a buffer of its own for it.
  uint32_t shown_in(uint32_t tensor, const std::vector<bool>& is_there) const;

 private:
  std::string tensor_name(uint32_t tensor) const;

  const Model& model_;
  const WatchPlan& plan_;
  GraphIndex index_;         // of what the model's own output needs
  GraphIndex index_of_all_;  // of what any head of a training may need: who reads a weight
  std::vector<Checks> outputs_, weights_, starts_, gradients_, ops_;
  std::vector<uint32_t> trained_;
};

}  // namespace coterie
