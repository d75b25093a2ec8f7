// The tensors of a file, and what its readers share. Private to them: it names the format's tables.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model_import/flat/flat_reading.h"
#include "model_import/mslite/read_mslite.h"
#include "proto/generated/mslite_generated.h"

namespace coterie::model_import {

// `root` lies in the model's bytes, of which there are `file_bytes`. Errors, naming the tensor: those of read_mslite.
Result<std::vector<MsliteTensor>> read_mslite_tensors(const mslite_wire::Graph& root, uint64_t file_bytes);

// What the attributes of a node say. Absent ones have the format's defaults. Errors: malformed (a number out of range,
// none where there must be some), invalid_argument (a form that is not read).
Result<MsliteAttributes> read_mslite_attributes(MsliteOp op, const mslite_wire::Primitive& wire);

// --- what readers share

inline Error mslite_refused(const std::string& why) { return Error(ErrorCode::invalid_argument, why); }

}  // namespace coterie::model_import
