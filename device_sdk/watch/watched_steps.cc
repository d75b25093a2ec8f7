#include "device_sdk/watch/watched_steps.h"

#include <algorithm>

#include "device_sdk/runtime/program.h"
#include "device_sdk/watch/step_view.h"

namespace coterie {
namespace {

bool holds_tensor(const OperandInfo& operand) {
  const BufferRole role = operand.content.role;
  return operand.content.tensor != kNoTensor && (role == BufferRole::value || role == BufferRole::gradient);
}

}  // namespace

std::vector<WatchedStep> find_watched_steps(const Program& program, const Arena& arena, Phase phase,
                                            const StepsAsked& asked) {
  const size_t tensors = asked.model.graph().tensors.size();
  std::vector<bool> is_there(tensors);
  for (const StepInfo& step : program.steps()) {
    for (const OperandInfo& operand : step.operands) {
      if (operand.content.role == BufferRole::value && operand.content.tensor != kNoTensor) {
        is_there[operand.content.tensor] = true;
      }
    }
  }
  // The update phase is there where gradients are added up; else each update is behind its gradient.
  const bool adds_up = !arena.region(Region::gradients).empty();
  const bool has_updates = phase == Phase::update || (phase == Phase::backward && !adds_up);
  std::vector<bool> is_judged(2 * tensors);
  const std::vector<uint32_t>& inputs = asked.model.graph().inputs;
  std::vector<WatchedStep> steps;
  for (const StepView& view : view_steps(program, arena, phase)) {
    WatchedStep& step = steps.emplace_back();
    if (view.info.origin < asked.model.graph().ops.size()) step.op = view.info.origin;
    if (asked.tracks_finite) {
      for (const auto& [operand, data] : view.arranged) step.reads.push_back(slot_of(operand.content.tensor, false));
    }
    for (size_t i = 0; i < view.data.size(); ++i) {
      const OperandInfo& operand = view.info.operands[i];
      const auto& [type, role, number, count] = operand.content;
      if (!holds_tensor(operand) || view.data[i] == nullptr || type == ElementType::int32) continue;
      const bool is_gradient = role == BufferRole::gradient;
      const TensorView tensor{type, view.data[i], count};
      const uint32_t shown = is_gradient ? number : asked.tensors.shown_in(number, is_there);
      if (!operand.is_made) {
        if (asked.tracks_finite) step.reads.push_back(slot_of(shown, is_gradient));
        const bool is_data = phase == Phase::forward && std::ranges::find(inputs, number) != inputs.end();
        if (asked.tracks_finite && is_data) step.data.emplace_back(slot_of(number, false), tensor);
        const bool is_updated = has_updates && is_gradient && view.info.origin == kUpdateOrigin;
        if (!is_updated || is_judged[slot_of(number, true)] || asked.tensors.of_gradient(number).empty()) continue;
        is_judged[slot_of(number, true)] = true;
        step.gradients.emplace_back(number, tensor);
        continue;
      }
      MadeTensor made{.tensor = tensor, .number = shown, .is_gradient = is_gradient};
      const Shape& shape = asked.model.shape(made.number);
      const auto& checks = asked.tensors.of_output(made.number);
      const bool is_by_unit =
          std::ranges::any_of(checks, [&](size_t c) { return asked.plan.checks[c].check->subject == Subject::relu; });
      if (is_by_unit && !shape.empty() && shape.back() > 0 && count % static_cast<uint64_t>(shape.back()) == 0) {
        made.units = static_cast<uint64_t>(shape.back());
      }
      // What is computed again in backward was judged in forward.
      made.is_first = phase == Phase::forward && !is_gradient && !is_judged[slot_of(made.number, false)];
      if (made.is_first) is_judged[slot_of(made.number, false)] = true;
      if (made.is_first || asked.tracks_finite) step.made.push_back(made);
    }
  }
  return steps;
}

}  // namespace coterie
