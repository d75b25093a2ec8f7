// Judging a model on the host's examples: what coterie_model_evaluate and coterie_model_measure share.
#pragma once

#include "coterie_train.h"
#include "device_sdk/c_api/train_options.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/loss_heads.h"

namespace coterie {

// By what of the options counts; a network in int8 by its own answers, which have no heads. `sink` and `heads` may be
// null. Errors: those of coterie_model_evaluate.
Result<Evaluation> evaluate(const coterie_model& handle, const coterie_dataset* dataset, const TrainOptions& options,
                            const OutputSink& sink, std::vector<HeadResult>* heads = nullptr);

// Its size has been checked.
void fill(coterie_evaluation& evaluation, const Evaluation& known);

}  // namespace coterie
