// What a training waits for: its examples and its computing, step by step, measured in a real training. Pure: the clock
// is the log's.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace coterie {

class ExampleSource;
class Model;
class StageLog;
class StepTracer;
struct TrainOptions;

struct ProfiledInput {
  uint32_t batch_size = 0;      // of each step: options.batch_size, or all examples if they are fewer
  uint64_t steps_an_epoch = 0;  // of whole batches: the examples behind the last one are left out
  uint64_t fixed_bytes = 0;     // training_trace.h
};

// Trains as a Trainer with these options does, from the model's parameters on: `steps` times (at least 1) and once more
// before, which is not measured. `log` hears of copy, transform (with options.augment alone), batch and step; `tracer`,
// if it is not null, of each step of the program. Not of options: epochs, steps_max,
// micro_batch_size, early_stopping. `example_bytes`: what an example has where it is read from. Errors: Trainer's.
Result<ProfiledInput> profile_input(const Model& model, const TrainOptions& options, ExampleSource& examples,
                                    uint64_t example_bytes, uint32_t steps, StageLog& log,
                                    StepTracer* tracer = nullptr);

}  // namespace coterie
