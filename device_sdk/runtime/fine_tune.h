// A model fine-tuned on a device's own examples, and kept only if it is better for them: on the device alone.
//
// A share of the examples is held out by their numbers (example_part.h): the same in each call, so that a device may
// fine-tune version after version and is judged by what it never trained on. The rest is trained on by the options.
#pragma once

#include <functional>

#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

struct FineTuned {
  Model model;               // the trained one if it is better; else the given one
  bool is_better = false;    // of the held-out examples more are right; or as many, and their mean loss is lower
  Evaluation before, after;  // on them: of the given model, and of the trained one
};

// `between` is called between two steps; an error of its ends it all. Held-out examples are not augmented by chance, as
// in an evaluation. Errors: those of training and evaluation, and invalid_argument: the share is not in (0,
// kValidationShareMax], or comes to no example.
Result<FineTuned> fine_tune(const Model& model, const TrainOptions& options, float held_out_share,
                            ExampleSource& examples, const std::function<Status()>& between = nullptr);

// The gate. A loss that is not a number is better than nothing.
bool is_better(const Evaluation& after, const Evaluation& before);

}  // namespace coterie
