// The seal of a model or data set file: content_digest of the whole file with the seal's own 32 bytes as zeros, in the
// header. Who wrote the file has sealed it; whoever opens one that lay on a disk checks it (ADR 58).
//
// A file without a seal is of before 0.3. One whose seal is all zeros was put together where its digest is its name: a
// server's next model. Both are read: nothing can be said of them. What came by its digest was checked by that.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace coterie {

struct ModelGraph;

enum class Seal : uint8_t { none, good };

// data_loss: the file was changed since it was sealed. Errors of parse_frame, and of a header that is none.
Result<Seal> check_seal(ByteView file);
// `file` is a whole frame of encode_head and its payload.
void seal(Bytes& file);
// The file of a float32 model whose parameters lie in `values` where the graph says.
Bytes sealed_model_file(const ModelGraph& graph, std::span<const float> values);

}  // namespace coterie
