#include "device_sdk/watch/step_view.h"

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

}  // namespace

std::vector<StepView> view_steps(const Program& program, const Arena& arena, Phase phase) {
  std::vector<StepView> views;
  for (StepInfo& info : program.steps()) {
    if (info.phase != phase) continue;
    StepView& view = views.emplace_back();
    for (const OperandInfo& operand : info.operands) view.data.push_back(data_of(operand, arena));
    view.info = std::move(info);
  }
  return views;
}

}  // namespace coterie
