#include "device_sdk/agent/device_width.h"

#include <string>
#include <utility>

#include "base/assert.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/narrow_model.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/messages/plan.h"

namespace coterie {

Result<WidthWork> work_at_width(const Model& whole, const UpdateLayout& layout, const TrainingSettings& training,
                                uint32_t width_class) {
  COT_ASSERT(width_class < training.widths.size());
  if (width_class == 0) return WidthWork{whole, std::make_shared<const UpdateLayout>(layout)};
  COT_ASSIGN(NarrowModel narrow, narrow_model(whole, training.widths[width_class]));
  const uint64_t values = narrow.model.value_count();
  return WidthWork{std::move(narrow.model), std::make_shared<const UpdateLayout>(
                                                layout.narrowed(width_class, std::move(narrow.pieces), values))};
}

Result<WidthWork> widest_work(const Model& whole, const UpdateLayout& layout, const TrainingSettings& training,
                              const WidthLimits& limits, uint64_t examples) {
  std::string narrowest = "is wider than the app allows";
  for (uint32_t width_class = 0; width_class < training.widths.size(); ++width_class) {
    if (training.widths[width_class] > limits.width_max) continue;
    COT_ASSIGN(WidthWork work, work_at_width(whole, layout, training, width_class));
    if (limits.training_bytes_max == 0) return work;
    COT_ASSIGN(const TrainingMemory memory, Trainer::plan(work.model, options_of(training, 0), examples));
    if (memory.bytes() <= limits.training_bytes_max) return work;
    narrowest = "takes " + std::to_string(memory.bytes()) + " bytes to train, and the app allows " +
                std::to_string(limits.training_bytes_max);
  }
  return Error(ErrorCode::refused, "widths: even the narrowest of the job's models " + narrowest);
}

}  // namespace coterie
