// What the steps of a compiled program and their operands are called: by the names that the model has for them.
#pragma once

#include <string>
#include <vector>

#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/step_info.h"
#include "proto/messages/model.h"

namespace coterie {

struct ListedOperand {
  std::string what;   // "conv1.weight", "gradient of conv1.weight", "moment of conv1.weight", "target", "scratch"
  std::string type;   // "float32"
  std::string shape;  // "8x28x28x1", the batch included; of what is no tensor the number of elements
  OperandInfo info;
};

// Keeps references: the graph and the types (infer_types of it) must outlive it.
class StepNames {
 public:
  StepNames(const ModelGraph& graph, const std::vector<TensorType>& types) : graph_(graph), types_(types) {}

  std::string op(uint32_t origin) const;       // its name; "loss", "update"
  std::string op_kind(uint32_t origin) const;  // "conv2d"; "loss", "update"
  ListedOperand operand(const OperandInfo& info) const;
  std::string tensor(uint32_t tensor) const;  // "tensor 7" where it has no name

 private:
  std::string what(BufferRole role, uint32_t tensor) const;
  // A gradient of trained channels alone has fewer elements than its tensor.
  bool is_whole(uint32_t tensor, uint64_t count) const;

  const ModelGraph& graph_;
  const std::vector<TensorType>& types_;
};

}  // namespace coterie
