// Validation: what a training loses on the examples that it holds out, when it ends for that, and the parameters that
// lost least. Early stopping as in Prechelt 1998, "Early Stopping - But When?", criterion UP_s with strips of an epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/augment.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/example_part.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

// All that has to be kept beside the best parameters.
struct ValidationProgress {
  uint64_t step = 0;       // of training, behind which the held-out examples were looked at last; 0: never yet
  uint64_t best_step = 0;  // behind which their loss was lowest; 0: it was never finite
  double best_loss = 0;
  uint32_t checks_without_gain = 0;  // since then
  friend bool operator==(const ValidationProgress&, const ValidationProgress&) = default;
};

// A loss that is not finite is no gain. True if this one is the lowest so far; a tie is none.
bool observe_validation(double loss, uint64_t step, ValidationProgress& progress);

// Not thread-safe.
class Validation {
 public:
  // Keeps a handle to the model; `whole` outlives it. The examples are resized and normalised as in training, and else
  // as they are. Precondition: options.early_stopping; `held_out` is not empty. Errors: those of Evaluator::create and
  // judged().
  static Result<std::unique_ptr<Validation>> create(const Model& model, const TrainOptions& options,
                                                    uint32_t batch_size, ExampleSource& whole,
                                                    std::vector<uint32_t> held_out);
  // What bytes() of so many held-out examples would be; allocates none of it.
  static Result<uint64_t> plan(const Model& model, const TrainOptions& options, uint32_t batch_size, uint64_t held_out);

  uint64_t examples() const { return part_.size(); }
  uint64_t bytes() const;
  // Looks at the next batch; behind the last one it judges `parameters`, which are those after `step` steps and the
  // same in each call until then. Allocates nothing. Errors: the source's own; the call may be made again.
  Status look(std::span<const float> parameters, uint64_t step);

  const ValidationProgress& progress() const { return progress_; }
  double last_loss() const { return last_loss_; }  // of the last look that was finished here; 0: none was
  bool has_best() const { return progress_.best_step > 0; }
  bool has_stopped() const { return progress_.checks_without_gain >= patience_; }
  // The parameters after best_step steps, if there is one.
  std::span<const float> best() const { return best_; }
  // From a checkpoint. `best` is as long as best() if there is a best step, else empty.
  void restore(const ValidationProgress& progress, std::span<const float> best);

 private:
  Validation(ExampleSource& whole, std::vector<uint32_t> held_out, uint32_t patience, Evaluator evaluator,
             uint64_t value_count)
      : part_(whole, std::move(held_out)), patience_(patience), evaluator_(std::move(evaluator)), best_(value_count) {}

  ExamplePart part_;
  std::optional<AugmentedSource> augmented_;  // none: they are read as they are
  uint32_t patience_;
  Evaluator evaluator_;
  bool is_looking_ = false;
  double last_loss_ = 0;
  ValidationProgress progress_;
  std::vector<float> best_;
};

}  // namespace coterie
