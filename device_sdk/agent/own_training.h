// What a device trains of what is its own (proto/messages/personal_settings.h): one place for the agent and for
// `coterie simulate`, so that a simulated device trains as a real one, bit for bit.
//
//                     first                                  then, for the update
//   part              -                                      all together, from the device's own values
//   part, epochs      the device's own parameters alone      the others alone (FedRep)
//   model             the device's own model (Ditto)         as of any job
//
// The first training needs the given model and what the device keeps, and nothing of the second.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"
#include "proto/messages/trained_values.h"

namespace coterie {

class Trainer;
class UpdateLayout;

// Whether a training comes before that of the update.
bool has_own_training(const TrainingSettings& settings);

// `model` with the values that are the device's own; empty: as it is. data_loss if they are of another model.
Result<Model> with_own_values(const Model& model, const ValueSelection& own, std::span<const float> values);

struct OwnTraining {
  Model model;
  TrainOptions options;
};
// The training that comes first. `seed`: of the whole; `kept`: what the device has of its own so far; empty: what the
// model has. Precondition: has_own_training. Errors: those of with_own_values.
Result<OwnTraining> own_training(const Model& given, const UpdateLayout& layout, const TrainingSettings& settings,
                                 uint64_t seed, std::span<const float> kept);

// What is the device's own when `trainer` is finished, which has trained it or begun with it.
std::vector<float> own_values(const UpdateLayout& layout, const Trainer& trainer);

// Where the update's training begins. `own`: what own_training came to, or without one what is kept.
Result<Model> model_of_update(const Model& given, const UpdateLayout& layout, const TrainingSettings& settings,
                              std::span<const float> own);

// What the device keeps if the update counts that `trainer` was for. `own`: as above.
std::vector<float> next_own(const UpdateLayout& layout, const TrainingSettings& settings, const Trainer& trainer,
                            std::vector<float> own);

}  // namespace coterie
