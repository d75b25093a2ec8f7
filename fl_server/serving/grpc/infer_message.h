// Messages of the Open Inference Protocol v2 over gRPC: their bytes to rows of numbers, and back. Pure.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/serving/infer_answer.h"
#include "fl_server/serving/infer_request.h"
#include "open_inference.pb.h"

namespace coterie {

// Fields of a request in all: of inputs, outputs and parameters each, and values that are not packed. What a few bytes
// may become in memory is bounded by it.
inline constexpr uint32_t kInferFieldsMax = 4096;

// malformed (no such message), too_large (kInferFieldsMax).
Result<inference::ModelInferRequest> decode_infer_message(ByteView bytes);

// What parse_infer_request says of JSON. `as_binary`: of all outputs, where the values came as raw_input_contents, and
// go back so. The parameter "timeout" is in microseconds.
Result<InferRequest> read_infer_message(const inference::ModelInferRequest& message, const ClientInterface& model,
                                        const InferLimits& limits);

// Raw: every output, or none, whatever is_binary says of it.
inference::ModelInferResponse infer_message(const InferAnswer& answer, bool is_raw);

}  // namespace coterie
