// How good a model is on examples, by the measures that a user asks for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/loss_heads.h"
#include "proto/messages/dataset.h"

namespace coterie {

// The loss for a data set: softmax_cross_entropy of labels, mean_squared_error of numbers, unless another is named.
LossSettings loss_for(const DatasetHeader& data, std::optional<Loss> named);

struct Measure {
  std::string name;
  double value;
};

struct Measured {
  Evaluation evaluation;
  std::vector<Measure> measures;  // in the order they were asked for; with heads of the model's own output
  std::vector<HeadResult> heads;
};

// What text of parse_measures may name.
inline constexpr const char* kMeasureTexts =
    "top-K, precision, recall, f1, auc, mae, rmse, r2, perplexity (device_sdk/runtime/metrics.h), or all that fit";

// "top-5,f1,auc" as names; empty text gives none. invalid_argument names what is no measure.
Result<std::vector<std::string>> parse_measures(std::string_view text);

// Evaluates the model with its own parameters, by so many threads, which changes no bit. Errors: Evaluator's;
// invalid_argument for a measure that does not fit the loss or the model (with "all" there is none of these). `unit`:
// what a difference of 1 between two targets is in their own unit; mae and rmse are told in it. `also` sees the
// outputs, too.
Result<Measured> measure(const Model& model, ExampleSource& examples, const LossSettings& loss,
                         const std::vector<std::string>& names, uint32_t threads = 1, double unit = 1,
                         const OutputSink& also = nullptr);

}  // namespace coterie
