// Whether a model computes what was stored, and its kernels what plain loops do. Whether it was converted rightly is
// the subject of conversion_check.h.
#pragma once

#include <string>
#include <vector>

#include "device_sdk/runtime/model.h"

namespace coterie {

struct VerifyResult {
  std::string what;  // "test_data_set_0", "kernels beside plain loops"
  uint64_t examples = 0;
  double difference = 0;  // the largest, as a part of the largest value that was expected (at least 1)
};

// The kernels of this CPU against the reference loops, both on the converted model: nothing of the conversion is
// checked by it. On `examples` random examples: floats in [-1, 1], indices 0 and 1 (which every table has). Errors:
// too_large.
Result<VerifyResult> verify_kernels(const Model& model, uint32_t examples);

// Every folder test_data_set_N beside the ONNX file, as onnx.backend.test has them: input_0.pb, ...,
// output_0.pb, in ONNX's layout. Errors: those of reading, malformed (tensors that do not fit the model).
Result<std::vector<VerifyResult>> verify_stored(const Model& model, const std::string& onnx_file);

}  // namespace coterie
