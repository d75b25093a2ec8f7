// Replays a training up to the first value that is not finite.
#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "tools/watch/first_non_finite.h"

namespace coterie {

class ExampleSource;
class Trainer;
struct TrainOptions;

struct Replay {
  uint64_t first_step = 0, steps = 0;  // where it began; looked at
  uint64_t skipped = 0;                // of which loss scaling skipped: their gradients are none that training saw
  std::optional<NonFinite> found;
};

// Goes on with `trainer` (of `model`, its joins_steps false so that every op is a step) until something is found, or to
// the training's end. `is_stopped` is asked before each step. Where the loss alone is not finite its example is found
// by evaluating each of the batch alone, unless `is_augmented`: a model with batch norm may answer otherwise there, and
// then no example is named. Errors: cancelled (stopped), and those of Trainer::step that have other reasons.
Result<Replay> replay_to_non_finite(const Model& model, const TrainOptions& options, ExampleSource& examples,
                                    Trainer& trainer, const std::function<bool()>& is_stopped);

}  // namespace coterie
