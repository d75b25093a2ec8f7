// A stored model that computes in int8: its file opened.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/int8/int8_program.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/stored_model_file.h"

namespace coterie {

struct Int8Model {
  Model exact;  // the float32 model that it was rounded from, its weights on their grids
  Int8Program program;
  std::vector<Int8Weights> weights;  // as they are stored, sorted by tensor
};

// Hostile input is safe: what decode_stored_model and Model::load check, then what make_int8_program does. Errors:
// theirs; malformed where the model has no grids.
Result<Int8Model> open_int8_model(const Bytes& file);

}  // namespace coterie
