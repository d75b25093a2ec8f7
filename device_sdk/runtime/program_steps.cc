#include "device_sdk/runtime/program.h"

namespace coterie {

std::vector<StepInfo> Program::steps() const {
  std::vector<StepInfo> infos;
  std::vector<bool> is_there(buffers_.size());
  for (BufferId id = 0; id < is_there.size(); ++id) is_there[id] = buffers_[id].is_filled_before;
  for (size_t phase = 0; phase < kPhases; ++phase) {
    for (const Draft& draft : drafts_[phase]) {
      StepInfo& info = infos.emplace_back();
      info.phase = static_cast<Phase>(phase);
      info.name = draft.kind->name();
      info.settings = draft.kind->describe(draft.settings.get());
      info.origin = draft.origin;
      for (const BufferId id : operands_of(draft)) {
        if (id == kNoBuffer) continue;
        const Buffer& buffer = buffers_[id];
        OperandInfo& operand = info.operands.emplace_back();
        operand.content = buffer.content;
        const uint64_t size = size_of(buffer.content.type);
        if (operand.content.elements == 0) operand.content.elements = buffer.bytes / size;
        operand.bytes = operand.content.elements * size;
        operand.place = buffer.place;
        operand.region = buffer.region;
        operand.offset = buffer.offset;
        operand.is_made = buffer.place == BufferPlace::planned && !is_there[id];
      }
      for (const BufferId id : operands_of(draft)) {
        if (id != kNoBuffer) is_there[id] = true;
      }
    }
  }
  return infos;
}

}  // namespace coterie
