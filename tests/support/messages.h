// Every message of the wire and of our files under one shape: samples of it, its frame, its decoder.
//
// minimal: everything that may be empty or zero is. typical: what a real one looks like. extreme: every field at its
// limit, but for the longest lists, which would make megabytes (tests/unit/proto/secagg_limits_test.cc). All of them
// decode.
#pragma once

#include <algorithm>

#include "base/assert.h"
#include "proto/codec/codec.h"
#include "proto/codec/secagg_codec.h"

namespace coterie::test {

template <typename Message>
struct Samples {
  Message minimal;
  Message typical;
  Message extreme;
};

template <typename Message>
struct MessageTraits;  // kKind, kDecode, samples()

#define COTERIE_MESSAGE(type, frame_kind, decoder) \
  template <>                                      \
  struct MessageTraits<type> {                     \
    static constexpr FrameKind kKind = frame_kind; \
    static constexpr auto kDecode = &decoder;      \
    static Samples<type> samples();                \
  }
COTERIE_MESSAGE(EnrollRequest, FrameKind::enroll_request, decode_enroll_request);
COTERIE_MESSAGE(EnrollReply, FrameKind::enroll_reply, decode_enroll_reply);
COTERIE_MESSAGE(CheckinRequest, FrameKind::checkin_request, decode_checkin_request);
COTERIE_MESSAGE(RetryWindow, FrameKind::retry_window, decode_retry_window);
COTERIE_MESSAGE(Assignment, FrameKind::assignment, decode_assignment);
COTERIE_MESSAGE(Plan, FrameKind::plan, decode_plan);
COTERIE_MESSAGE(UpdateHeader, FrameKind::update, decode_update);
COTERIE_MESSAGE(Receipt, FrameKind::receipt, decode_receipt);
COTERIE_MESSAGE(ErrorReply, FrameKind::error_reply, decode_error_reply);
COTERIE_MESSAGE(KeyAdvert, FrameKind::key_advert, decode_key_advert);
COTERIE_MESSAGE(RosterSlot, FrameKind::roster_slot, decode_roster_slot);
COTERIE_MESSAGE(HolderChoice, FrameKind::holder_choice, decode_holder_choice);
COTERIE_MESSAGE(RosterView, FrameKind::roster_view, decode_roster_view);
COTERIE_MESSAGE(SealedShares, FrameKind::sealed_shares, decode_sealed_shares);
COTERIE_MESSAGE(ShareInbox, FrameKind::share_inbox, decode_share_inbox);
COTERIE_MESSAGE(MaskedInput, FrameKind::masked_input, decode_masked_input);
COTERIE_MESSAGE(ConfirmRequest, FrameKind::confirm_request, decode_confirm_request);
COTERIE_MESSAGE(Confirmation, FrameKind::confirmation, decode_confirmation);
COTERIE_MESSAGE(UnmaskRequest, FrameKind::unmask_request, decode_unmask_request);
COTERIE_MESSAGE(Unmasking, FrameKind::unmasking, decode_unmasking);
COTERIE_MESSAGE(LogProof, FrameKind::log_proof, decode_log_proof);
COTERIE_MESSAGE(ModelGraph, FrameKind::model, decode_model);
COTERIE_MESSAGE(CheckpointHeader, FrameKind::checkpoint, decode_checkpoint);
COTERIE_MESSAGE(PartialSumHeader, FrameKind::partial_sum, decode_partial_sum);
COTERIE_MESSAGE(OptimizerStateHeader, FrameKind::optimizer_state, decode_optimizer_state);
COTERIE_MESSAGE(DatasetHeader, FrameKind::dataset, decode_dataset);
COTERIE_MESSAGE(ParticipantState, FrameKind::participant_state, decode_participant_state);
#undef COTERIE_MESSAGE

// Calls f.template operator()<Message>() for each of them, in the order of their kinds.
template <typename F>
void for_each_message(F&& f) {
  const auto call = [&]<typename... Message>() { (f.template operator()<Message>(), ...); };
  call.template
  operator()<EnrollRequest, EnrollReply, CheckinRequest, RetryWindow, Assignment, Plan, UpdateHeader, Receipt,
             ErrorReply, KeyAdvert, RosterSlot, HolderChoice, RosterView, SealedShares, ShareInbox, MaskedInput,
             ConfirmRequest, Confirmation, UnmaskRequest, Unmasking, LogProof, ModelGraph, CheckpointHeader,
             PartialSumHeader, OptimizerStateHeader, DatasetHeader, ParticipantState>();
}

template <typename Message>
inline constexpr bool kHasPayload = !requires(const Message& m) { encode(m); };

template <typename Message>
Bytes frame_of(const Message& message, ByteView payload) {
  Bytes frame;
  if constexpr (!kHasPayload<Message>) {
    frame = encode(message);
  } else if constexpr (requires { encode_head(message, uint64_t{}); }) {
    frame = encode_head(message, payload.size());
  } else {
    frame = encode_head(message);
  }
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

// A payload that the header allows: counting bytes, except where they have a meaning (labels).
Bytes payload_of(const UpdateHeader& header);
Bytes payload_of(const MaskedInput& header);
Bytes payload_of(const ModelGraph& header);
Bytes payload_of(const CheckpointHeader& header);
Bytes payload_of(const PartialSumHeader& header);
Bytes payload_of(const OptimizerStateHeader& header);
Bytes payload_of(const DatasetHeader& header);

template <typename Message>
Bytes frame_of(const Message& message) {
  if constexpr (kHasPayload<Message>) return frame_of(message, payload_of(message));
  else return frame_of(message, {});
}

template <typename Message>
Result<Decoded<Message>> decode(ByteView frame) {
  if constexpr (kHasPayload<Message>) {
    return MessageTraits<Message>::kDecode(frame);
  } else {
    COT_ASSIGN(Message message, MessageTraits<Message>::kDecode(frame));
    return Decoded<Message>{std::move(message), {}};
  }
}

// The property that must hold for any bytes at all: what decodes encodes again, to bytes that decode to the same
// message and payload. Says whether `frame` decoded; a broken property is a failed assertion.
template <typename Message>
bool decodes_and_reencodes(ByteView frame) {
  const Result<Decoded<Message>> first = decode<Message>(frame);
  if (!first) return false;
  const Bytes again = frame_of(first->header, first->payload);
  const Result<Decoded<Message>> second = decode<Message>(again);
  COT_ASSERT(second.has_value());
  COT_ASSERT(second->header == first->header);
  COT_ASSERT(std::equal(second->payload.begin(), second->payload.end(), first->payload.begin(), first->payload.end()));
  return true;
}

}  // namespace coterie::test
