#include "tests/unit/device_sdk/agent/secagg_plane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/codec/codec.h"
#include "proto/codec/secagg_codec.h"
#include "proto/ring/ring_vector.h"
#include "secure/crypto/digest.h"
#include "secure/identity/manifest.h"
#include "secure/secagg/check_lanes.h"
#include "secure/secagg/masking.h"
#include "secure/secagg/round_session.h"
#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

Result<TransportResponse> reply(int status, ByteView body, const BodySink& sink) {
  TransportResponse head;
  head.status = status;
  if (!body.empty()) COT_TRY(sink(head, body));
  head.body_bytes = body.size();
  return head;
}

Bytes error_frame(const Error& error) { return encode(ErrorReply{std::string(error.name()), error.message(), 0, 0}); }

Bytes not_yet() { return encode(RetryWindow{0, 0, "not yet"}); }

}  // namespace

SecaggPlane::SecaggPlane(SecurityLevel level, Bytes model_file, uint32_t devices, const StalenessRules& staleness)
    : model_(std::move(model_file)), signer_(std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 3)))) {
  const Result<Decoded<ModelGraph>> model = decode_model(model_);
  plan_.job = JobId("job");
  plan_.training.batch_size = 8;
  plan_.update.value_count = model ? model->payload.size() / sizeof(float) : 16;
  plan_.update.fixed_point = FixedPointSpec::finest(8, 1000, 1000);
  plan_.privacy = {.level = level,
                   .cohort_min = 2,
                   .corrupt_share = devices > 255 ? .1 : .2,
                   .dropout_share = devices > 255 ? .05 : .3,
                   .cipher_suite = 1};
  plan_.staleness = staleness;
  plan_bytes_ = encode(plan_);
  assignment_ = {.job = plan_.job,
                 .round = {RoundId(7), Attempt(2)},
                 .model_version = ModelVersion(1),
                 .plan = content_digest(plan_bytes_),
                 .model = content_digest(model_),
                 .plan_bytes = static_cast<uint32_t>(plan_bytes_.size()),
                 .model_bytes = model_.size(),
                 .not_after = wall_time_from_unix_ms(4'000'000'000'000),
                 .ticket = {},
                 .signature = {}};
  EXPECT_OK(sign_manifest(assignment_, *signer_));
  parameters_ = secagg::session_parameters(plan_, plan_.job, assignment_.round, assignment_.model, assignment_.plan);
  check_certificates([](const DeviceIdentity&) { return Status(); });
  for (uint32_t who = 0; who < devices; ++who) ports_.push_back(std::make_unique<Port>(*this, who));
}

void SecaggPlane::check_certificates(secagg::CertificateCheck check) {
  auto server = secagg::Server::make(parameters_, 11, std::move(check));
  ASSERT_OK(server);
  server_ = std::move(*server);
}

Assignment SecaggPlane::assignment_of(uint32_t who) const {
  Assignment assignment = assignment_;
  assignment.ticket = Bytes(48, static_cast<uint8_t>(who + 1));
  return assignment;
}

std::optional<Exchange> SecaggPlane::exchange_of(const TransportRequest& request) const {
  if (request.method == "PUT") return Exchange::input;
  if (request.method == "GET") {
    const std::string_view what = std::string_view(request.target).substr(request.target.rfind('/') + 1);
    return what == "roster_view"       ? Exchange::roster
           : what == "share_inbox"     ? Exchange::inbox
           : what == "confirm_request" ? Exchange::confirm_request
                                       : Exchange::unmask_request;
  }
  switch (parse_prelude(request.body)->kind) {
    case FrameKind::key_advert: return Exchange::advert;
    case FrameKind::holder_choice: return Exchange::choice;
    case FrameKind::sealed_shares: return Exchange::shares;
    case FrameKind::confirmation: return Exchange::confirmation;
    case FrameKind::unmasking: return Exchange::unmasking;
    default: return std::nullopt;
  }
}

