#include "tests/unit/device_sdk/agent/scripted_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>

#include "proto/codec/codec.h"
#include "proto/codec/update/update_decoder.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/random.h"
#include "secure/identity/manifest.h"
#include "secure/identity/request_signature.h"
#include "secure/identity/signing_keys.h"
#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

std::string header_of(const TransportRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return {};
}

Result<TransportResponse> reply(int status, ByteView body, const BodySink& sink) {
  TransportResponse head;
  head.status = status;
  if (!body.empty()) COT_TRY(sink(head, body));
  head.body_bytes = body.size();
  return head;
}

Call call_of(const TransportRequest& request) {
  if (request.target == "/v1/enrollments") return Call::enroll;
  if (request.target == "/v1/checkins") return Call::check_in;
  if (request.target.starts_with("/v1/plans/")) return Call::plan;
  if (request.target.starts_with("/v1/models/")) return Call::model;
  EXPECT_TRUE(request.target.starts_with("/v1/rounds/")) << request.target;
  return Call::upload;
}

}  // namespace

ScriptedServer::ScriptedServer(Bytes model_file)
    : signer_(std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 3)))), model_(std::move(model_file)) {
  const Result<Decoded<ModelGraph>> model = decode_model(model_);
  plan.job = JobId("job");
  plan.training.batch_size = 8;
  plan.update.value_count = model ? model->payload.size() / sizeof(float) : 1;
  plan.update.fixed_point = FixedPointSpec::finest(8, 1000, 1000);
  begin_round(model_);
}

void ScriptedServer::replace_key(const Signer* names) {
  std::unique_ptr<Signer> next = std::move(*make_signer(KeyAlgorithm::ed25519, random_bytes(32)));
  const auto stated = state_next_key(names == nullptr ? *signer_ : *names, next->public_key(), not_after);
  ASSERT_OK(stated);
  if (!key_statements_.empty()) key_statements_ += ',';
  key_statements_ += key_statements_text({*stated});
  signer_ = std::move(next);
}

void ScriptedServer::begin_round(Bytes model_file) {
  model_ = std::move(model_file);
  plan_bytes_ = encode(plan);
  const uint64_t round = assignment_.round.round.value() + 1;
  assignment_ = {.job = plan.job,
                 .round = {RoundId(round), Attempt(1)},
                 .model_version = ModelVersion(round - 1),
                 .plan = content_digest(plan_bytes_),
                 .model = content_digest(model_),
                 .plan_bytes = static_cast<uint32_t>(plan_bytes_.size()),
                 .model_bytes = model_.size(),
                 .not_after = not_after,
                 .ticket = Bytes(48, static_cast<uint8_t>(round)),
                 .signature = {}};
  ASSERT_OK(sign_manifest(assignment_, *signer_));
  round_open_ = true;
}

Result<TransportResponse> ScriptedServer::send(const TransportRequest& request, const BodySink& sink) {
  const Call call = call_of(request);
  ++calls_[call];
  if (call != Call::enroll) check_signature(request);
  if (call == Call::model) ranges_.push_back(header_of(request, "Range"));
  if (std::deque<Fault>& faults = faults_[call]; !faults.empty()) {
    const Fault fault = std::move(faults.front());
    faults.pop_front();
    return fault(request, sink);
  }
  if (const auto fault = blob_faults_.find(request.target); fault != blob_faults_.end() && fault->second) {
    return fault->second(request, sink);
  }
  switch (call) {
    case Call::enroll: return enroll(request, sink);
    case Call::check_in: return check_in(request, sink);
    case Call::plan: return reply(200, plan_bytes_, sink);
    case Call::model:
      if (request.target == "/v1/models/" + content_digest(control).hex()) return reply(200, control, sink);
      for (const Bytes& delta : deltas) {
        if (request.target == "/v1/models/" + content_digest(delta).hex()) return reply(200, delta, sink);
      }
      return send_model(request, sink, UINT64_MAX);
    case Call::upload: return take_upload(request, sink);
  }
  return Error(ErrorCode::internal, "no such call");
}

void ScriptedServer::check_signature(const TransportRequest& request) const {
  RequestClaims claims;
  const auto device = DeviceId::from_hex(header_of(request, "Coterie-Device"));
  ASSERT_OK(device);
  claims.device = *device;
  claims.time = wall_time_from_unix_ms(std::stoll(header_of(request, "Coterie-Time")));
  const auto nonce = from_hex(header_of(request, "Coterie-Nonce"));
  const auto signature = from_base64url(header_of(request, "Coterie-Signature"));
  ASSERT_OK(nonce);
  ASSERT_OK(signature);
  ASSERT_EQ(nonce->size(), claims.nonce.size());
  std::copy(nonce->begin(), nonce->end(), claims.nonce.begin());
  claims.signature = *signature;
  SignedRequest to_verify{request.method, request.target, request.body.size(), std::nullopt};
  const std::string digest = header_of(request, "Coterie-Digest");
  if (!digest.empty()) {
    to_verify.digest = content_digest(request.body);
    EXPECT_EQ(digest, to_verify.digest->hex());
  }
  EXPECT_OK(verify_request(to_verify, claims, device_algorithm_, device_key_));
}

