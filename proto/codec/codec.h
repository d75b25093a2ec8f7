// Messages to frames and back. The only code that knows FlatBuffers; everything above speaks the plain structs.
//
// decode_* take a whole frame and check in this order: sizes, FlatBuffers verifier (depth and table limits of ours),
// then every field's range. What they return is safe to use without another look, except for rules that need context
// (does this plan fit that model?). Errors: malformed, too_large, unsupported_version. Views point into the input.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/codec/frame.h"
#include "proto/messages/checkin.h"
#include "proto/messages/dataset.h"
#include "proto/messages/model.h"
#include "proto/messages/model_delta.h"
#include "proto/messages/participant_state.h"
#include "proto/messages/plan.h"
#include "proto/messages/population_log.h"
#include "proto/messages/training_state.h"
#include "proto/messages/update.h"

namespace coterie {

Bytes encode(const EnrollRequest& message);
Bytes encode(const EnrollReply& message);
Bytes encode(const CheckinRequest& message);
Bytes encode(const RetryWindow& message);
Bytes encode(const Assignment& message);
Bytes encode(const Plan& message);
Bytes encode(const Receipt& message);
Bytes encode(const ErrorReply& message);
Bytes encode(const LogProof& message);
Bytes encode(const ParticipantState& message);

Result<EnrollRequest> decode_enroll_request(ByteView frame);
Result<EnrollReply> decode_enroll_reply(ByteView frame);
Result<CheckinRequest> decode_checkin_request(ByteView frame);
Result<RetryWindow> decode_retry_window(ByteView frame);
Result<Assignment> decode_assignment(ByteView frame);
Result<Plan> decode_plan(ByteView frame);  // includes validate(plan)
Result<Receipt> decode_receipt(ByteView frame);
Result<ErrorReply> decode_error_reply(ByteView frame);
Result<LogProof> decode_log_proof(ByteView frame);
Result<ParticipantState> decode_participant_state(ByteView frame);

// Messages with a payload: encode_head gives everything before it, so that large tensors are never copied.
// decode_* also check that the payload has exactly the size the header promises.
Bytes encode_head(const UpdateHeader& message);
Bytes encode_head(const CheckpointHeader& message, uint64_t payload_bytes);
Bytes encode_head(const PartialSumHeader& message);
Bytes encode_head(const OptimizerStateHeader& message);
Bytes encode_head(const DatasetHeader& message);
Bytes encode_head(const ModelGraph& message, uint64_t payload_bytes);
Bytes encode_head(const ModelDelta& message, uint64_t payload_bytes);

template <typename Header>
struct Decoded {
  Header header;
  ByteView payload;
};
Result<Decoded<UpdateHeader>> decode_update(ByteView frame);
Result<Decoded<CheckpointHeader>> decode_checkpoint(ByteView frame);
Result<Decoded<PartialSumHeader>> decode_partial_sum(ByteView frame);
Result<Decoded<OptimizerStateHeader>> decode_optimizer_state(ByteView frame);
Result<Decoded<DatasetHeader>> decode_dataset(ByteView frame);
// How many bytes its payload must have is known by who has the base (proto/delta/apply_delta.h).
Result<Decoded<ModelDelta>> decode_model_delta(ByteView frame);
// Structure only: indices in range, parameters inside the payload, aligned and disjoint, one input, every activation
// written once and before it is read. Whether shapes fit the ops is device_sdk/runtime's to say.
Result<Decoded<ModelGraph>> decode_model(ByteView frame);

// The same checks for a header whose payload is still on disk or on its way.
Result<ModelGraph> decode_model_head(const Prelude& prelude, ByteView header);
Result<PartialSumHeader> decode_partial_sum_head(const Prelude& prelude, ByteView header);
Result<OptimizerStateHeader> decode_optimizer_state_head(const Prelude& prelude, ByteView header);

// Where the seal's 32 bytes are in the header of a model or a data set; none in one of before there were seals.
// malformed; data_loss: it has had one.
Result<std::optional<uint64_t>> seal_place(FrameKind kind, ByteView header);
// The same, from the start of a whole frame.
Result<std::optional<uint64_t>> seal_place(ByteView frame);

// float32/uint64 payloads as typed views; the payload must be aligned for T (it is, 64 bytes into any heap buffer).
template <typename T>
std::span<const T> payload_as(ByteView payload) {
  COT_ASSERT(reinterpret_cast<uintptr_t>(payload.data()) % alignof(T) == 0 && payload.size() % sizeof(T) == 0);
  return {reinterpret_cast<const T*>(payload.data()), payload.size() / sizeof(T)};
}

}  // namespace coterie
