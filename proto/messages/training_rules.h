// The rules of a job's training, the same on the server that takes a job and on the device that receives its plan.
#pragma once

#include <cstdint>

#include "base/problem.h"
#include "proto/messages/plan.h"

namespace coterie {

// Together they fit a plan's frame (proto/codec/limits.h).
inline constexpr size_t kClassWeightsMax = 4'096;
// Whether the model's own output is compared with classes: devices then tell how many were right.
bool is_classified(const TrainingSettings& training);

inline constexpr size_t kPatternsMax = 64;  // of freeze and of train_only, each
inline constexpr size_t kPersonalPatternsMax = 16;
inline constexpr size_t kPatternBytesMax = 256;  // at least 1

// All that is wrong, each under its JSON pointer within the settings: "/optimizer/learning_rate". Whether a model has
// what patterns name is known by whoever has the model.
Problems problems_of(const TrainingSettings& training);

}  // namespace coterie
