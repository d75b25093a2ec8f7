// The tensors of a file, and what its readers share. Private to them: it names the format's tables.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/result.h"
#include "model_import/tflite/read_tflite.h"
#include "proto/generated/tflite_generated.h"

namespace coterie::model_import {

// `root` lies in the model's bytes, of which there are `file_bytes`. Errors, naming the tensor: those of read_tflite.
Result<std::vector<TfliteTensor>> read_tensors(const tflite_wire::Model& root, const tflite_wire::SubGraph& graph,
                                               uint64_t file_bytes);

// --- what readers share

inline Error malformed(const std::string& why) { return Error(ErrorCode::malformed, why); }
inline Error too_many(const char* what, size_t seen, size_t most) {
  return Error(ErrorCode::too_large,
               "the model has " + std::to_string(seen) + " " + what + ", at most " + std::to_string(most));
}

template <typename Vector>
size_t size_of(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// A name as the table has it: cut, and never empty.
inline std::string name_or(const flatbuffers::String* text, const char* absent) {
  if (text == nullptr || text->size() == 0) return absent;
  return std::string(text->c_str(), std::min<size_t>(text->size(), kTfliteNameBytesMax));
}

}  // namespace coterie::model_import
