// Which width of a job (proto/messages/model_widths.h) a device trains, and what it trains then. The device decides by
// itself, and tells it in the sum alone: by what its app allows, and by the memory that a training takes, which is
// known to the byte before there is one. One place for the agent, `coterie simulate` and `coterie job plan`.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "device_sdk/agent/width_limits.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

class UpdateLayout;
struct TrainingSettings;

struct WidthWork {
  Model model;
  std::shared_ptr<const UpdateLayout> layout;  // of it: how its training becomes an update of the whole model
};

// `layout` is of `whole`, the job's model; `width_class`: which of training.widths, from 0. Errors: narrow_model's.
Result<WidthWork> work_at_width(const Model& whole, const UpdateLayout& layout, const TrainingSettings& training,
                                uint32_t width_class);

// The widest that keeps to the limits, on so many examples. refused if none does, with what the narrowest takes.
// Precondition: the job has widths.
Result<WidthWork> widest_work(const Model& whole, const UpdateLayout& layout, const TrainingSettings& training,
                              const WidthLimits& limits, uint64_t examples);

}  // namespace coterie
