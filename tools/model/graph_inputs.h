// The same inputs for networks of several formats: by name, and in the order of axes that each has. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "model_import/interpret/interpret.h"
#include "tools/model/model_output.h"

namespace coterie {

using GivenInputs = std::vector<std::pair<std::string, model_import::Array>>;

constexpr int64_t kGivenExamplesMax = 65536;

// Each is found by its name where all are there by name, else by its position. One that is NHWC where NCHW is declared,
// or the reverse, is put in order; whole numbers become floats and the reverse. Errors name the input: invalid_argument
// (not as many, another shape, numbers that the type has not).
Result<model_import::Arrays> inputs_for(const model_import::Graph& graph, const GivenInputs& given);

struct ModelInputs {
  std::vector<Words> words;
  uint32_t examples = 0;
};
// Likewise; the first size counts examples.
Result<ModelInputs> inputs_for(const Model& model, const GivenInputs& given);

}  // namespace coterie
