#include "tools/model/step_listing.h"

#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/shape_inference.h"
#include "tools/model/inspect.h"

namespace coterie {
namespace {

class Namer {
 public:
  Namer(const ModelGraph& graph, const std::vector<TensorType>& types) : graph_(graph), types_(types) {}

  std::string op(uint32_t origin) const {
    if (origin == kLossOrigin) return "loss";
    if (origin == kUpdateOrigin) return "update";
    return graph_.ops[origin].name;
  }

  ListedOperand operand(const OperandInfo& info) const {
    const auto& [type, role, tensor, count] = info.content;
    return {.what = what(role, tensor),
            .type = std::string(to_string(type)),
            .shape = is_whole(tensor, count) ? shape_text(types_[tensor].shape) : std::to_string(count),
            .info = info};
  }

 private:
  std::string what(BufferRole role, uint32_t tensor) const {
    switch (role) {
      case BufferRole::scratch: return "scratch";
      case BufferRole::target: return "target";
      case BufferRole::value: return tensor_name(tensor);
      case BufferRole::gradient: return "gradient of " + tensor_name(tensor);
      case BufferRole::moment: return "moment of " + tensor_name(tensor);
    }
    return "";
  }

  std::string tensor_name(uint32_t tensor) const {
    const std::string& name = graph_.tensors[tensor].name;
    return name.empty() ? "tensor " + std::to_string(tensor) : name;
  }

  // A gradient of trained channels alone has fewer elements than its tensor.
  bool is_whole(uint32_t tensor, uint64_t count) const {
    return tensor != kNoTensor && elements(types_[tensor].shape) == count;
  }

  const ModelGraph& graph_;
  const std::vector<TensorType>& types_;
};

}  // namespace

Result<StepListing> list_steps(const Model& model, uint32_t batch_size) {
  COT_ASSIGN(const CompiledModel compiled,
             compile(model, {.batch_size = batch_size, .arena_bytes_max = limits::kArenaBytesMax}));
  COT_ASSIGN(const InferredTypes inferred, infer_types(model.graph(), batch_size));
  const Namer namer(model.graph(), inferred.types);
  StepListing listing{
      .model = model.graph().name, .batch_size = batch_size, .planned_bytes = compiled.program.planned_bytes()};
  for (StepInfo& info : compiled.program.steps()) {
    ListedStep& step = listing.steps.emplace_back();
    step.op = namer.op(info.origin);
    for (const OperandInfo& operand : info.operands) step.operands.push_back(namer.operand(operand));
    step.info = std::move(info);
  }
  return listing;
}

}  // namespace coterie
