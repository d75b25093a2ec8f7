#include "device_sdk/runtime/training_programs.h"

#include <algorithm>
#include <string_view>

#include "base/text/concat.h"
#include "device_sdk/runtime/channels.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/training_parts.h"

namespace coterie {
namespace {

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"training: ", what})); }

std::span<const float> offset_of(const TrainOptions& options) {
  return options.gradient_offset ? std::span<const float>(*options.gradient_offset) : std::span<const float>();
}

}  // namespace

Status check_examples(uint64_t examples) {
  if (examples < 1) return bad("there are no examples");
  if (examples > limits::kTrainingExamplesMax) {
    return Error(ErrorCode::too_large, concat({"training: ", examples, " examples, at most 2^26"}));
  }
  return {};
}

Result<TrainingPrograms> compile_programs(const Model& model, const TrainOptions& options, uint64_t examples,
                                          TrainingParts* parts) {
  COT_TRY(check_examples(examples));
  if (!kHasDelegates) parts = nullptr;
  if (options.gradient_offset && options.gradient_offset->size() != model.value_count()) {
    return bad(
        concat({"gradient_offset has ", options.gradient_offset->size(), " values, the model ", model.value_count()}));
  }
  TrainingPrograms compiled;
  COT_ASSIGN(compiled.augmentation, augmentation_for(model, options.loss, options.augment));
  compiled.loss = loss_with(compiled.augmentation, options.loss);
  compiled.batch_size = static_cast<uint32_t>(std::min<uint64_t>(options.batch_size, examples));
  compiled.micro_batch_size =
      options.micro_batch_size == 0 ? compiled.batch_size : std::min(options.micro_batch_size, compiled.batch_size);
  if (!options.loss.heads.empty() && options.loss.ignore_label && compiled.micro_batch_size < compiled.batch_size) {
    return bad("heads with an ignore_label are computed a whole batch at a time: micro_batch_size must be 0");
  }
  COT_ASSIGN(std::vector<bool> is_trainable, trainable_tensors(model.graph(), options));
  std::vector<ChannelRange> channels;
  if (kHasChannels) {
    COT_ASSIGN(channels, channel_ranges(model.graph(), options.channels));
  }
  CompileSettings settings{.loss = compiled.loss,
                           .batch_size = compiled.micro_batch_size,
                           .optimizer = options.optimizer,
                           .keeps_gradients = compiled.micro_batch_size < compiled.batch_size ||
                                              options.clip_norm > 0 || options.clip_value > 0 ||
                                              (kHasLossScaling && options.loss_scaling.is_on()) || parts != nullptr,
                           .freeze_statistics = options.freeze_statistics,
                           .groups = options.groups,
                           .proximal_mu = options.proximal_mu,
                           .gradient_offset = offset_of(options),
                           .is_trainable = std::move(is_trainable),
                           .channels = std::move(channels),
                           .qat = options.qat,
                           .arena_bytes_max = options.arena_bytes_max,
                           .storage = options.storage,
                           .planned_bytes_max = options.planned_bytes_max,
                           .joins_steps = options.joins_steps,
                           .optimisation = options.optimisation,
                           .runs_waves = options.runs_waves,
                           .threads = options.threads,
                           .part_nanoseconds_min = options.part_nanoseconds_min};
  compiled.rest_size = static_cast<uint32_t>(examples % settings.batch_size);
  // With parts no step has moved a parameter before all of its backward is known to be right: gradients are kept.
  if (parts != nullptr) {
    COT_ASSIGN(settings.external, parts->parts_for(settings.batch_size));
  }
  COT_ASSIGN(compiled.whole, compile(model, settings));
  compiled.layout = compiled.whole.layout;
  if (compiled.rest_size == 0) return compiled;
  settings.batch_size = compiled.rest_size;
  // It rounds only where the larger batch has to.
  if (compiled.whole.narrowed.tensors == 0) settings.storage = Storage::float32;
  if (parts != nullptr) {
    COT_ASSIGN(settings.external, parts->parts_for(settings.batch_size));
  }
  COT_ASSIGN(compiled.rest, compile(model, settings));
  // Both programs run in one arena, one after the other: its size is the larger of the two, region by region.
  compiled.layout.join(compiled.rest->layout);
  return compiled;
}

Status check_planned(const TrainingPrograms& programs, const TrainOptions& options) {
  if (options.planned_bytes_max > 0 && programs.layout.planned_bytes > options.planned_bytes_max) {
    return Error(ErrorCode::too_large,
                 concat({"training: activations and gradients need at least ", programs.layout.planned_bytes,
                         " bytes, allowed are ", options.planned_bytes_max}));
  }
  return {};
}

}  // namespace coterie
