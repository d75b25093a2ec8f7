// coterie_model, and the parameters of a model by their names.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "coterie_train.h"
#include "device_sdk/c_api/handle.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/predictor.h"

struct coterie_model : coterie::Handle {
  explicit coterie_model(coterie::Model opened);

  coterie::Model model;
  std::vector<uint32_t> parameters;             // tensors of the graph that have a place in the file
  std::optional<coterie::Predictor> predictor;  // from the first prediction on
};

namespace coterie {

// Where in the flat vector the parameter lies: its first index. Errors: not_found, invalid_argument (another
// count, no values).
Result<size_t> find_parameter(const Model& model, const char* name, const float* values, size_t count);

}  // namespace coterie
