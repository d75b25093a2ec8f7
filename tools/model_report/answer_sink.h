// What an Evaluator shows its outputs to, so that a report sees each answer.
#pragma once

#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"
#include "tools/model_report/class_answers.h"
#include "tools/model_report/group_fairness.h"

namespace coterie {

// Whether the model is a classifier: one row of at least two scores an example, and the loss is of labels.
bool is_classifier(const Model& model, const LossSettings& loss);
// Whether it says one number an example, and the loss is of numbers.
bool says_a_number(const Model& model, const LossSettings& loss);

// For a classifier. Scores become probabilities by softmax, unless the model's last op made them such already.
// `answers` and `groups` (null: none) outlive the sink; of the groups an error is -log of the label's probability.
OutputSink class_sink(const Model& model, ClassAnswers& answers, GroupAnswers* groups);

// For a model that says a number: an error is |said - target| times `unit`.
OutputSink number_sink(double unit, GroupAnswers& groups);

}  // namespace coterie
