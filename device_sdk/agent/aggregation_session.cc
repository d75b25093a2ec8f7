#include "device_sdk/agent/aggregation_session.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/os/file.h"
#include "device_sdk/agent/late_update.h"
#include "device_sdk/agent/masked_update.h"
#include "proto/codec/codec.h"
#include "proto/codec/secagg_codec.h"
#include "secure/crypto/digest.h"
#include "secure/mask/mask_self_test.h"
#include "secure/secagg/round_session.h"

namespace coterie {
namespace {

constexpr uint64_t kUpdateBytesMax = 1ull << 34;

// In ServerMessage's order: in addresses; the numbers are the log's.
constexpr std::array<std::string_view, 5> kMessageNames = {"roster_slot", "roster_view", "share_inbox",
                                                           "confirm_request", "unmask_request"};
constexpr size_t kSlot = 0, kView = 1, kInbox = 2, kConfirm = 3, kUnmask = 4;

// A server that shows a device its place again, after it has chosen, waits for the choices of others.
constexpr uint32_t kOthersChooseMsMin = 200, kOthersChooseMsMax = 1'000;

Failure gone(std::string what) { return {Error(ErrorCode::ticket_expired, std::move(what)), {}}; }

}  // namespace

AggregationSession::AggregationSession(AggregationSetup setup)
    : setup_(std::move(setup)),
      vault_(setup_.directory),
      log_(setup_.directory),
      signer_(*setup_.signer, log_),
      has_masked_(setup_.has_masked),
      is_noted_(setup_.has_masked),
      is_counted_(setup_.has_opened) {}

Result<Bytes> AggregationSession::stored_update() const {
  COT_ASSIGN(Bytes update, vault_.read_file(setup_.update_file, kUpdateBytesMax));
  if (!setup_.weight) return update;
  return late_update(update, setup_.assignment.round, *setup_.weight);
}

Result<Outcome<std::unique_ptr<AggregationSession>>> AggregationSession::open(AggregationSetup setup) {
  using Opened = Outcome<std::unique_ptr<AggregationSession>>;
  // Once a process, and here: an app that only trains need not wait for it.
  static const Status masks_are_right = mask_self_test();
  COT_TRY(masks_are_right);
  std::unique_ptr<AggregationSession> session(new AggregationSession(std::move(setup)));
  const AggregationSetup& with = session->setup_;
  if (os::exists(session->update_path())) {
    const Result<Bytes> update = session->stored_update();
    if (!update && update.error().code() != ErrorCode::data_loss) return update.error();
    if (update) session->update_ = content_digest(*update);
  }
  const Digest context =
      secagg::round_context(with.assignment.job, with.assignment.round, with.assignment.model, with.assignment.plan);
  Result<std::optional<SessionRecords>> records = session->log_.load(context, session->update_);
  if (!records && records.error().code() != ErrorCode::data_loss) return records.error();
  if (!records) return Opened(Failure{Error(ErrorCode::refused, records.error().message()), {}});
  if (!*records) {
    if (!session->update_) return Opened(gone("the stored update is gone"));
    // Another session would be another opening, which nobody counts; or a second sum for what may be in the first.
    if (with.has_opened) return Opened(gone("the session that was opened is gone"));
    if (with.has_masked) return Opened(gone("the session that a masked update has left for is gone"));
    COT_ASSIGN(*records, session->log_.begin(context, *session->update_));
  }
  session->signer_.remember(std::move((*records)->signatures));
  Status ready = session->begin(std::move((*records)->seed));
  if (ready) ready = session->replay(**records);
  if (ready) {
    COT_TRY(session->log_.sync());  // what is told from now on can be told again
    return Opened(std::move(session));
  }
  COT_ASSIGN(Failure failure, session->failure_of(ready.error()));
  return Opened(std::move(failure));
}

Status AggregationSession::begin(Secret<32> seed) {
  const Assignment& of = setup_.assignment;
  const secagg::SessionParameters parameters =
      secagg::session_parameters(setup_.plan, of.job, of.round, of.model, of.plan);
  COT_ASSIGN(client_, secagg::Client::make(parameters, std::move(seed), {&signer_, setup_.certificate},
                                           setup_.certificate_is_good));
  tell(encode(client_->advert()), kView);
  return {};
}

// A message that cannot be read again is as if it had been another: the session is over.
Status AggregationSession::replay(const SessionRecords& records) {
  for (const auto& [number, frame] : records.messages) {
    COT_ASSIGN(const ServerMessage decoded, decode(frame));
    if (decoded.index() != number)
      return Error(ErrorCode::data_loss, "a message of the session is not what its log says");
    COT_TRY(act(decoded));
  }
  if (stage_ == Stage::upload && !update_) {  // it was removed after the receipt
    masking_.reset();
    stage_ = Stage::ask;
    has_receipt_ = true;
  }
  return {};
}

Result<AggregationSession::ServerMessage> AggregationSession::decode(ByteView frame) {
  const auto as_message = [](auto decoded) -> Result<ServerMessage> {
    if (!decoded) return decoded.error();
    return ServerMessage(std::move(*decoded));
  };
  COT_ASSIGN(const Prelude prelude, parse_prelude(frame));
  switch (prelude.kind) {
    case FrameKind::roster_slot: return as_message(decode_roster_slot(frame));
    case FrameKind::roster_view: return as_message(decode_roster_view(frame));
    case FrameKind::share_inbox: return as_message(decode_share_inbox(frame));
    case FrameKind::confirm_request: return as_message(decode_confirm_request(frame));
    case FrameKind::unmask_request: return as_message(decode_unmask_request(frame));
    default: return Error(ErrorCode::malformed, "not a message of a session");
  }
}

void AggregationSession::tell(Bytes answer, std::optional<size_t> then) {
  answer_ = std::move(answer);
  awaited_ = then;
  stage_ = Stage::tell;
}

Status AggregationSession::act(const ServerMessage& message) {
  switch (message.index()) {
    case kSlot: {
      COT_ASSIGN(const HolderChoice choice, client_->choose(std::get<kSlot>(message)));
      slot_ = std::get<kSlot>(message);
      tell(encode(choice), kView);
      return {};
    }
    case kView: {
      COT_ASSIGN(const SealedShares shares, client_->share(std::get<kView>(message)));
      tell(encode(shares), kInbox);
      return {};
    }
    case kInbox: {
      COT_ASSIGN(masking_, client_->mask(std::get<kInbox>(message)));
      has_masked_ = true;
      awaited_ = setup_.plan.privacy.level >= SecurityLevel::active ? kConfirm : kUnmask;
      stage_ = Stage::upload;
      return {};
    }
    case kConfirm: {
      COT_ASSIGN(const Confirmation confirmation, client_->confirm(std::get<kConfirm>(message)));
      has_receipt_ = true;
      tell(encode(confirmation), kUnmask);
      return {};
    }
    default: {
      COT_ASSIGN(const Unmasking unmasking, client_->unmask(std::get<kUnmask>(message)));
      has_receipt_ = true;
      tell(encode(unmasking), std::nullopt);
      return {};
    }
  }
}

Result<Failure> AggregationSession::failure_of(const Error& error) const {
  if (signer_.failure()) return *signer_.failure();
  const bool can_be_tried_again = traits(error.code()).retry != RetryClass::never;
  return Failure{can_be_tried_again ? Error(ErrorCode::refused, error.message(), error.reason()) : error, {}};
}

Result<AggregationAnswered> AggregationSession::exchange(DeviceApi& api) {
  const bool opens = stage_ == Stage::tell && !awaited_;
  if (opens && !std::exchange(is_counted_, true)) return AggregationAnswered{AggregationStep::opens};
  if (stage_ == Stage::upload && !std::exchange(is_noted_, true)) return AggregationAnswered{AggregationStep::masks};
  is_not_counted_ = false;
  COT_ASSIGN(Answered outcome, next_exchange(api));
  const auto* failure = std::get_if<Failure>(&outcome);
  if (failure == nullptr) return AggregationAnswered{std::move(outcome)};
  // Nothing that this device could still give is needed.
  if (has_receipt_ && failure->error.code() == ErrorCode::round_closed) {
    return AggregationAnswered{AggregationStep::done};
  }
  const bool is_left_out = ends_without_update(*failure);
  return AggregationAnswered{std::move(outcome), is_left_out};
}

Result<AggregationSession::Answered> AggregationSession::next_exchange(DeviceApi& api) {
  switch (stage_) {
    case Stage::tell: return tell_server(api);
    case Stage::ask: return ask_server(api);
    case Stage::upload: break;
  }
  return upload(api);
}

// What was never masked is in no sum, whatever the server says.
bool AggregationSession::ends_without_update(const Failure& failure) const {
  if (has_masked_) return is_not_counted_;
  const ErrorCode code = failure.error.code();
  return traits(code).retry == RetryClass::check_in || code == ErrorCode::conflict || code == ErrorCode::refused;
}

Result<AggregationSession::Answered> AggregationSession::tell_server(DeviceApi& api) {
  if (!awaited_) {
    std::optional<Failure> failure = api.send_to_session(setup_.device, setup_.assignment, answer_);
    return failure ? Answered(std::move(*failure)) : Answered(AggregationStep::done);
  }
  auto answer = api.ask_session(setup_.device, setup_.assignment, kMessageNames[*awaited_], answer_);
  if (!std::holds_alternative<Failure>(answer)) stage_ = Stage::ask;
  return take(std::move(answer));
}

Result<AggregationSession::Answered> AggregationSession::ask_server(DeviceApi& api) {
  return take(api.ask_session(setup_.device, setup_.assignment, kMessageNames[*awaited_]));
}

Result<AggregationSession::Answered> AggregationSession::take(std::variant<Bytes, RetryWindow, Failure> answer) {
  if (auto* failure = std::get_if<Failure>(&answer)) return Answered(std::move(*failure));
  if (auto* window = std::get_if<RetryWindow>(&answer)) return Answered(std::move(*window));
  const Bytes& frame = std::get<Bytes>(answer);
  const Result<ServerMessage> message = decode(frame);
  const auto* slot = message ? std::get_if<kSlot>(&*message) : nullptr;
  if (slot != nullptr && slot_ == *slot) {
    return Answered(RetryWindow{kOthersChooseMsMin, kOthersChooseMsMax, {}});
  }
  const bool is_awaited =
      message && (message->index() == *awaited_ || (*awaited_ == kView && slot != nullptr && !slot_));
  if (!is_awaited) {  // perhaps something between the server and us: nothing was done with it
    return Answered(Failure{
        Error(ErrorCode::unavailable, "the server's answer is no " + std::string(kMessageNames[*awaited_])), {}});
  }
  // In the log before it is acted on: a device that is killed in between gives the same answer to the same message.
  COT_TRY(log_.append_message(static_cast<uint8_t>(message->index()), frame));
  if (const Status acted = act(*message); !acted) {
    COT_ASSIGN(Failure failure, failure_of(acted.error()));
    return Answered(std::move(failure));
  }
  COT_TRY(log_.sync());  // nothing that follows from the message has left this device yet
  return Answered(AggregationStep::went_on);
}

Result<AggregationSession::Answered> AggregationSession::upload(DeviceApi& api) {
  Result<Bytes> stored = stored_update();
  // Another update under the same masks would show the difference of both.
  if (!stored || content_digest(*stored) != update_) return Answered(gone("the stored update is gone, or damaged"));
  const Result<Decoded<UpdateHeader>> update = decode_update(*stored);
  if (!update) return Answered(Failure{update.error(), {}});
  const UpdateHeader& header = update->header;
  const Result<Bytes> masked =
      header.encoding == UpdateEncoding::quantized
          ? encode_masked_levels(*masking_, setup_.plan, update->payload, header.weight)
          : encode_masked_update(*masking_, *client_, setup_.plan, payload_as<float>(update->payload), header.weight);
  if (!masked) return Answered(Failure{masked.error(), {}});
  stored->clear();  // the largest thing in memory, while its masked copy is sent
  stored->shrink_to_fit();
  Outcome<Receipt> receipt = api.upload(setup_.device, setup_.assignment, *masked);
  if (auto* failure = std::get_if<Failure>(&receipt)) {
    is_not_counted_ = failure->error.code() == ErrorCode::ticket_expired;
    return Answered(std::move(*failure));
  }
  (void)os::remove_file(update_path());  // if it stays: the same masked update is sent again after a restart
  masking_.reset();
  has_receipt_ = true;
  stage_ = Stage::ask;
  return Answered(AggregationStep::went_on);
}

}  // namespace coterie
