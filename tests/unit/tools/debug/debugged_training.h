// A small training that tests debug.
#pragma once

#include <limits>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#include "tools/debug/training_steps.h"

namespace coterie::test {

inline TrainOptions debugged_options(float learning_rate = 0.02f) {
  TrainOptions options{.batch_size = 4, .epochs = 20, .seed = 7};
  options.optimizer.learning_rate = learning_rate;
  return options;
}

inline Examples examples_for(const Model& model, uint64_t count = 18) {
  return Examples(count, elements(model.input_shape()), static_cast<uint32_t>(model.output_shape().back()));
}

inline std::unique_ptr<TrainingSteps> debugged(const Model& model, const TrainOptions& options, ExampleSource& source) {
  Result<std::unique_ptr<TrainingSteps>> steps = TrainingSteps::create(model, options, source, "");
  EXPECT_OK(steps);
  return std::move(*steps);
}

inline std::function<bool()> never() {
  return [] { return false; };
}

}  // namespace coterie::test