Result<TransportResponse> ScriptedServer::enroll(const TransportRequest& request, const BodySink& sink) {
  COT_ASSIGN(const EnrollRequest message, decode_enroll_request(request.body));
  EXPECT_TRUE(signature_is_valid(message.key_algorithm, message.public_key,
                                 as_bytes(enrollment_proof_text(message.token, message.public_key)), message.proof));
  device_key_ = message.public_key;
  device_algorithm_ = message.key_algorithm;
  return reply(201, encode(EnrollReply{device_id_of(device_key_), Population("default"), signer_->public_key()}), sink);
}

Result<TransportResponse> ScriptedServer::check_in(const TransportRequest& request, const BodySink& sink) {
  COT_ASSIGN(const CheckinRequest message, decode_checkin_request(request.body));
  EXPECT_EQ(message.population, Population("default"));
  if (message.refusal) refusals_.push_back(*message.refusal);
  if (!round_open_) return reply(200, encode(RetryWindow{0, 0, "no round"}), sink);
  Result<TransportResponse> answer = reply(200, encode(assignment_), sink);
  if (answer && !key_statements_.empty()) answer->headers.emplace_back("coterie-keys", key_statements_);
  return answer;
}

Result<TransportResponse> ScriptedServer::send_model(const TransportRequest& request, const BodySink& sink,
                                                     uint64_t bytes_max) {
  uint64_t offset = 0;
  const std::string range = header_of(request, "Range");
  if (!range.empty() && knows_ranges) {
    EXPECT_TRUE(range.starts_with("bytes=") && range.ends_with("-")) << range;
    std::from_chars(range.data() + 6, range.data() + range.size(), offset);
  }
  TransportResponse head;
  head.status = offset > 0 ? 206 : 200;
  const ByteView rest = ByteView(model_).subspan(offset);
  const uint64_t end = std::min<uint64_t>(rest.size(), bytes_max);
  for (uint64_t at = 0; at < end; at += 1000) {
    const ByteView piece = rest.subspan(at, std::min<uint64_t>(1000, end - at));
    COT_TRY(sink(head, piece));
    head.body_bytes += piece.size();
    model_bytes_sent_ += piece.size();
  }
  if (end < rest.size()) return Error(ErrorCode::unavailable, "the connection is gone");
  return head;
}

Result<TransportResponse> ScriptedServer::take_upload(const TransportRequest& request, const BodySink& sink) {
  EXPECT_EQ(request.target, "/v1/rounds/" + std::to_string(assignment_.round.round.value()) + "/updates/" +
                                to_base64url(assignment_.ticket));
  COT_ASSIGN(const Decoded<UpdateHeader> update, decode_update(request.body));
  const Bytes aligned(update.payload.begin(), update.payload.end());
  std::vector<float> memory;
  std::span<const float> values;
  if (plan.update.is_float32()) {
    values = payload_as<float>(aligned);
  } else {
    COT_ASSIGN(values, update_decoder(plan.update.encoding).values(update.header, aligned, plan.update, memory));
  }
  uploads_.push_back({update.header, {values.begin(), values.end()}, {request.body.begin(), request.body.end()}});
  round_open_ = false;
  return reply(200, encode(Receipt{assignment_.round, Bytes(32, 1)}), sink);
}

ScriptedServer::Fault ScriptedServer::lost() {
  return [](const TransportRequest&, const BodySink&) { return Error(ErrorCode::unavailable, "no route"); };
}

ScriptedServer::Fault ScriptedServer::cancelled() {
  return [](const TransportRequest&, const BodySink&) { return Error(ErrorCode::cancelled, "cancelled by the app"); };
}

ScriptedServer::Fault ScriptedServer::answer(int status, Bytes body) {
  return [status, body = std::move(body)](const TransportRequest&, const BodySink& sink) {
    return reply(status, body, sink);
  };
}

ScriptedServer::Fault ScriptedServer::typed(ErrorCode code) {
  return answer(traits(code).http_status, encode(ErrorReply{std::string(traits(code).name), "as told", 0, 0}));
}

ScriptedServer::Fault ScriptedServer::cut_model(uint64_t bytes) {
  return
      [this, bytes](const TransportRequest& request, const BodySink& sink) { return send_model(request, sink, bytes); };
}

}  // namespace coterie::test
