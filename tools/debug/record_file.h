// A StepRecord as a file.
//
//   8 bytes    "COTSTEP1"
//   32 bytes   content_digest of all that is behind them
//   u64        bytes of the head
//   head       what the tensors are, field by field (record_file.cc)
//   tensors    each from a multiple of 64 bytes on, in the order of the head
//
// Integers and values are little-endian. What a tensor's place is follows from the tensors in front of it: a file can
// name no place beyond its end. These files are a tool's own: no device and no server reads them.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "tools/debug/step_record.h"

namespace coterie {

class Model;

inline constexpr uint64_t kRecordHeadBytesMax = 16ull << 20;
inline constexpr uint64_t kRecordFileBytesMax = kStepRecordBytesMax + 2 * kRecordHeadBytesMax;

// What all steps of a training have in common.
struct RecordedTraining {
  Digest model;                  // of the model's file
  std::vector<bool> is_trained;  // by tensor of the graph
  uint64_t steps_an_epoch = 1;
  friend bool operator==(const RecordedTraining&, const RecordedTraining&) = default;
};

struct RecordFile {
  RecordedTraining training;
  StepRecord record;
};

Bytes encode_record(const RecordedTraining& training, const StepRecord& record);

// The views of the record are into `file`, which it takes. Errors: malformed (no such file; or what it says is not of
// `model`), data_loss (truncated, damaged), conflict (of another model).
Result<RecordFile> decode_record(Bytes file, const Model& model);

}  // namespace coterie
