// TrainingParts: who gives a Trainer's programs the parts that something else computes (delegate/). A Trainer asks for
// them when it compiles, and compiles anew when one of them has been given up: the step in which that happened is done
// again from its beginning, so that none is lost and none counts twice.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

struct ExternalParts;
struct TrainOptions;

// Serves one Trainer, which calls it on its own thread.
class TrainingParts {
 public:
  virtual ~TrainingParts() = default;
  // Once, in front of all else. Errors: invalid_argument, of a training whose parts nobody else computes.
  virtual Status begin(const Model& model, const TrainOptions& options) = 0;
  // The parts of a program for so many examples, without those that were given up; null: there are none. They hold
  // until the next call.
  virtual Result<const ExternalParts*> parts_for(uint32_t batch_size) = 0;
  // Whether a part has been given up since parts_for() gave it last.
  virtual bool has_given_up() = 0;
};

}  // namespace coterie
