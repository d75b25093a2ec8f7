// The programs of a Trainer: of a whole micro-batch, and of the smaller last one of an epoch.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "device_sdk/runtime/augment.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

class TrainingParts;

// Planned but not yet bound to an arena.
struct TrainingPrograms {
  CompiledModel whole;
  std::optional<CompiledModel> rest;
  uint32_t batch_size = 0, micro_batch_size = 0, rest_size = 0;
  ArenaLayout layout;
  Augmentation augmentation;
  LossSettings loss;  // of the options, or of mixtures
};

// invalid_argument, too_large.
Status check_examples(uint64_t examples);
// `examples` are trained on; `parts` may be null. Precondition: check_options. Errors: as Trainer::create.
Result<TrainingPrograms> compile_programs(const Model& model, const TrainOptions& options, uint64_t examples,
                                          TrainingParts* parts);
// too_large: they need more than planned_bytes_max.
Status check_planned(const TrainingPrograms& programs, const TrainOptions& options);

}  // namespace coterie
