// Enrollment, check-in, assignment, receipt and error frames.
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"

namespace coterie {
namespace {

using flatbuffers::FlatBufferBuilder;

Result<RetryWindow> retry_window(uint32_t min_ms, uint32_t max_ms, std::string reason) {
  if (min_ms > max_ms) return flat::out_of_range("retry window", "must have min_ms <= max_ms");
  return RetryWindow{min_ms, max_ms, std::move(reason)};
}

}  // namespace

Bytes encode(const EnrollRequest& message) {
  FlatBufferBuilder builder;
  const auto token = builder.CreateString(message.token);
  const auto public_key = flat::vector(builder, message.public_key);
  const auto proof = flat::vector(builder, message.proof);
  const auto sdk_version = builder.CreateString(message.sdk_version);
  builder.Finish(wire::CreateEnrollRequest(builder, token, static_cast<uint8_t>(message.key_algorithm), public_key,
                                           proof, sdk_version));
  return flat::finish(builder, FrameKind::enroll_request);
}

Result<EnrollRequest> decode_enroll_request(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::enroll_request));
  COT_ASSIGN(const auto root, flat::Root<wire::EnrollRequest>::verify(frame.header));
  EnrollRequest message;
  COT_ASSIGN(message.token, flat::text(root->token(), "token", limits::kTokenBytesMax, 1));
  COT_ASSIGN(message.key_algorithm, flat::key_algorithm(root->key_algorithm()));
  COT_ASSIGN(message.public_key, flat::bytes(root->public_key(), "public_key", limits::kKeyBytesMax));
  COT_ASSIGN(message.proof, flat::bytes(root->proof(), "proof", limits::kSignatureBytesMax));
  COT_ASSIGN(message.sdk_version, flat::text(root->sdk_version(), "sdk_version", limits::kTextBytesMax));
  return message;
}

Bytes encode(const EnrollReply& message) {
  FlatBufferBuilder builder;
  const auto population = builder.CreateString(message.population.value());
  const auto signing_key = flat::vector(builder, message.signing_key);
  const wire::DeviceKeyHash device = flat::device(message.device);
  const auto retiring_keys = flat::build(builder, message.retiring_keys);
  builder.Finish(wire::CreateEnrollReply(builder, &device, population, signing_key, retiring_keys));
  return flat::finish(builder, FrameKind::enroll_reply);
}

Result<EnrollReply> decode_enroll_reply(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::enroll_reply));
  COT_ASSIGN(const auto root, flat::Root<wire::EnrollReply>::verify(frame.header));
  EnrollReply message;
  message.device = flat::device(*root->device());
  COT_ASSIGN(std::string population, flat::text(root->population(), "population", limits::kTextBytesMax, 1));
  message.population = Population(std::move(population));
  COT_ASSIGN(message.signing_key, flat::bytes(root->signing_key(), "signing_key", limits::kKeyBytesMax));
  COT_ASSIGN(message.retiring_keys, flat::parse(root->retiring_keys()));
  return message;
}

Bytes encode(const CheckinRequest& message) {
  FlatBufferBuilder builder;
  const auto population = builder.CreateString(message.population.value());
  const auto sdk_version = builder.CreateString(message.sdk_version);
  flatbuffers::Offset<wire::Refusal> refusal = 0;
  if (message.refusal) refusal = flat::build(builder, *message.refusal);
  const auto held = message.held.empty() ? 0 : flat::vector(builder, message.held);
  builder.Finish(wire::CreateCheckinRequest(builder, population, sdk_version, message.wait_ms_max, refusal, held,
                                            message.features));
  return flat::finish(builder, FrameKind::checkin_request);
}

Result<CheckinRequest> decode_checkin_request(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::checkin_request));
  COT_ASSIGN(const auto root, flat::Root<wire::CheckinRequest>::verify(frame.header));
  CheckinRequest message;
  COT_ASSIGN(std::string population, flat::text(root->population(), "population", limits::kTextBytesMax, 1));
  message.population = Population(std::move(population));
  COT_ASSIGN(message.sdk_version, flat::text(root->sdk_version(), "sdk_version", limits::kTextBytesMax));
  message.wait_ms_max = root->wait_ms_max();
  if (message.wait_ms_max > limits::kWaitMsMax) return flat::out_of_range("wait_ms_max", "must be at most 600000");
  if (root->refusal() != nullptr) {
    COT_ASSIGN(message.refusal, flat::parse(*root->refusal()));
  }
  COT_ASSIGN(message.held, flat::bytes(root->held(), "held", limits::kTicketBytesMax, 0));
  message.features = root->features();
  return message;
}

Bytes encode(const RetryWindow& message) {
  FlatBufferBuilder builder;
  const auto reason = builder.CreateString(message.reason);
  builder.Finish(wire::CreateRetryWindow(builder, message.min_ms, message.max_ms, reason));
  return flat::finish(builder, FrameKind::retry_window);
}

Result<RetryWindow> decode_retry_window(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::retry_window));
  COT_ASSIGN(const auto root, flat::Root<wire::RetryWindow>::verify(frame.header));
  COT_ASSIGN(std::string reason, flat::text(root->reason(), "reason", limits::kTextBytesMax));
  return retry_window(root->min_ms(), root->max_ms(), std::move(reason));
}

