#include "fl_server/device_api/device_service.h"

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/device_api/frame_response.h"
#include "fl_server/net/blob_response.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "secure/crypto/digest.h"
#include "secure/identity/bearer_token.h"
#include "secure/identity/request_signature.h"
#include "secure/identity/ticket.h"

namespace coterie {
namespace {

constexpr uint64_t kMessageBytesMax = limits::kWireHeaderBytesMax + 128;
constexpr Millis kHoldMargin{30'000};
constexpr std::string_view kHealth = "/healthz";
constexpr int kUnauthenticated = 401;

template <typename T>
Result<T> parse_number(std::string_view text, const char* what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return Error(ErrorCode::malformed, std::string(what) + " is not a number");
  }
  return value;
}

Result<RequestClaims> read_claims(const RequestHead& head) {
  RequestClaims claims;
  const std::string_view device = head.header("coterie-device");
  if (device.empty()) return Error(ErrorCode::unauthenticated, "the request is not signed: no Coterie-Device header");
  COT_ASSIGN(claims.device, DeviceId::from_hex(device));
  COT_ASSIGN(const int64_t time, parse_number<int64_t>(head.header("coterie-time"), "Coterie-Time"));
  claims.time = wall_time_from_unix_ms(time);
  COT_ASSIGN(const Bytes nonce, from_hex(head.header("coterie-nonce")));
  if (nonce.size() != claims.nonce.size()) return Error(ErrorCode::malformed, "Coterie-Nonce must have 32 hex digits");
  std::copy(nonce.begin(), nonce.end(), claims.nonce.begin());
  COT_ASSIGN(claims.signature, from_base64url(head.header("coterie-signature")));
  return claims;
}

// "/v1/plans/abc" and "/v1/plans/" -> "abc"; nothing if the path does not begin so or goes on with more segments.
std::optional<std::string_view> segment_after(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return std::nullopt;
  path.remove_prefix(prefix.size());
  if (path.empty() || path.find('/') != std::string_view::npos) return std::nullopt;
  return path;
}

// "/v1/rounds/7/session/TICKET/roster_view"
struct RoundPath {
  std::string_view round, what, ticket, question;
};
std::optional<RoundPath> round_path(std::string_view path) {
  constexpr std::string_view kPrefix = "/v1/rounds/";
  if (!path.starts_with(kPrefix)) return std::nullopt;
  path.remove_prefix(kPrefix.size());
  RoundPath parts;
  for (std::string_view* part : {&parts.round, &parts.what, &parts.ticket, &parts.question}) {
    const size_t slash = std::min(path.find('/'), path.size());
    *part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  if (parts.ticket.empty() || !path.empty()) return std::nullopt;
  return parts;
}

// What a request is worth. An unknown path is worth as little as can be.
Work work_of(std::string_view path) {
  if (path.starts_with("/v1/plans/") || path.starts_with("/v1/models/")) return Work::download;
  if (const std::optional<RoundPath> round = round_path(path)) {
    if (round->what == "updates") return Work::update;
    if (round->what == "session") return Work::session;
  }
  return Work::newcomer;
}

}  // namespace

HttpResponse DeviceService::refuse(const Error& error, int status) {
  HttpResponse response = error_response(error, {});
  response.status = status;
  return response;
}

// Before anything is read, verified or looked up.
std::optional<HttpResponse> DeviceService::turn_away(Exchange& exchange, Millis waited, std::string_view& route,
                                                     Millis& rest) {
  const RequestHead& head = exchange.head();
  if (head.path == kHealth) return std::nullopt;
  if (!serving_) {
    route = "standby";
    HttpResponse response = error_response(Error(ErrorCode::unavailable, "this server stands by for another one"), {});
    response.close = true;
    return response;
  }
  std::optional<TurnedAway> refused = parts_.guard.shed(work_of(head.path), exchange.origin().thread, waited);
  if (!refused) {
    const Result<DeviceId> claimed = DeviceId::from_hex(head.header("coterie-device"));
    refused = parts_.guard.hold_off(claimed ? std::optional(*claimed) : std::nullopt, exchange.origin().address);
  }
  if (!refused) return std::nullopt;
  route = "refused";
  rest = refused->rest;
  return error_response(refused->error, refused->window);
}

Awaitable<HttpResponse> DeviceService::handle(Exchange& exchange, std::string_view& route) {
  Millis rest{0}, waited{0};
  if (exchange.head().path != kHealth) waited = co_await exchange.stand_in_line(work_of(exchange.head().path));
  std::optional<HttpResponse> refused = turn_away(exchange, waited, route, rest);
  if (refused) {
    if (rest > Millis(0)) co_await exchange.rest(rest);
    co_return std::move(*refused);
  }
  HttpResponse response = co_await route_request(exchange, route);
  if (response.status == kUnauthenticated) parts_.guard.charge_stranger(exchange.origin().address);
  co_return response;
}

Awaitable<HttpResponse> DeviceService::route_request(Exchange& exchange, std::string_view& route) {
  const RequestHead& head = exchange.head();
  const bool reads = head.method == "GET" || head.method == "HEAD";
  const std::string_view path = head.path;
  if (head.method == "POST" && path == "/v1/checkins") {
    route = "/v1/checkins";
    HttpResponse response = co_await check_in(exchange);
    co_return response;
  }
  if (head.method == "POST" && path == "/v1/enrollments") {
    route = "/v1/enrollments";
    HttpResponse response = co_await enroll(exchange);
    co_return response;
  }
  if (const std::optional<RoundPath> round = round_path(path)) {
    if (head.method == "PUT" && round->what == "updates" && round->question.empty()) {
      route = "/v1/rounds/{round}/updates/{ticket}";
      HttpResponse response = co_await put_update(exchange, round->round, round->ticket);
      co_return response;
    }
    if (head.method == "POST" && round->what == "session") {
      route = round->question.empty() ? "/v1/rounds/{round}/session/{ticket}"
                                      : "/v1/rounds/{round}/session/{ticket}/{what}";
      HttpResponse response = co_await post_session(exchange, round->round, round->ticket, round->question);
      co_return response;
    }
    if (head.method == "GET" && round->what == "session" && !round->question.empty()) {
      route = "/v1/rounds/{round}/session/{ticket}/{what}";
      HttpResponse response = co_await get_session(exchange, round->round, round->ticket, round->question);
      co_return response;
    }
  }
  if (const auto digest = segment_after(path, "/v1/plans/"); digest && reads) {
    route = "/v1/plans/{digest}";
    co_return get_blob(head, *digest);
  }
  if (const auto digest = segment_after(path, "/v1/models/"); digest && reads) {
    route = "/v1/models/{digest}";
    co_return get_blob(head, *digest);
  }
  if (reads && path == kHealth) {
    route = "/healthz";
    HttpResponse response;
    response.content_type = "text/plain";
    const std::string_view ok = "ok\n";
    response.body.assign(ok.begin(), ok.end());
    co_return response;
  }
  route = "unknown";
  co_return error_response(Error(ErrorCode::not_found, "no such route on the device plane"), {});
}

Result<DeviceRecord> DeviceService::authenticate(const RequestHead& head, std::optional<ByteView> body) {
  COT_ASSIGN(const RequestClaims claims, read_claims(head));
  SignedRequest request{head.method, head.target, head.content_length.value_or(0), std::nullopt};
  const std::string_view digest = head.header("coterie-digest");
  if (!digest.empty()) {
    COT_ASSIGN(request.digest, Digest::from_hex(digest));
  }
  if (body && !body->empty()) {
    if (!request.digest)
      return Error(ErrorCode::unauthenticated, "the request has a body but no Coterie-Digest header");
    if (content_digest(*body) != *request.digest) {
      return Error(ErrorCode::unauthenticated, "the body does not have the digest that was signed");
    }
  }
  COT_ASSIGN(DeviceRecord device, parts_.directory.find(claims.device));
  const WallTime now = os::wall_now();
  COT_TRY(verify_request(request, claims, device.algorithm, device.public_key, now, settings_.clock_skew_max));
  parts_.guard.charge_device(device.id);
  const std::lock_guard lock(replays_mutex_);
  COT_TRY(replays_.admit(claims, now));
  return device;
}

// ---- Enrollment

Awaitable<HttpResponse> DeviceService::enroll(Exchange& exchange) {
  Result<Bytes> body = co_await exchange.read_body(kMessageBytesMax);
  if (!body) co_return error_response(body.error(), {});
  const Result<EnrollRequest> request = decode_enroll_request(*body);
  if (!request) co_return error_response(request.error(), {});
  if (!public_key_is_valid(request->key_algorithm, request->public_key)) {
    co_return error_response(Error(ErrorCode::invalid_argument, "enroll: not a public key of its algorithm"), {});
  }
  const std::string proof_text = enrollment_proof_text(request->token, request->public_key);
  if (!signature_is_valid(request->key_algorithm, request->public_key, as_bytes(proof_text), request->proof)) {
    co_return error_response(Error(ErrorCode::unauthenticated, "enroll: the proof is not signed by the key"), {});
  }
  DeviceRecord device;
  device.id = device_id_of(request->public_key);
  device.algorithm = request->key_algorithm;
  device.public_key = request->public_key;
  device.sdk_version = request->sdk_version;
  const WallTime now = os::wall_now();
  device.enrolled = now;
  const Result<DeviceRecord> enrolled = parts_.devices.enroll(token_digest(request->token), device, now);
  if (!enrolled) co_return error_response(enrolled.error(), {});
  parts_.directory.forget(device.id);
  co_return frame_response(encode(EnrollReply{enrolled->id, enrolled->population, parts_.signer.public_key()}), 201);
}

// ---- Check-in

Awaitable<HttpResponse> DeviceService::check_in(Exchange& exchange) {
  Result<Bytes> body = co_await exchange.read_body(kMessageBytesMax);
  if (!body) co_return error_response(body.error(), {});
  const Result<DeviceRecord> device = authenticate(exchange.head(), *body);
  if (!device) co_return error_response(device.error(), {});
  const Result<CheckinRequest> request = decode_checkin_request(*body);
  if (!request) co_return error_response(request.error(), {});
  if (request->population != device->population) {
    const Error foreign(ErrorCode::permission_denied, "this device is enrolled in population " +
                                                          device->population.value() + ", not in " +
                                                          request->population.value());
    co_return error_response(foreign, {});
  }
  if (request->refusal) {
    const LogTrace trace(exchange.trace().trace_id());
    parts_.plane.plan_refused(device->id, *request->refusal);
  }
  const Millis hold(request->wait_ms_max);
  exchange.extend_deadline(hold + kHoldMargin);
  const auto start = [this, &device, hold](std::function<void(CheckinAnswer)> answer) {
    parts_.plane.check_in(device->id, device->population, hold, std::move(answer));
  };
  CheckinAnswer answer = co_await await_callback<CheckinAnswer>(start);
  if (const auto* window = std::get_if<RetryWindow>(&answer)) co_return frame_response(encode(*window));
  const auto& assignment = std::get<Assignment>(answer);
  if (exchange.peer_is_gone()) parts_.plane.ticket_undelivered(assignment.round, device->id);
  co_return frame_response(encode(assignment));
}

// ---- Downloads

HttpResponse DeviceService::get_blob(const RequestHead& head, std::string_view digest_text) {
  const Result<DeviceRecord> device = authenticate(head, std::nullopt);
  if (!device) return error_response(device.error(), {});
  const Result<Digest> digest = Digest::from_hex(digest_text);
  if (!digest) return error_response(digest.error(), {});
  Result<HttpResponse> response = blob_response(head, parts_.blobs, *digest, "application/vnd.coterie.frame");
  return response ? std::move(*response) : error_response(response.error(), {});
}

// ---- Uploads

void DeviceService::take_old_tickets(std::shared_ptr<const MacKey> key) {
  const std::lock_guard lock(old_key_mutex_);
  old_ticket_key_ = std::move(key);
}

Result<TicketClaims> DeviceService::open_any(ByteView ticket, const DeviceId& holder) const {
  const WallTime now = os::wall_now();
  Result<TicketClaims> claims = open_ticket(ticket, parts_.ticket_key, holder, now);
  if (claims || claims.error().code() != ErrorCode::unauthenticated) return claims;
  std::shared_ptr<const MacKey> old;
  {
    const std::lock_guard lock(old_key_mutex_);
    old = old_ticket_key_;
  }
  return old ? open_ticket(ticket, *old, holder, now) : claims;
}

Result<TicketHolder> DeviceService::ticket_holder(const RequestHead& head, std::optional<ByteView> body,
                                                  std::string_view round_text, std::string_view ticket_text) {
  COT_ASSIGN(DeviceRecord device, authenticate(head, body));
  const Result<Bytes> ticket = from_base64url(ticket_text);
  if (!ticket) return Error(ErrorCode::malformed, "ticket: " + ticket.error().message());
  COT_ASSIGN(const TicketClaims claims, open_any(*ticket, device.id));
  if (round_text != std::to_string(claims.round.round.value())) {
    return Error(ErrorCode::permission_denied, "ticket: belongs to another round");
  }
  return TicketHolder{std::move(device), claims.round};
}

Awaitable<HttpResponse> DeviceService::put_update(Exchange& exchange, std::string_view round_text,
                                                  std::string_view ticket_text) {
  const RequestHead& head = exchange.head();
  if (!head.content_length) {
    co_return error_response(Error(ErrorCode::length_required, "an update needs a Content-Length"), {});
  }
  const Result<TicketHolder> holder = ticket_holder(head, std::nullopt, round_text, ticket_text);
  if (!holder) co_return error_response(holder.error(), {});

  UploadId upload;
  const auto offer = [&](std::function<void(UploadAnswer)> answer) {
    upload = parts_.plane.offer(holder->round, holder->device.id, *head.content_length, std::move(answer));
  };
  UploadAnswer answer = co_await await_callback<UploadAnswer>(offer);
  if (const auto* admitted = std::get_if<UploadAdmitted>(&answer)) {
    RoundTotals contribution;
    const bool is_masked = admitted->session.has_value();
    Awaitable<Result<UploadBody>> reading = is_masked ? read_masked_update(exchange, *holder, *admitted, contribution)
                                                      : read_update(exchange, holder->round, *admitted, contribution);
    Result<UploadBody> body = co_await std::move(reading);
    if (!body) {
      parts_.plane.lost(upload);
      co_return error_response(body.error(), {});
    }
    const auto hand_over = [&](std::function<void(UploadAnswer)> done) {
      parts_.plane.received(upload, std::move(*body), contribution, std::move(done));
    };
    answer = co_await await_callback<UploadAnswer>(hand_over);
  }
  if (const auto* accepted = std::get_if<UploadAccepted>(&answer)) co_return frame_response(encode(accepted->receipt));
  const auto& refused = std::get<UploadRefused>(answer);
  co_return error_response(refused.error, refused.window);
}

// Size, verify, decode, check against the plan; the values' own range is checked as they are added.
Awaitable<Result<UploadBody>> DeviceService::read_update(Exchange& exchange, const RoundKey& key,
                                                         const UploadAdmitted& admitted, RoundTotals& contribution) {
  const uint64_t size = *exchange.head().content_length;
  const uint64_t size_max = admitted.rules.value_count * sizeof(float) + kMessageBytesMax;
  if (size > size_max) {
    co_return Error(ErrorCode::too_large, "the update has " + std::to_string(size) +
                                              " bytes, this plan's have at most " + std::to_string(size_max));
  }
  BodyPool::Body memory = bodies_.acquire(size);
  Status read = co_await exchange.read_body_into(memory.bytes);
  if (!read) co_return read.error();
  const Result<Decoded<UpdateHeader>> update = decode_update(memory.bytes);
  if (!update) co_return update.error();
  const UpdateHeader& header = update->header;
  const auto mismatch = [](const std::string& what) { return Error(ErrorCode::malformed, "update: " + what); };
  if (header.round != key) co_return mismatch("is of another round or attempt than its ticket");
  if (header.model != admitted.model) co_return mismatch("was trained from another model than this round's");
  if (header.value_count != admitted.rules.value_count) {
    co_return mismatch("has " + std::to_string(header.value_count) + " values, the plan says " +
                       std::to_string(admitted.rules.value_count));
  }
  const uint32_t weight_max = admitted.rules.fixed_point.weight_max;
  if (header.weight > weight_max) co_return mismatch("weight is over the plan's " + std::to_string(weight_max));
  contribution = {.updates = 1,
                  .weight = header.weight,
                  .examples = header.examples,
                  .loss_sum = header.loss_sum,
                  .correct = header.correct,
                  .train_ms = header.train_ms};
  co_return UploadBody{memory.storage, payload_as<float>(update->payload), header.weight};
}

}  // namespace coterie
