// What a model says of examples, for NumPy: an array for each output.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "model_import/weights/write_npz.h"

namespace coterie {

class PredictedArrays {
 public:
  explicit PredictedArrays(const std::vector<ModelOutput>& outputs);

  // One or some examples' answers of an output, behind those before; of int32 the same bytes seen as float.
  void add(size_t output, std::span<const float> words);
  // [examples, ..] by the outputs' names. Returns what to tell of it. Errors: those of write_npz and of the file.
  Result<std::string> write(const std::string& path);

 private:
  std::vector<uint64_t> widths_;
  std::vector<model_import::NpzArray> arrays_;
};

}  // namespace coterie
