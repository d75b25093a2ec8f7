// Whether a model answers as the TFLite file that it was made of: the file is computed as TensorFlow Lite defines its
// kernels, integers to the bit (model_import/tflite_reference).
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/result.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/model.h"
#include "model_import/tflite/tflite_model.h"

namespace coterie {

inline constexpr uint64_t kTfliteTrials = 24;  // inputs of the file's sizes, each of another seed

struct TfliteConversion {
  uint64_t examples = 0, numbers = 0;
  uint64_t apart = 0;  // numbers that are more than a step off; of an output of floats: more than is allowed
  double largest = 0;  // difference
  uint64_t ends = 0;   // numbers at an end of the output's grid, where a model in floats goes on: they are left out
  double step = 0;     // of the output's grid; 0: the file answers with floats
  double value = 0;    // the largest that the file answers with
};

// Inputs are random: over their whole grid, or within [-1, 1]. `output` by name, empty: the first. Errors: those of
// run_tflite and of running the model; invalid_argument: an output that is not in the file, or a model of other sizes
// than the file shows.
Result<TfliteConversion> check_tflite_conversion(const model_import::TfliteModel& file, const std::string& output,
                                                 const std::variant<const Model*, const Int8Model*>& model);

}  // namespace coterie
