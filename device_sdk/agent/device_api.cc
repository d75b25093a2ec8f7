#include "device_sdk/agent/device_api.h"

#include <algorithm>
#include <charconv>

#include "base/os/clock.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/random.h"
#include "secure/identity/request_signature.h"
#include "secure/identity/revocation_list.h"
#include "secure/identity/server_time.h"
#include "secure/identity/signing_keys.h"

namespace coterie {
namespace {

constexpr Millis kHoldMargin{20'000};   // beyond what a server was asked to hold a request: the network's part
constexpr Millis kSessionHold{20'000};  // a server holds a question for a session's message at most so long
constexpr size_t kSessionMessageBytesMax = limits::kRosterHeaderBytesMax + 64;
constexpr size_t kJobIdBytesMax = 64;
constexpr size_t kProofBytesMax = 4096;  // limits::kLogProofHashesMax hashes, and the frame around them
constexpr int64_t kServerTimeMsMax = 253'402'300'799'999;  // the year 9999: a clock that is further is none
constexpr Millis kCheckInAheadMax{300'000};  // a check-in that was signed later than so is of a clock that was wrong
constexpr std::string_view kFrameType = "application/vnd.coterie.frame";

// What an answer without a frame of ours means: a proxy's page, a balancer's refusal.
ErrorCode code_of_status(int status) {
  if (status == 408 || status == 504) return ErrorCode::timed_out;
  if (status == 429) return ErrorCode::rate_limited;
  if (status == 401) return ErrorCode::unauthenticated;
  if (status == 403) return ErrorCode::permission_denied;
  if (status == 404) return ErrorCode::not_found;
  return status >= 500 ? ErrorCode::unavailable : ErrorCode::invalid_argument;
}

std::optional<RetryWindow> retry_after(const TransportResponse& head) {
  const std::string_view text = head.header("retry-after");
  uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || error != std::errc() || seconds > 86'400) return std::nullopt;
  // Retry-After is one moment, the same for all who were refused at once: the window behind it spreads them.
  return RetryWindow{seconds * 1000, seconds * 1500 + 1000, {}};
}

Failure failure_of(const TransportResponse& head, const Bytes& body) {
  if (const Result<ErrorReply> reply = decode_error_reply(body)) {
    std::optional<RetryWindow> window;
    if (reply->retry_max_ms > 0) window = RetryWindow{reply->retry_min_ms, reply->retry_max_ms, {}};
    ErrorCode code = error_code_from_name(reply->code);
    if (code == ErrorCode::cancelled) code = ErrorCode::unavailable;  // only the app can cancel what this device does
    return {Error(code, "the server says: " + reply->detail), window};
  }
  return {Error(code_of_status(head.status), "the server answered " + std::to_string(head.status)), retry_after(head)};
}

std::string target_of(const Assignment& assignment, std::string_view kind) {
  return "/v1/rounds/" + std::to_string(assignment.round.round.value()) + "/" + std::string(kind) + "/" +
         to_base64url(assignment.ticket);
}

Result<uint64_t> number_in(const TransportResponse& head, std::string_view name) {
  const std::string_view text = head.header(name);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return Error(ErrorCode::malformed, "the header " + std::string(name) + " is not a number");
}

Result<ReleasedModel> released_model_from(const TransportResponse& head) {
  ReleasedModel model;
  const std::string_view job = head.header("coterie-job");
  if (job.empty() || job.size() > kJobIdBytesMax) return Error(ErrorCode::malformed, "it does not name a job");
  model.job = JobId(std::string(job));
  COT_ASSIGN(model.digest, Digest::from_hex(head.header("coterie-model")));
  COT_ASSIGN(model.bytes, number_in(head, "coterie-model-bytes"));
  COT_ASSIGN(const uint64_t version, number_in(head, "coterie-model-version"));
  model.version = ModelVersion(version);
  return model;
}

template <typename T>
Outcome<T> decoded(Result<T> message) {
  if (message) return std::move(*message);
  return Failure{Error(ErrorCode::unavailable, "the server's answer is not understood: " + message.error().message()),
                 {}};
}

}  // namespace

WallTime DeviceApi::server_now() const { return os::wall_now() + server_ahead_; }

Outcome<DeviceApi::Answer> DeviceApi::call(const DeviceId* device, const TransportRequest& request,
                                           CallOptions options) {
  for (bool again = false;; again = true) {
    // One for each request: the answer's time is signed with it, so that an old answer cannot set this device's clock
    // back.
    Nonce nonce;
    fill_random(nonce);
    Result<Answer> answer = send(device, request, nonce, options);
    if (!answer) return Failure{answer.error(), {}};
    learn_keys(answer->head);  // first: perhaps the time is signed by a new one
    const bool has_learned = learn_time(answer->head, nonce);
    if (answer->head.status >= 200 && answer->head.status < 300) return *std::move(answer);
    // Refused over its time: signed anew at the server's, once.
    if (again || !has_learned) return failure_of(answer->head, answer->body);
  }
}

// What is not understood is as good as not said: what it would have to say is signed.
void DeviceApi::learn_keys(const TransportResponse& head) {
  Result<std::vector<KeyStatement>> stated = parse_key_statements(head.header("coterie-keys"));
  if (!stated || !follow_key_statements(server_keys_, *stated)) return;
  key_statements_ = std::move(*stated);
}

bool DeviceApi::learn_time(const TransportResponse& head, const Nonce& nonce) {
  const std::string_view text = head.header("coterie-time");
  int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return false;
  if (ms < 0 || ms > kServerTimeMsMax) return false;
  const Result<Bytes> signature = from_base64url(head.header("coterie-signature"));
  const WallTime time = wall_time_from_unix_ms(ms);
  const auto is_by = [&](ByteView key) { return server_time_is_valid(time, nonce, *signature, key); };
  if (!signature || !std::ranges::any_of(believed_keys(server_keys_, server_now()), is_by)) return false;
  server_ahead_ = time - os::wall_now();
  return true;
}

Result<DeviceApi::Answer> DeviceApi::send(const DeviceId* device, TransportRequest request, const Nonce& nonce,
                                          CallOptions options) {
  WallTime signed_at{};
  if (device != nullptr) {
    SignedRequest to_sign{request.method, request.target, request.body.size(), std::nullopt};
    if (options.digest_body) to_sign.digest = content_digest(request.body);
    signed_at = server_now();
    // A server takes a device's check-ins in the order in which they were signed, though this clock be put back.
    if (options.is_check_in && checked_in_ - signed_at < kCheckInAheadMax)
      signed_at = std::max(signed_at, checked_in_ + Millis(1));
    COT_ASSIGN(const RequestClaims claims, sign_request(to_sign, *device, signed_at, nonce, signer_));
    request.headers.insert(request.headers.end(), {{"Coterie-Device", device->hex()},
                                                   {"Coterie-Time", std::to_string(unix_ms(claims.time))},
                                                   {"Coterie-Nonce", to_hex(nonce)},
                                                   {"Coterie-Signature", to_base64url(claims.signature)}});
    if (to_sign.digest) request.headers.emplace_back("Coterie-Digest", to_sign.digest->hex());
  }
  Answer answer;
  // What comes is limited as it comes: a server could send for ever, and say nothing of it in the head.
  const auto collect = [&](const TransportResponse& part, ByteView piece) -> Status {
    // An error's body is short and ours to read, also where a model was asked for.
    if (options.sink != nullptr && (part.status == 200 || part.status == 206)) return (*options.sink)(part, piece);
    if (answer.body.size() + piece.size() > options.answer_bytes_max) {
      return Error(ErrorCode::too_large,
                   "the server's answer is over " + std::to_string(options.answer_bytes_max) + " bytes");
    }
    answer.body.insert(answer.body.end(), piece.begin(), piece.end());
    return {};
  };
  COT_ASSIGN(answer.head, transport_.send(request, collect));
  if (options.is_check_in && answer.head.status == 200) checked_in_ = signed_at;
  return answer;
}

Outcome<EnrollReply> DeviceApi::enroll(const std::string& token, const std::string& sdk_version) {
  EnrollRequest message{.token = token,
                        .key_algorithm = signer_.algorithm(),
                        .public_key = signer_.public_key(),
                        .proof = {},
                        .sdk_version = sdk_version};
  // Without the proof one could enroll a key that is another device's.
  Result<Bytes> proof = signer_.sign(as_bytes(enrollment_proof_text(token, message.public_key)));
  if (!proof) return Failure{proof.error(), {}};
  message.proof = std::move(*proof);
  const Bytes body = encode(message);
  Outcome<Answer> answer = call(
      nullptr, {.method = "POST", .target = "/v1/enrollments", .headers = {}, .content_type = kFrameType, .body = body},
      {});
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  return decoded(decode_enroll_reply(std::get<Answer>(answer).body));
}

std::variant<Assignment, RetryWindow, Failure> DeviceApi::check_in(const DeviceId& device,
                                                                   const CheckinRequest& request) {
  const Bytes body = encode(request);
  Outcome<Answer> answer = call(&device,
                                {.method = "POST",
                                 .target = "/v1/checkins",
                                 .headers = {},
                                 .content_type = kFrameType,
                                 .body = body,
                                 .answer_max = Millis(request.wait_ms_max) + kHoldMargin},
                                {.digest_body = true, .is_check_in = true});
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  const Bytes& reply = std::get<Answer>(answer).body;
  if (Result<RetryWindow> window = decode_retry_window(reply)) return std::move(*window);
  Outcome<Assignment> assignment = decoded(decode_assignment(reply));
  if (auto* failure = std::get_if<Failure>(&assignment)) return std::move(*failure);
  return std::get<Assignment>(std::move(assignment));
}

Outcome<Bytes> DeviceApi::fetch_plan(const DeviceId& device, const Digest& plan, uint32_t bytes_max) {
  Outcome<Answer> answer =
      call(&device,
           {.method = "GET", .target = "/v1/plans/" + plan.hex(), .headers = {}, .content_type = {}, .body = {}}, {});
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  Bytes& body = std::get<Answer>(answer).body;
  // The size that was signed with the assignment, which may be far below what an answer may have.
  if (body.size() > bytes_max) return Failure{Error(ErrorCode::too_large, "the plan is larger than announced"), {}};
  return std::move(body);
}

Outcome<Bytes> DeviceApi::fetch_revocations(const DeviceId& device, uint64_t number) {
  Outcome<Answer> answer = call(&device,
                                {.method = "GET",
                                 .target = "/v1/revocations/" + std::to_string(number),
                                 .headers = {},
                                 .content_type = {},
                                 .body = {}},
                                {.answer_bytes_max = kRevocationListBytesMax});
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  return std::move(std::get<Answer>(answer).body);
}

Outcome<LogProof> DeviceApi::fetch_log_proof(const DeviceId& device, const LogStep& step) {
  Outcome<Answer> answer =
      call(&device,
           {.method = "GET",
            .target = "/v1/ledger/proofs/" + std::to_string(step.before) + "/" + std::to_string(step.size),
            .headers = {},
            .content_type = {},
            .body = {}},
           {.answer_bytes_max = kProofBytesMax});
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  return decoded(decode_log_proof(std::get<Answer>(answer).body));
}

Outcome<ReleasedModel> DeviceApi::released_model(const DeviceId& device) {
  Outcome<Answer> answer =
      call(&device, {.method = "GET", .target = "/v1/release", .headers = {}, .content_type = {}, .body = {}}, {});
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  return decoded(released_model_from(std::get<Answer>(answer).head));
}

Outcome<uint64_t> DeviceApi::fetch_model(const DeviceId& device, const Digest& model, uint64_t offset,
                                         const BodySink& sink) {
  TransportRequest request{
      .method = "GET", .target = "/v1/models/" + model.hex(), .headers = {}, .content_type = {}, .body = {}};
  if (offset > 0) request.headers.emplace_back("Range", "bytes=" + std::to_string(offset) + "-");
  Outcome<Answer> answer = call(&device, request, {.sink = &sink});
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  return std::get<Answer>(answer).head.body_bytes;
}

Outcome<Receipt> DeviceApi::upload(const DeviceId& device, const Assignment& assignment, ByteView update) {
  Outcome<Answer> answer = call(&device,
                                {.method = "PUT",
                                 .target = target_of(assignment, "updates"),
                                 .headers = {},
                                 .content_type = kFrameType,
                                 .body = update},
                                {});
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  return decoded(decode_receipt(std::get<Answer>(answer).body));
}

std::optional<Failure> DeviceApi::send_to_session(const DeviceId& device, const Assignment& assignment,
                                                  ByteView message) {
  Outcome<Answer> answer = call(&device,
                                {.method = "POST",
                                 .target = target_of(assignment, "session"),
                                 .headers = {},
                                 .content_type = kFrameType,
                                 .body = message},
                                {.digest_body = true});
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  return std::nullopt;
}

std::variant<Bytes, RetryWindow, Failure> DeviceApi::ask_session(const DeviceId& device, const Assignment& assignment,
                                                                 std::string_view what,
                                                                 std::optional<ByteView> message) {
  TransportRequest request{.method = "GET",
                           .target = target_of(assignment, "session") + "/" + std::string(what),
                           .headers = {},
                           .content_type = {},
                           .body = {},
                           .answer_max = kSessionHold + kHoldMargin};
  if (message) {
    request.method = "POST";
    request.content_type = kFrameType;
    request.body = *message;
  }
  Outcome<Answer> answer = call(&device, std::move(request),
                                {.digest_body = message.has_value(), .answer_bytes_max = kSessionMessageBytesMax});
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  Bytes& body = std::get<Answer>(answer).body;
  if (Result<RetryWindow> window = decode_retry_window(body)) return std::move(*window);
  return std::move(body);
}

}  // namespace coterie
