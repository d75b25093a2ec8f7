// A model file as it is opened to be served: what computes in float32, and what computes in int8.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

struct Int8Program;

struct ServableModel {
  Model model;                                        // where there is `int8`, the float32 model it was rounded from
  std::shared_ptr<const Int8Program> int8 = nullptr;  // null: it computes in float32
  Digest digest;                                      // of the file
  uint64_t file_bytes = 0;
};

// Hostile input is safe. Errors: check_seal's; Model::load's, or open_int8_model's where the file has grids;
// invalid_argument (no input, or the model's own output is not float32).
Result<ServableModel> open_servable(Bytes file);

}  // namespace coterie
