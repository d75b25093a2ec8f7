// A model file that is asked for answers: in float32, or in int8.
#pragma once

#include <optional>
#include <string>

#include "device_sdk/runtime/int8/int8_program.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

struct OpenedModel {
  Model model;                      // whose inputs and outputs they are
  std::optional<Int8Program> int8;  // what answers, if the file computes in int8; else the model does
};

// Errors name the file.
Result<OpenedModel> open_answering_model(const std::string& file);

}  // namespace coterie
