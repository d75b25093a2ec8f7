// coterie_model, and the parameters of a model by their names.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "coterie_train.h"
#include "device_sdk/c_api/handle.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/predictor.h"

namespace coterie {

// What answers where the file computes in int8.
struct Int8Answers {
  Bytes file;                                  // as it is stored
  std::unique_ptr<const Int8Program> program;  // where the predictor knows it to be
  Int8Predictor predictor;
};

}  // namespace coterie

struct coterie_model : coterie::Handle {
  explicit coterie_model(coterie::Model opened);

  // Null: it computes in float32.
  std::unique_ptr<coterie::Int8Answers> int8;
  coterie::Model model;              // where there is `int8`, the one that it was rounded from
  std::vector<uint32_t> parameters;  // tensors of the graph that have a place in the file
  // From the first prediction on: of the model's own output, and of all.
  std::optional<coterie::Predictor> predictor, all_predictor;
  std::vector<coterie::ModelOutput> outputs;  // once they were asked for

  coterie::ByteView file() const { return int8 ? coterie::ByteView(int8->file) : model.file(); }
  // Its own first; a network in int8 has no other.
  std::vector<coterie::ModelOutput> all_outputs() const;
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
// What a network in int8 says of examples whose inputs are input_spans. Errors: invalid_argument (a number of inputs or
// a size is wrong).
Status predict_int8(Int8Answers& int8, std::span<const std::span<const float>> inputs, size_t example_count,
                    std::span<float> output);
// The float32 model, for what trains it or changes its weights. invalid_argument: it computes in int8.
Result<const Model*> float_model(const coterie_model& handle);

}  // namespace coterie
