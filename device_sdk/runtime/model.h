// Model: a loaded, semantically checked forward graph and its parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "device_sdk/runtime/op_rule.h"
#include "proto/messages/model.h"

namespace coterie {

// Immutable, and cheap to copy (a shared handle); may be used from any thread.
class Model {
 public:
  // Takes a whole model file. Hostile input is safe: decode_model checks the structure, then every op's operands,
  // shapes and attributes are checked against its rule. Errors: malformed (names the op and what is wrong with it),
  // too_large (over a limit of runtime/limits.h), unsupported_version. Parameters must be finite and the padding
  // between them 0.
  static Result<Model> load(Bytes file);

  const ModelGraph& graph() const { return state_->graph; }
  // Shapes of one example, without the batch dimension: of input `i`, and of the output.
  const Shape& input_shape(size_t i = 0) const { return graph().tensors[graph().inputs[i]].shape; }
  DataType input_type(size_t i = 0) const { return graph().tensors[graph().inputs[i]].type; }
  const Shape& output_shape() const { return state_->output_shape; }
  // Shape of any tensor of the graph, inferred for activations; a dimension of -k is k times the batch.
  const Shape& shape(uint32_t tensor) const { return state_->types[tensor].shape; }
  DataType type(uint32_t tensor) const { return state_->types[tensor].type; }

  // The flat vector: the whole payload as float32, padding between parameters included. Lives as long as any copy of
  // this model.
  std::span<const float> parameters() const { return state_->parameters; }
  uint64_t value_count() const { return state_->parameters.size(); }
  // Floating-point operations of one example's forward pass, a multiply-add counted as two.
  double flops() const { return state_->flops; }

  ByteView file() const { return state_->file; }
  // content_digest of the file. Computed when it is first asked for: checkpoints need it, the first step does not.
  const Digest& digest() const;

  // The file of the same graph with other parameters; `parameters` has value_count() values.
  Bytes file_with(std::span<const float> parameters) const;

 private:
  struct State {
    Bytes file;
    mutable Digest digest;  // once digest_once says so
    ModelGraph graph;
    std::vector<TensorType> types;
    Shape output_shape;
    std::span<const float> parameters;  // into file
    double flops = 0;
    mutable std::once_flag digest_once;
  };
  explicit Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace coterie
