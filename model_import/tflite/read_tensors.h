// The tensors of a file. Private to its readers: it names the format's tables.
#pragma once

#include <vector>

#include "base/result.h"
#include "model_import/flat/flat_reading.h"
#include "model_import/tflite/read_tflite.h"
#include "proto/generated/tflite_generated.h"

namespace coterie::model_import {

// `root` lies in the model's bytes, of which there are `file_bytes`. Errors, naming the tensor: those of read_tflite.
Result<std::vector<TfliteTensor>> read_tensors(const tflite_wire::Model& root, const tflite_wire::SubGraph& graph,
                                               uint64_t file_bytes);

}  // namespace coterie::model_import