Result<TransportResponse> SecaggPlane::Port::send(const TransportRequest& request, const BodySink& sink) {
  if (!request.target.starts_with("/v1/rounds/")) return plane.answer(who, request, sink);
  const std::optional<Exchange> exchange = plane.exchange_of(request);
  EXPECT_TRUE(exchange) << request.target;
  if (plane.vanishes_.contains(who) && *exchange >= plane.vanishes_[who]) {
    plane.vanished_[who] = true;
    return Error(ErrorCode::unavailable, "no route");
  }
  ++plane.calls_[*exchange];
  plane.sent_[{who, *exchange}].emplace_back(request.body.begin(), request.body.end());
  const auto honest = [&] { return plane.answer(who, request, sink); };
  std::deque<Fault>& faults = plane.faults_[{who, *exchange}];
  if (faults.empty()) return honest();
  const Fault fault = std::move(faults.front());
  faults.pop_front();
  return fault(honest, sink);
}

Result<TransportResponse> SecaggPlane::answer(uint32_t who, const TransportRequest& request, const BodySink& sink) {
  const std::string& target = request.target;
  if (target == "/v1/enrollments") {
    COT_ASSIGN(const EnrollRequest message, decode_enroll_request(request.body));
    keys_[who] = message.public_key;
    return reply(201, encode(EnrollReply{device_id_of(keys_[who]), Population("default"), signer_->public_key()}),
                 sink);
  }
  if (target == "/v1/checkins") {
    const bool is_needed =
        server_->phase() == Phase::advertising && !is_over_ && !std::exchange(was_assigned_[who], true);
    return reply(200, is_needed ? encode(assignment_of(who)) : not_yet(), sink);
  }
  if (target.starts_with("/v1/plans/")) return reply(200, plan_bytes_, sink);
  if (target.starts_with("/v1/models/")) return reply(200, model_, sink);

  const std::string round = "/v1/rounds/7/", ticket = to_base64url(assignment_of(who).ticket);
  Result<Bytes> answered = [&]() -> Result<Bytes> {
    if (is_over_) return Error(ErrorCode::round_closed, "the round is over");
    const bool has_digest =
        std::ranges::any_of(request.headers, [](const auto& h) { return h.first == "Coterie-Digest"; });
    EXPECT_EQ(has_digest, request.method == "POST");
    if (request.method == "PUT") {
      EXPECT_EQ(target, round + "updates/" + ticket);
      return take_input(who, request.body);
    }
    const std::string session = round + "session/" + ticket;
    if (request.method == "POST") {
      COT_TRY(tell(who, request.body));
      if (target == session) return Bytes();
    }
    EXPECT_EQ(target.substr(0, target.rfind('/')), session);
    EXPECT_GE(request.answer_max, Millis(20'000)) << "the server may hold it for so long";
    return ask(who, std::string_view(target).substr(target.rfind('/') + 1));
  }();
  if (answered) return reply(200, *answered, sink);
  return reply(traits(answered.error().code()).http_status, error_frame(answered.error()), sink);
}

std::optional<uint32_t> SecaggPlane::place(uint32_t who) const { return server_->device_of(keys_.at(who)); }

Result<Bytes> SecaggPlane::tell(uint32_t who, ByteView frame) {
  const uint32_t before = server_->answered();
  const auto receive = [&](auto message) -> Status {
    if (!message) return message.error();
    if constexpr (requires { message->device; }) {
      if (message->device != place(who)) return Error(ErrorCode::permission_denied, "another device's message");
    } else {
      if (keys_.contains(who)) EXPECT_EQ(message->identity.public_key, keys_[who]);
      keys_[who] = message->identity.public_key;
      if (certificates_.contains(who)) message->identity.certificate = certificates_[who];
    }
    return server_->receive(*message);
  };
  const auto received = [&]() -> Status {
    COT_ASSIGN(const Prelude prelude, parse_prelude(frame));
    switch (prelude.kind) {
      case FrameKind::key_advert: return receive(decode_key_advert(frame));
      case FrameKind::holder_choice: return receive(decode_holder_choice(frame));
      case FrameKind::sealed_shares: return receive(decode_sealed_shares(frame));
      case FrameKind::confirmation: return receive(decode_confirmation(frame));
      default: return receive(decode_unmasking(frame));
    }
  };
  COT_TRY(received());
  news_ += static_cast<int>(server_->answered() - before);
  return Bytes();
}

Result<Bytes> SecaggPlane::ask(uint32_t who, std::string_view what) {
  const Phase phase = server_->phase();
  if (phase == Phase::advertising) return not_yet();
  const std::optional<uint32_t> device = place(who);
  if (!device) return Error(ErrorCode::round_closed, "not in the roster");
  if (what == "roster_view") {
    if (phase == Phase::choosing) return encode(server_->slot(*device));
    return encode(server_->view(*device));
  }
  if (phase < Phase::masking) return not_yet();
  if (what == "share_inbox") {
    if (!server_->is_present(*device)) return Error(ErrorCode::round_closed, "not present");
    COT_ASSIGN(const ShareInbox inbox, server_->inbox(*device));
    return encode(inbox);
  }
  if (phase == Phase::masking) return not_yet();
  if (!std::ranges::binary_search(server_->survivors(), *device))
    return Error(ErrorCode::round_closed, "not a survivor");
  if (what == "confirm_request") {
    COT_ASSIGN(const ConfirmRequest request, server_->confirm_request(*device));
    return encode(request);
  }
  if (phase < Phase::unmasking) return not_yet();
  COT_ASSIGN(const UnmaskRequest request, server_->unmask_request(*device));
  return encode(request);
}

Result<Bytes> SecaggPlane::take_input(uint32_t who, ByteView frame) {
  const uint32_t before = server_->answered();
  COT_ASSIGN(const Decoded<MaskedInput> input, decode_masked_input(frame));
  if (input.header.device != place(who)) return Error(ErrorCode::permission_denied, "another device's update");
  EXPECT_EQ(content_digest(input.payload), input.header.lanes);
  COT_TRY(server_->receive(input.header));
  if (server_->answered() > before) {
    ++news_;
    std::vector<uint64_t> lanes(input.payload.size() / sizeof(uint64_t));
    std::memcpy(lanes.data(), input.payload.data(), input.payload.size());
    masked_sum_.resize(lanes.size());
    add_lanes(lanes, masked_sum_);
  }
  return encode(Receipt{assignment_.round, Bytes(32, 1)});
}

Status SecaggPlane::close() {
  switch (server_->phase()) {
    case Phase::advertising: return server_->close_adverts();
    case Phase::choosing: return server_->close_choices();
    case Phase::sharing: return server_->close_shares();
    case Phase::masking: return server_->close_inputs();
    case Phase::confirming: return server_->close_confirmations();
    case Phase::unmasking: is_over_ = true; return {};
  }
  return {};
}

std::vector<uint32_t> SecaggPlane::survivors() const {
  std::vector<uint32_t> survivors;
  for (const auto& [who, key] : keys_) {
    const std::optional<uint32_t> device = server_->device_of(key);
    if (device && std::ranges::binary_search(server_->survivors(), *device)) survivors.push_back(who);
  }
  return survivors;
}

Result<std::vector<uint64_t>> SecaggPlane::sum() {
  if (!server_->can_open()) return Error(ErrorCode::conflict, "too few shares");
  COT_ASSIGN(const secagg::OpenedMasks opened, server_->opening().open());
  COT_ASSIGN(const MaskSum masks, secagg::to_mask_sum(parameters_.suite, opened.masks));
  std::vector<uint64_t> lanes = masked_sum_;
  masks.apply(0, std::span(lanes));
  const secagg::SummedSession summed[] = {{server_->session(), server_->survivors().size()}};
  COT_TRY(secagg::verify_check_lanes<uint64_t>(parameters_, summed,
                                               std::span<const uint64_t>(lanes).subspan(parameters_.lane_count)));
  lanes.resize(parameters_.lane_count);
  return lanes;
}

SecaggPlane::Fault SecaggPlane::typed(ErrorCode code) {
  return [code](const auto&, const BodySink& sink) {
    return reply(traits(code).http_status, error_frame(Error(code, "as told")), sink);
  };
}

SecaggPlane::Fault SecaggPlane::lost() {
  return [](const auto&, const BodySink&) { return Error(ErrorCode::unavailable, "no route"); };
}

SecaggPlane::Fault SecaggPlane::lost_answer() {
  return [](const auto& honest, const BodySink&) -> Result<TransportResponse> {
    EXPECT_OK(honest());
    return Error(ErrorCode::unavailable, "the connection is gone");
  };
}

SecaggPlane::Fault SecaggPlane::garbage() {
  return [](const auto&, const BodySink& sink) { return reply(200, Bytes(100, 0x55), sink); };
}

}  // namespace coterie::test
