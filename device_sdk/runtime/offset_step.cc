#include "device_sdk/runtime/offset_step.h"

namespace coterie {
namespace {

void run_offset(const Step& step, const StepContext& context) {
  const auto [gradient, offset, sum] = step.slice<3>();
  context.kernels.add(step.part.size(), gradient, offset, sum);
}

constexpr StepKindOf<NoSettings> kOffsetStep{"update.offset", run_offset};

}  // namespace

BufferId emit_offset(Program& program, Phase phase, uint64_t count, BufferId gradient, BufferId offset) {
  const BufferId sum = program.add_planned(count * sizeof(float));
  program.holds(sum, {.role = BufferRole::gradient, .elements = count});
  program.emit(phase, kOffsetStep, NoSettings{}, {gradient, offset, sum}, by_elements(count));
  program.may_share(sum, gradient);
  return sum;
}

}  // namespace coterie
