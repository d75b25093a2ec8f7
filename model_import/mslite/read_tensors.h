// The tensors of a file, and what its readers share. Private to them: it names the format's tables.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/result.h"
#include "model_import/mslite/read_mslite.h"
#include "proto/generated/mslite_generated.h"

namespace coterie::model_import {

// `root` lies in the model's bytes, of which there are `file_bytes`. Errors, naming the tensor: those of read_mslite.
Result<std::vector<MsliteTensor>> read_mslite_tensors(const mslite_wire::Graph& root, uint64_t file_bytes);

// What the attributes of a node say. Absent ones have the format's defaults. Errors: malformed (a number out of range,
// none where there must be some), invalid_argument (a form that is not read).
Result<MsliteAttributes> read_mslite_attributes(MsliteOp op, const mslite_wire::Primitive& wire);

// --- what readers share

inline Error mslite_malformed(const std::string& why) { return Error(ErrorCode::malformed, why); }
inline Error mslite_refused(const std::string& why) { return Error(ErrorCode::invalid_argument, why); }
inline Error mslite_too_many(const char* what, size_t seen, size_t most) {
  return Error(ErrorCode::too_large,
               "the model has " + std::to_string(seen) + " " + what + ", at most " + std::to_string(most));
}

template <typename Vector>
size_t mslite_size(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// A name as the table has it: cut, and never empty.
inline std::string mslite_name(const flatbuffers::String* text, const char* absent) {
  if (text == nullptr || text->size() == 0) return absent;
  return std::string(text->c_str(), std::min<size_t>(text->size(), kMsliteNameBytesMax));
}

}  // namespace coterie::model_import
