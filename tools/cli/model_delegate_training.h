// coterie model delegate --train: a training some of whose parts a delegate computes, on random examples.
#pragma once

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegated_predictor.h"
#include "device_sdk/runtime/model.h"
#include "tools/cli/by_turns.h"
#include "tools/cli/model_delegate.h"

namespace coterie {

struct MeasuredTraining {
  DelegateReport report;
  double first_seconds = 0;  // the delegate's first step, with its check
  SecondsByTurns seconds;    // of a step behind it
};

// Steps of the options' batch size and loss, once and then so often as they say, beside a training of our own; and as
// many more as a check of gradients that differ goes on for. Errors: as Trainer::create and Trainer::step; cancelled.
Result<MeasuredTraining> measure_delegated_training(const Model& model, Delegate& delegate,
                                                    const ModelDelegateOptions& options);

}  // namespace coterie
