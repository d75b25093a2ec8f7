#include "tools/model/step_names.h"

#include "device_sdk/runtime/program.h"
#include "tools/model/inspect.h"

namespace coterie {

std::string StepNames::op(uint32_t origin) const {
  if (origin == kLossOrigin) return "loss";
  if (origin == kUpdateOrigin) return "update";
  return graph_.ops[origin].name;
}

std::string StepNames::op_kind(uint32_t origin) const {
  if (origin == kLossOrigin || origin == kUpdateOrigin) return op(origin);
  return std::string(to_string(graph_.ops[origin].kind));
}

ListedOperand StepNames::operand(const OperandInfo& info) const {
  const auto& [type, role, tensor, count] = info.content;
  return {.what = what(role, tensor),
          .type = std::string(to_string(type)),
          .shape = is_whole(tensor, count) ? shape_text(types_[tensor].shape) : std::to_string(count),
          .info = info};
}

std::string StepNames::what(BufferRole role, uint32_t of) const {
  switch (role) {
    case BufferRole::scratch: return "scratch";
    case BufferRole::target: return "target";
    case BufferRole::value: return tensor(of);
    case BufferRole::gradient: return "gradient of " + tensor(of);
    case BufferRole::moment: return "moment of " + tensor(of);
  }
  return "";
}

std::string StepNames::tensor(uint32_t tensor) const {
  const std::string& name = graph_.tensors[tensor].name;
  return name.empty() ? "tensor " + std::to_string(tensor) : name;
}

bool StepNames::is_whole(uint32_t tensor, uint64_t count) const {
  return tensor != kNoTensor && elements(types_[tensor].shape) == count;
}

}  // namespace coterie