namespace flat {

flatbuffers::Offset<RetiringKeys> build(FlatBufferBuilder& builder, const std::vector<RetiringKey>& message) {
  std::vector<flatbuffers::Offset<wire::RetiringKey>> keys;
  for (const RetiringKey& key : message) {
    keys.push_back(wire::CreateRetiringKey(builder, vector(builder, key.key), unix_ms(key.until)));
  }
  return keys.empty() ? 0 : builder.CreateVector(keys);
}

Result<std::vector<RetiringKey>> parse(const RetiringKeys* field) {
  std::vector<RetiringKey> message;
  if (field == nullptr) return message;
  if (field->size() > kRetiringKeysMax) return out_of_range("retiring_keys", "has more than 8 entries");
  for (const wire::RetiringKey* entry : *field) {
    RetiringKey key;
    COT_ASSIGN(key.key, bytes(entry->key(), "retiring_keys.key", limits::kKeyBytesMax));
    COT_ASSIGN(key.until, wall_time(entry->until_unix_ms(), "retiring_keys.until"));
    message.push_back(std::move(key));
  }
  return message;
}

flatbuffers::Offset<wire::Refusal> build(FlatBufferBuilder& builder, const Refusal& message) {
  return wire::CreateRefusal(builder, message.round.round.value(), message.round.attempt.value(),
                             builder.CreateString(message.reason));
}

Result<Refusal> parse(const wire::Refusal& table) {
  COT_ASSIGN(std::string reason, text(table.reason(), "refusal.reason", limits::kTextBytesMax, 1));
  return Refusal{{RoundId(table.round()), Attempt(table.attempt())}, std::move(reason)};
}

flatbuffers::Offset<wire::Assignment> build(FlatBufferBuilder& builder, const Assignment& message) {
  const auto job = builder.CreateString(message.job.value());
  const auto ticket = vector(builder, message.ticket);
  const auto signature = vector(builder, message.signature);
  const wire::Digest32 plan = digest(message.plan);
  const wire::Digest32 model = digest(message.model);
  return wire::CreateAssignment(builder, job, message.round.round.value(), message.round.attempt.value(),
                                message.model_version.value(), &plan, &model, message.plan_bytes, message.model_bytes,
                                unix_ms(message.not_after), ticket, signature);
}

Result<Assignment> parse(const wire::Assignment& table) {
  Assignment message;
  COT_ASSIGN(std::string job, text(table.job(), "job", 64, 1));
  message.job = JobId(std::move(job));
  message.round = {RoundId(table.round()), Attempt(table.attempt())};
  message.model_version = ModelVersion(table.model_version());
  message.plan = digest(*table.plan());
  message.model = digest(*table.model());
  message.plan_bytes = table.plan_bytes();
  if (message.plan_bytes > limits::kWireHeaderBytesMax + 64) return out_of_range("plan_bytes", "is over 64 KiB");
  message.model_bytes = table.model_bytes();
  if (message.model_bytes > limits::kPayloadBytesMax) return out_of_range("model_bytes", "is over the payload limit");
  COT_ASSIGN(message.not_after, wall_time(table.not_after_unix_ms(), "not_after"));
  COT_ASSIGN(message.ticket, bytes(table.ticket(), "ticket", limits::kTicketBytesMax));
  COT_ASSIGN(message.signature, bytes(table.signature(), "signature", limits::kSignatureBytesMax));
  return message;
}

}  // namespace flat

Bytes encode(const Assignment& message) {
  FlatBufferBuilder builder;
  builder.Finish(flat::build(builder, message));
  return flat::finish(builder, FrameKind::assignment);
}

Result<Assignment> decode_assignment(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::assignment));
  COT_ASSIGN(const auto root, flat::Root<wire::Assignment>::verify(frame.header));
  return flat::parse(*root);
}

Bytes encode(const Receipt& message) {
  FlatBufferBuilder builder;
  const auto receipt = flat::vector(builder, message.receipt);
  builder.Finish(wire::CreateReceipt(builder, message.round.round.value(), message.round.attempt.value(), receipt));
  return flat::finish(builder, FrameKind::receipt);
}

Result<Receipt> decode_receipt(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::receipt));
  COT_ASSIGN(const auto root, flat::Root<wire::Receipt>::verify(frame.header));
  Receipt message;
  message.round = {RoundId(root->round()), Attempt(root->attempt())};
  COT_ASSIGN(message.receipt, flat::bytes(root->receipt(), "receipt", limits::kSignatureBytesMax));
  return message;
}

Bytes encode(const ErrorReply& message) {
  FlatBufferBuilder builder;
  const auto code = builder.CreateString(message.code);
  const auto detail = builder.CreateString(message.detail);
  builder.Finish(wire::CreateErrorReply(builder, code, detail, message.retry_min_ms, message.retry_max_ms));
  return flat::finish(builder, FrameKind::error_reply);
}

Result<ErrorReply> decode_error_reply(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::error_reply));
  COT_ASSIGN(const auto root, flat::Root<wire::ErrorReply>::verify(frame.header));
  ErrorReply message;
  COT_ASSIGN(message.code, flat::text(root->code(), "code", 64, 1));
  COT_ASSIGN(message.detail, flat::text(root->detail(), "detail", limits::kDetailBytesMax));
  COT_ASSIGN(const RetryWindow window, retry_window(root->retry_min_ms(), root->retry_max_ms(), {}));
  message.retry_min_ms = window.min_ms;
  message.retry_max_ms = window.max_ms;
  return message;
}

}  // namespace coterie
