#include "device_sdk/watch/step_view.h"

#include <algorithm>

#include "device_sdk/runtime/program.h"

namespace coterie {
namespace {

const void* data_of(const OperandInfo& operand, const Arena& arena) {
  switch (operand.place) {
    case BufferPlace::planned: return arena.planned() + operand.offset;
    case BufferPlace::fixed: return arena.region(operand.region).data() + operand.offset / sizeof(float);
    case BufferPlace::constant: break;
  }
  return nullptr;
}

bool is_scratch(const OperandInfo& operand, bool is_made) {
  return operand.content.role == BufferRole::scratch && operand.is_made == is_made;
}

bool has_tensor(const StepInfo& step, const OperandInfo& asked) {
  return std::ranges::any_of(step.operands, [&](const OperandInfo& operand) {
    return operand.content.role == asked.content.role && operand.content.tensor == asked.content.tensor;
  });
}

// The step of the same op in front of views[at] that made `scratch`; null where none of the phase has.
const StepView* maker_of(const OperandInfo& scratch, const std::vector<StepView>& views, size_t at) {
  for (size_t i = at; i-- > 0;) {
    if (views[i].info.origin != views[at].info.origin) continue;
    for (const OperandInfo& made : views[i].info.operands) {
      const bool is_there =
          made.place == scratch.place && made.region == scratch.region && made.offset == scratch.offset;
      if (is_scratch(made, true) && is_there) return &views[i];
    }
  }
  return nullptr;
}

void add_arranged(std::vector<StepView>& views, size_t at) {
  StepView& view = views[at];
  for (const OperandInfo& scratch : view.info.operands) {
    if (!is_scratch(scratch, false)) continue;
    const StepView* const maker = maker_of(scratch, views, at);
    if (maker == nullptr) continue;
    for (size_t i = 0; i < maker->data.size(); ++i) {
      const OperandInfo& operand = maker->info.operands[i];
      const bool is_parameter = operand.content.role == BufferRole::value && operand.place == BufferPlace::fixed;
      if (is_parameter && !has_tensor(view.info, operand)) view.arranged.emplace_back(operand, maker->data[i]);
    }
  }
}

}  // namespace

std::vector<StepView> view_steps(const Program& program, const Arena& arena, Phase phase) {
  std::vector<StepView> views;
  for (StepInfo& info : program.steps()) {
    if (info.phase != phase) continue;
    StepView& view = views.emplace_back();
    for (const OperandInfo& operand : info.operands) view.data.push_back(data_of(operand, arena));
    view.info = std::move(info);
    add_arranged(views, views.size() - 1);
  }
  return views;
}

}  // namespace coterie
