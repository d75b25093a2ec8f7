// A model's graph while passes rewrite it: who makes and reads each tensor, shapes, and values that are known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// What the file is for. Whoever trains it needs each parameter as it is, and ops that differ in training.
enum class ModelUse : uint8_t { predict, train };

// Ops keep their places until drop_dead(). A rewrite leaves the index and the shapes as they were until refresh().
class PassGraph {
 public:
  // Errors: none but those of Model's own checks.
  static Result<PassGraph> of(const Model& model, ModelUse use);
  // The model of the graph as it stands, sealed. Errors: those of Model::load.
  Result<Model> model() const;

  ModelUse use() const { return use_; }
  size_t op_count() const { return graph_.ops.size(); }
  OpInfo& op(uint32_t i) { return graph_.ops[i]; }
  const OpInfo& op(uint32_t i) const { return graph_.ops[i]; }
  const TensorInfo& tensor(uint32_t tensor) const { return graph_.tensors[tensor]; }
  bool is_needed(uint32_t i) const { return index_.is_needed[i]; }
  bool is_output(uint32_t tensor) const;  // the model's own or one of those beside it (model_outputs.h)
  // A dimension of -k is k times the batch.
  const Shape& shape(uint32_t tensor) const { return types_[tensor].shape; }
  DataType type(uint32_t tensor) const { return types_[tensor].type; }

  // The op that makes the tensor, if it is of this kind; else kNoOp. `sole`: if nobody but one op's one operand reads
  // it, and it is no output.
  uint32_t maker(uint32_t tensor, OpKind kind) const;
  uint32_t sole_maker(uint32_t tensor, OpKind kind) const;
  // The only op that reads the tensor once, if there is one.
  uint32_t sole_reader(uint32_t tensor) const;
  bool has_one_reader(uint32_t tensor) const { return index_.has_one_reader(tensor); }

  // A constant; where the file is for prediction a parameter or a statistic, too.
  bool is_known(uint32_t tensor) const;
  std::vector<float> values(uint32_t tensor) const;      // of a known float32 tensor
  std::optional<float> scalar(uint32_t tensor) const;    // its value, if it is known and has one element
  std::vector<int32_t> integers(uint32_t tensor) const;  // of an int32 constant

  // Everyone who reads the tensor reads `by`, of the same shape and type. An output keeps its name. False, and
  // nothing is done: the output would be no op's, or another output.
  bool read_instead(uint32_t tensor, uint32_t by);
  // A known tensor of these values: a frozen parameter, or in a file for training a constant. None: one of them is not
  // finite, or it is too large for a constant.
  std::optional<uint32_t> add_known(const std::string& name, Shape shape, const std::vector<float>& values);

  // Behind each rewrite. Errors: a rewrite that does not fit is a mistake of the pass, and an error that names it.
  Status refresh();
  // Ops that the output does not depend on; how many there were.
  size_t drop_dead();

 private:
  PassGraph(const Model& model, ModelUse use);

  ModelUse use_;
  ModelGraph graph_;
  std::vector<uint32_t> further_outputs_;
  GraphIndex index_;
  std::vector<TensorType> types_;
  std::vector<float> payload_;  // model() lays it out anew
};

// The operand of a binary op beside operand `i`.
inline uint32_t other_operand(const OpInfo& op, size_t i) { return op.inputs[1 - i]; }
// Whether operand i is there.
inline bool has_operand(const OpInfo& op, size_t i) { return i < op.inputs.size() && op.inputs[i] != kNoTensor; }

}  // namespace coterie
