#include <algorithm>

#include "device_sdk/runtime/program.h"

namespace coterie {
namespace {

uint16_t* halves(float* buffer) { return reinterpret_cast<uint16_t*>(buffer); }

void run_narrow(const Step& step, const StepContext& context) {
  const auto [begin, end] = step.part;
  const auto& [x, copy] = step.take<2>();
  context.kernels.narrow(end - begin, x + begin, halves(copy) + begin);
}

constexpr StepKindOf<NoSettings> kNarrowStep{"bfloat16.narrow", run_narrow};

void run_widen(const Step& step, const StepContext& context) {
  const auto [begin, end] = step.part;
  const auto& [copy, x] = step.take<2>();
  context.kernels.widen(end - begin, halves(copy) + begin, x + begin);
}

constexpr StepKindOf<NoSettings> kWidenStep{"bfloat16.widen", run_widen};

bool names(std::span<const BufferId> operands, BufferId id) {
  return std::find(operands.begin(), operands.end(), id) != operands.end();
}

}  // namespace

bool Program::is_held_for_backward(BufferId id) const {
  const Buffer& buffer = buffers_[id];
  if (buffer.place != Place::planned || buffer.is_filled_before || buffer.is_read_after) return false;
  const auto is_named_in = [&](Phase phase) {
    return std::ranges::any_of(drafts_[static_cast<size_t>(phase)],
                               [&](const Draft& draft) { return names(operands_of(draft), id); });
  };
  return is_named_in(Phase::forward) && is_named_in(Phase::backward);
}

void Program::hold_as_bfloat16(std::span<const BufferId> buffers) {
  for (const BufferId id : buffers) {
    if (!is_held_for_backward(id)) continue;
    std::vector<Draft>& forward = drafts_[static_cast<size_t>(Phase::forward)];
    std::vector<Draft>& backward = drafts_[static_cast<size_t>(Phase::backward)];
    const auto reads_it = [&](const Draft& draft) { return names(operands_of(draft), id); };
    const auto writer = std::find_if(forward.begin(), forward.end(), reads_it);  // the first that names it
    const auto reader = std::find_if(backward.begin(), backward.end(), reads_it);
    const uint64_t bytes = buffers_[id].bytes, count = bytes / sizeof(float);
    const BufferId copy = add_planned((bytes + 1) / 2), again = add_planned(bytes);
    holds(again, buffers_[id].content);
    holds(copy, buffers_[id].content);
    buffers_[copy].content.type = ElementType::bfloat16;

    // In backward its place is taken by what was widened.
    std::vector<bool> is_backward(buffers_.size());
    for (const Draft& draft : backward) {
      for (size_t i = 0; i < draft.buffer_count; ++i) {
        BufferId& operand = operands_[draft.first_buffer + i];
        if (operand == id) operand = again;
        else if (operand != kNoBuffer) is_backward[operand] = true;
      }
    }
    for (const Draft& draft : forward) {
      for (const BufferId operand : operands_of(draft)) {
        if (operand != kNoBuffer) is_backward[operand] = false;
      }
    }
    for (Share& share : shares_) {
      if (share.operand == id && share.result != kNoBuffer && is_backward[share.result]) share.operand = again;
    }

    // Emitted at the end of their phase, then moved to their places.
    const size_t write_at = static_cast<size_t>(writer - forward.begin()) + 1;
    const auto read_at = static_cast<size_t>(reader - backward.begin());
    set_origin(forward[write_at - 1].origin);
    emit(Phase::forward, kNarrowStep, NoSettings{}, {id, copy}, by_elements(count));
    std::rotate(forward.begin() + static_cast<ptrdiff_t>(write_at), forward.end() - 1, forward.end());
    set_origin(backward[read_at].origin);
    emit(Phase::backward, kWidenStep, NoSettings{}, {copy, again}, by_elements(count));
    std::rotate(backward.begin() + static_cast<ptrdiff_t>(read_at), backward.end() - 1, backward.end());
  }
}

}  // namespace coterie
