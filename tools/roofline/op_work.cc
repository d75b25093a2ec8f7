#include "tools/roofline/op_work.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "device_sdk/runtime/program.h"

namespace coterie {
namespace {

bool is_same_buffer(const OperandInfo& a, const OperandInfo& b) {
  const auto key = [](const OperandInfo& one) {
    return std::tuple(one.place, one.region, one.offset, one.bytes, one.content.role, one.content.tensor);
  };
  return key(a) == key(b);
}

// Scratch that its step alone names. What steps of an op tell each other (packed weights, saved statistics) is made by
// one and found by another.
bool is_workspace(const OperandInfo& operand, const StepInfo& of, std::span<const StepInfo> steps) {
  if (operand.content.role != BufferRole::scratch || operand.place != BufferPlace::planned || !operand.is_made) {
    return false;
  }
  return std::ranges::none_of(steps, [&](const StepInfo& step) {
    return step.origin == of.origin && std::ranges::any_of(step.operands, [&operand](const OperandInfo& other) {
             return !other.is_made && is_same_buffer(operand, other);
           });
  });
}

// A buffer that a step names twice counts once.
uint64_t bytes_of(const StepInfo& step, std::span<const StepInfo> steps) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const OperandInfo& operand = step.operands[i];
    const auto before = std::span(step.operands).first(i);
    if (is_workspace(operand, step, steps) ||
        std::ranges::any_of(before, [&operand](const OperandInfo& other) { return is_same_buffer(operand, other); })) {
      continue;
    }
    const BufferRole role = operand.content.role;
    const bool is_changed = step.origin == kUpdateOrigin && operand.place == BufferPlace::fixed &&
                            (role == BufferRole::value || role == BufferRole::moment);
    bytes += is_changed ? 2 * operand.bytes : operand.bytes;
  }
  return bytes;
}

bool has_gradient_of(uint32_t tensor, uint32_t origin, std::span<const StepInfo> steps) {
  return std::ranges::any_of(steps, [&](const StepInfo& step) {
    return step.phase == Phase::backward && step.origin == origin &&
           std::ranges::any_of(step.operands, [tensor](const OperandInfo& operand) {
             return operand.content.role == BufferRole::gradient && operand.content.tensor == tensor;
           });
  });
}

double backward_products(const OpInfo& op, uint32_t origin, std::span<const StepInfo> steps) {
  switch (op.kind) {
    case OpKind::dense:
    case OpKind::conv2d:
    case OpKind::conv_transpose2d:
    case OpKind::matmul: {
      double factors = 0;
      for (size_t i = 0; i < std::min<size_t>(2, op.inputs.size()); ++i) {
        factors += has_gradient_of(op.inputs[i], origin, steps) ? 1 : 0;
      }
      return factors;
    }
    case OpKind::attention:
    case OpKind::lstm:
    case OpKind::gru:
    case OpKind::rnn: return 2;
    default: return 1;
  }
}

}  // namespace

OpWork work_of(uint32_t origin, const ModelGraph& graph, double forward_flops, std::span<const StepInfo> steps) {
  OpWork work;
  bool has_forward = false, has_backward = false;
  for (const StepInfo& step : steps) {
    if (step.origin != origin || step.phase == Phase::prepare) continue;
    (step.phase == Phase::forward ? has_forward : has_backward) = true;
    DirectionWork& part = step.phase == Phase::forward ? work.forward : work.backward;
    const uint64_t bytes = bytes_of(step, steps);
    part.bytes += bytes;
    part.working_set = std::max(part.working_set, bytes);
  }
  if (origin >= graph.ops.size()) return work;
  if (has_forward) work.forward.flops = forward_flops;
  if (has_backward) work.backward.flops = forward_flops * backward_products(graph.ops[origin], origin, steps);
  return work;
}

}  // namespace coterie
