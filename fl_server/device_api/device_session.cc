// The device plane's part of secure aggregation: messages in, questions answered, masked updates read.
#include <algorithm>

#include "fl_server/device_api/device_service.h"
#include "fl_server/fleet/cohort_frames.h"
#include "fl_server/net/frame_response.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "proto/codec/secagg_codec.h"
#include "proto/codec/update/bit_packing.h"
#include "secure/crypto/digest.h"
#include "secure/secagg/check_lanes.h"
#include "secure/secagg/masking.h"

namespace coterie {
namespace {

constexpr uint64_t kSessionMessageBytesMax = limits::kSharesHeaderBytesMax + 128;
constexpr uint64_t kMaskedHeadBytesMax = limits::kSharesHeaderBytesMax + 128;
constexpr Millis kQuestionHold{15'000};  // docs/PROTOCOL.md promises devices at most 20 s
constexpr Millis kAnswerMargin{30'000};

AnyLanes lanes_of(ByteView payload, uint32_t lane_bits) {
  if (lane_bits == 16) return payload_as<uint16_t>(payload);
  if (lane_bits == 32) return payload_as<uint32_t>(payload);
  return payload_as<uint64_t>(payload);
}

// After a question was held in vain, or while the server is about to stop: not all at once.
RetryWindow ask_again(uint32_t cohort_size) {
  return {.min_ms = std::max<uint32_t>(20, cohort_size / 10),
          .max_ms = std::max<uint32_t>(60, cohort_size / 3),
          .reason = "the others are not there yet"};
}

HttpResponse no_such_message() {
  return error_response(Error(ErrorCode::not_found,
                              "session: there is no message of this name; there are roster_view, "
                              "share_inbox, confirm_request and unmask_request"),
                        {});
}

}  // namespace

Awaitable<HttpResponse> DeviceService::post_session(Exchange& exchange, DeviceCall call) {
  const std::string_view what = call.path["what"];  // empty: a message alone
  const std::optional<CohortQuestion> question = cohort_question_from(what);
  if (!what.empty() && !question) co_return no_such_message();
  const Result<TicketHolder> holder = ticket_holder(exchange, call, Signs::body);
  if (!holder) co_return error_response(holder.error(), {});
  Result<RequestBody> body = co_await read_signed_body(exchange, kSessionMessageBytesMax);
  if (!body) co_return error_response(body.error(), {});
  Result<CohortMessage> message = decode_cohort_message(body->bytes);
  *body = {};  // its answer may be held
  if (!message) co_return error_response(message.error(), {});
  const auto send = [&](std::function<void(Status)> answer) {
    parts_.cohorts.cohort_receive(holder->round, holder->device.id, holder->device.public_key, std::move(*message),
                                  std::move(answer));
  };
  const Status received = co_await await_callback<Status>(send);
  if (!received) co_return error_response(received.error(), {});
  if (!question) co_return frame_response({});
  co_return co_await answer_question(exchange, *holder, *question);
}

Awaitable<HttpResponse> DeviceService::get_session(Exchange& exchange, DeviceCall call) {
  const Result<TicketHolder> holder = ticket_holder(exchange, call, Signs::head);
  if (!holder) co_return error_response(holder.error(), {});
  const std::optional<CohortQuestion> question = cohort_question_from(call.path["what"]);
  if (!question) co_return no_such_message();
  co_return co_await answer_question(exchange, *holder, *question);
}

Awaitable<HttpResponse> DeviceService::answer_question(Exchange& exchange, TicketHolder holder,
                                                       CohortQuestion question) {
  exchange.extend_deadline(kQuestionHold + kAnswerMargin);
  const auto ask = [&](std::function<void(Result<CohortReply>)> answer) {
    parts_.cohorts.cohort_ask(holder.round, holder.device.id, question, kQuestionHold, std::move(answer));
  };
  const Result<CohortReply> reply = co_await await_callback<Result<CohortReply>>(ask);
  if (!reply) co_return error_response(reply.error(), {});
  const auto* const not_yet = std::get_if<NotYet>(&*reply);
  co_return frame_response(not_yet != nullptr ? encode(ask_again(not_yet->cohort_size)) : encode(*reply));
}

// Size, decode, digest, that no lane is beyond the ring, and the session's own look at the header.
Awaitable<Result<DeviceService::ReceivedUpdate>> DeviceService::read_masked_update(Exchange& exchange,
                                                                                   const TicketHolder& holder,
                                                                                   const UploadAdmitted& admitted) {
  const uint64_t size = *exchange.head().content_length;
  const secagg::SessionParameters& session = *admitted.session;
  const uint64_t lane_count = secagg::masked_lane_count(session);
  const uint32_t lane_bits = secagg::wire_lane_bits(session);
  const uint64_t size_max = packed_bytes(lane_count, lane_bits).value() + kMaskedHeadBytesMax;
  if (size > size_max) {
    co_return Error(ErrorCode::too_large, "the masked update has " + std::to_string(size) +
                                              " bytes, this round's have at most " + std::to_string(size_max));
  }
  Result<BodyPool::Body> memory = bodies_.acquire(size);
  if (!memory) co_return memory.error();
  Status read = co_await exchange.read_body_into(memory->bytes);
  if (!read) co_return read.error();
  Result<Decoded<MaskedInput>> update = decode_masked_input(memory->bytes);
  if (!update) co_return update.error();
  if (content_digest(update->payload) != update->header.lanes) {
    co_return Error(ErrorCode::malformed, "masked update: the lanes do not have the digest that its header says");
  }
  if (update->header.lane_bits != lane_bits || update->header.lane_count != lane_count) {
    co_return Error(ErrorCode::malformed, "masked update: has " + std::to_string(update->header.lane_count) +
                                              " lanes of " + std::to_string(update->header.lane_bits) +
                                              " bits; the round has " + std::to_string(lane_count) + " of " +
                                              std::to_string(lane_bits));
  }
  std::vector<uint32_t> unpacked;
  AnyLanes lanes;
  if (session.packed) {  // no lane can be beyond the ring
    unpacked.resize(lane_count);
    const Status is_whole = unpack_bits(update->payload, lane_bits, std::span(unpacked));
    if (!is_whole) co_return is_whole.error();
    lanes = std::span<const uint32_t>(unpacked);
  } else {
    lanes = lanes_of(update->payload, lane_bits);
    const Status in_range = std::visit([&](auto span) { return secagg::check_range(session, span); }, lanes);
    if (!in_range) co_return in_range.error();
  }
  const auto check = [&](std::function<void(Status)> answer) {
    parts_.cohorts.cohort_input_arrived(holder.round, holder.device.id, update->header, std::move(answer));
  };
  const Status welcome = co_await await_callback<Status>(check);
  if (!welcome) co_return welcome.error();
  UploadBody body{.storage = memory->storage,
                  .values = {},
                  .weight = 1,
                  .masked = std::move(update->header),
                  .lanes = lanes,
                  .unpacked = std::move(unpacked)};
  // Its weight is masked too: the sum's last lane tells that of all.
  co_return ReceivedUpdate{std::move(body), {.updates = 1, .weight = 1}};
}

}  // namespace coterie
