// coterie_model, and the parameters of a model by their names.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "coterie_train.h"
#include "device_sdk/c_api/handle.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/predictor.h"

struct coterie_model : coterie::Handle {
  explicit coterie_model(coterie::Model opened);

  coterie::Model model;
  std::vector<uint32_t> parameters;  // tensors of the graph that have a place in the file
  // From the first prediction on: of the model's own output, and of all.
  std::optional<coterie::Predictor> predictor, all_predictor;
  std::vector<coterie::ModelOutput> outputs;  // once they were asked for

  // What was made of a model that is another one now.
  void forget() {
    predictor.reset();
    all_predictor.reset();
    outputs.clear();
  }
};

namespace coterie {

// Where in the flat vector the parameter lies: its first index. Errors: not_found, invalid_argument (another
// count, no values).
Result<size_t> find_parameter(const Model& model, const char* name, const float* values, size_t count);

// What is given for each input, as the type that it takes. Errors: invalid_argument (another pointer, no examples).
Result<std::vector<std::span<const float>>> input_spans(const Model& model, const coterie_values* inputs,
                                                        size_t input_count, size_t example_count);
// Examples that are computed at a time.
uint32_t predict_batch(size_t example_count);

}  // namespace coterie
