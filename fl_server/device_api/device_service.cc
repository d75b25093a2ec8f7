#include "fl_server/device_api/device_service.h"

#include <charconv>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/net/blob_response.h"
#include "fl_server/net/frame_response.h"
#include "fl_server/runtime/ticket_terms.h"
#include "fl_server/store/canary_store.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "secure/crypto/digest.h"
#include "secure/identity/bearer_token.h"
#include "secure/identity/request_signature.h"
#include "secure/identity/server_time.h"
#include "secure/identity/signing_keys.h"
#include "secure/identity/ticket.h"

namespace coterie {
namespace {

constexpr uint64_t kMessageBytesMax = limits::kWireHeaderBytesMax + 128;
constexpr uint64_t kEnrollBytesMax = 16 * 1024;  // token, key, proof and version are at most 1 KiB together
constexpr Millis kHoldMargin{30'000};
constexpr int kUnauthenticated = 401;

Result<uint64_t> size_from(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return Error(ErrorCode::malformed, "the size of a log must be a number");
}

}  // namespace

HttpResponse DeviceService::refuse(const Error& error, int status) {
  HttpResponse response = error_response(error, {});
  response.status = status;
  return response;
}

std::optional<DeviceService::Refused> DeviceService::turn_away(Exchange& exchange, Work work, Millis waited) {
  if (!serving_) {
    HttpResponse response = error_response(Error(ErrorCode::unavailable, "this server stands by for another one"), {});
    response.close = true;  // so that a balancer sends the next one elsewhere
    return Refused{{"standby", std::move(response)}, {}};
  }
  std::optional<TurnedAway> refused = parts_.guard.shed(work, exchange.origin().thread, waited);
  if (!refused) {
    const Result<DeviceId> claimed = DeviceId::from_hex(exchange.head().header("coterie-device"));
    refused = parts_.guard.hold_off(claimed ? std::optional(*claimed) : std::nullopt, exchange.origin().address);
  }
  if (!refused) return std::nullopt;
  return Refused{{"refused", error_response(refused->error, refused->window)}, refused->rest};
}

std::optional<DeviceService::Refused> DeviceService::turn_stranger_away(const Exchange& exchange) {
  const std::optional<TurnedAway> refused = parts_.guard.hold_off(std::nullopt, exchange.origin().address);
  if (!refused) return std::nullopt;
  return Refused{{"refused", error_response(refused->error, refused->window)}, refused->rest};
}

Awaitable<RoutedResponse> DeviceService::handle(Exchange& exchange) {
  const DeviceRouteMatch match = find_device_route(exchange.head().method, exchange.head().path);
  // A path that nobody knows is worth as little as can be.
  const std::optional<Work> work = match.route != nullptr ? match.route->work : Work::newcomer;
  if (work) {
    const Millis waited = co_await exchange.stand_in_line(*work);
    std::optional<Refused> refused = turn_away(exchange, *work, waited);
    if (refused) {
      if (refused->rest > Millis(0)) co_await exchange.rest(refused->rest);
      co_return std::move(refused->answer);
    }
  }
  if (!work && !exchange.origin().is_trusted) {
    std::optional<Refused> refused = turn_stranger_away(exchange);
    if (refused) co_return std::move(refused->answer);
    parts_.guard.charge_stranger(exchange.origin().address);
  }
  HttpResponse response = co_await respond(exchange, match);
  if (response.status == kUnauthenticated) parts_.guard.charge_stranger(exchange.origin().address);
  co_return RoutedResponse{match.route != nullptr ? match.route->pattern : kUnknownRoute, std::move(response)};
}

Awaitable<HttpResponse> DeviceService::respond(Exchange& exchange, DeviceRouteMatch match) {
  if (match.route == nullptr)
    co_return error_response(Error(ErrorCode::not_found, "no such route on the device plane"), {});
  DeviceCall call{match.path, {}};
  if (match.route->is_signed) {
    Result<RequestClaims> claims = read_claims(exchange.head());
    if (!claims) co_return error_response(claims.error(), {});
    if (std::optional<HttpResponse> refusal = refuse_time(*claims)) co_return *std::move(refusal);
    call.claims = std::move(*claims);
  }
  co_return co_await (this->*match.route->handler)(exchange, std::move(call));
}

std::optional<HttpResponse> DeviceService::refuse_time(const RequestClaims& claims) const {
  const Now now = os::now();
  Status timely = check_request_time(claims, now.wall, settings_.clock_skew_max);
  // The nonces of an earlier life of this process are forgotten: a captured request of then is no news. By the clock of
  // now, so that one which was put back keeps nobody away.
  if (timely && now.wall - claims.time > now.instant - begun_) {
    timely = Error(ErrorCode::unavailable, "the request was signed before this server began: sign it anew");
  }
  if (timely) return std::nullopt;
  HttpResponse response = error_response(timely.error(), {});
  if (parts_.directory.find(claims.device)) say_time(claims, response);  // no signature for strangers
  return response;
}

void DeviceService::say_time(const RequestClaims& claims, HttpResponse& response) const {
  const WallTime now = os::wall_now();
  const Result<Bytes> said = sign_server_time(now, claims.nonce, parts_.signer);
  if (!said) return;
  response.headers.emplace_back("Coterie-Time", std::to_string(unix_ms(now)));
  response.headers.emplace_back("Coterie-Signature", to_base64url(*said));
  const std::lock_guard lock(rotated_mutex_);
  if (!key_statements_.empty()) response.headers.emplace_back("Coterie-Keys", key_statements_);
}

Awaitable<HttpResponse> DeviceService::get_health(Exchange&, DeviceCall) {
  HttpResponse response;
  response.content_type = "text/plain";
  const std::string_view ok = "ok\n";
  response.body.assign(ok.begin(), ok.end());
  co_return response;
}

Result<DeviceRecord> DeviceService::authenticate(Exchange& exchange, const RequestClaims& claims, Signs signs) {
  const RequestHead& head = exchange.head();
  SignedRequest request{head.method, head.target, head.content_length.value_or(0), std::nullopt};
  const std::string_view digest = head.header("coterie-digest");
  if (!digest.empty()) {
    COT_ASSIGN(request.digest, Digest::from_hex(digest));
  }
  if (signs == Signs::body && request.content_length > 0 && !request.digest) {
    return Error(ErrorCode::unauthenticated, "the request has a body but no Coterie-Digest header");
  }
  COT_ASSIGN(DeviceRecord device, parts_.directory.find(claims.device));
  COT_TRY(verify_request(request, claims, device.algorithm, device.public_key));
  parts_.guard.charge_device(device.id);
  COT_TRY(replays_.admit(claims, os::wall_now()));
  exchange.sender_is_known();
  parts_.directory.note_seen(device.id, os::monotonic_now());
  return device;
}

Awaitable<Result<RequestBody>> DeviceService::read_signed_body(Exchange& exchange, uint64_t bytes_max) {
  Result<RequestBody> body = co_await exchange.read_body(bytes_max);
  if (!body || body->bytes.empty()) co_return std::move(body);
  const Result<Digest> declared = Digest::from_hex(exchange.head().header("coterie-digest"));
  if (!declared || content_digest(body->bytes) != *declared) {
    co_return Error(ErrorCode::unauthenticated, "the body does not have the digest that was signed");
  }
  co_return std::move(body);
}

// ---- Enrollment

Awaitable<HttpResponse> DeviceService::enroll(Exchange& exchange, DeviceCall) {
  // The one body that is read before anybody has signed: the token that makes its sender known is in it.
  Result<RequestBody> body = co_await exchange.read_body(kEnrollBytesMax);
  if (!body) co_return error_response(body.error(), {});
  const Result<EnrollRequest> request = decode_enroll_request(body->bytes);
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
  exchange.sender_is_known();
  parts_.directory.forget(device.id);
  const EnrollReply reply{enrolled->id, enrolled->population, parts_.signer.public_key(), retiring_keys()};
  co_return frame_response(encode(reply), 201);
}

// ---- Check-in

Awaitable<HttpResponse> DeviceService::check_in(Exchange& exchange, DeviceCall call) {
  const Result<DeviceRecord> device = authenticate(exchange, call.claims, Signs::body);
  if (!device) co_return error_response(device.error(), {});
  Result<RequestBody> body = co_await read_signed_body(exchange, kMessageBytesMax);
  if (!body) co_return error_response(body.error(), {});
  const Result<CheckinRequest> request = decode_checkin_request(body->bytes);
  *body = {};  // the device may wait here for long
  if (!request) co_return error_response(request.error(), {});
  if (request->population != device->population) {
    const Error foreign(ErrorCode::permission_denied, "this device is enrolled in population " +
                                                          device->population.value() + ", not in " +
                                                          request->population.value());
    co_return error_response(foreign, {});
  }
  if (std::optional<HttpResponse> refused = co_await refuse_taken(call.claims)) co_return *std::move(refused);
  if (request->refusal) {
    const LogTrace trace(exchange.trace().trace_id());
    parts_.plane.plan_refused(device->id, *request->refusal);
  }
  const Millis hold(request->wait_ms_max);
  exchange.extend_deadline(hold + kHoldMargin);
  std::optional<HeldUpdate> held;
  if (!request->held.empty()) {
    if (const auto claims = open_any(request->held, device->id)) held = held_by(*claims);
    // New work would be taken for a round that asks for the update.
    if (!held) co_return error_response(Error(ErrorCode::not_found, "held: no ticket that a later round takes"), {});
  }
  const auto start = [this, &device, &request, hold, &held](std::function<void(CheckinAnswer)> answer) {
    parts_.plane.check_in(device->id, device->population, hold, request->features, std::move(held), std::move(answer));
  };
  CheckinAnswer answer = co_await await_callback<CheckinAnswer>(start);
  if (const auto* window = std::get_if<RetryWindow>(&answer)) co_return frame_response(encode(*window));
  const auto& assignment = std::get<Assignment>(answer);
  if (exchange.peer_is_gone()) parts_.plane.ticket_undelivered(assignment.round, device->id);
  HttpResponse response = frame_response(encode(assignment));
  say_time(call.claims, response);  // what its not_after is compared with
  co_return response;
}

Awaitable<std::optional<HttpResponse>> DeviceService::refuse_taken(const RequestClaims& claims) {
  if (parts_.checkins == nullptr) co_return std::nullopt;
  const auto start = [this, &claims](std::function<void(Result<bool>)> answer) {
    parts_.checkins->take({claims.device, claims.time}, std::move(answer));
  };
  const Result<bool> taken = co_await await_callback<Result<bool>>(start);
  if (!taken) co_return error_response(taken.error(), {});
  if (*taken) co_return std::nullopt;
  HttpResponse response = error_response(
      Error(ErrorCode::unauthenticated, "this check-in, or one signed later, was taken before; sign it anew"), {});
  say_time(claims, response);  // the device's clock may have been put back since
  co_return response;
}

// ---- Downloads

Awaitable<HttpResponse> DeviceService::get_blob(Exchange& exchange, DeviceCall call) {
  const RequestHead& head = exchange.head();
  const Result<DeviceRecord> device = authenticate(exchange, call.claims, Signs::head);
  if (!device) co_return error_response(device.error(), {});
  const Result<Digest> digest = Digest::from_hex(call.path["digest"]);
  if (!digest) co_return error_response(digest.error(), {});
  Result<HttpResponse> response = blob_response(head, parts_.blobs, *digest, "application/vnd.coterie.frame");
  if (!response) co_return error_response(response.error(), {});
  parts_.plane.fetched(device->id, *digest);
  co_return std::move(*response);
}

// Whoever asks twice may hear of two versions: one was promoted meanwhile, or a canary began or came to its end.
Awaitable<HttpResponse> DeviceService::get_released_model(Exchange& exchange, DeviceCall call) {
  const Result<DeviceRecord> device = authenticate(exchange, call.claims, Signs::head);
  if (!device) co_return error_response(device.error(), {});
  const auto ask = [&](std::function<void(Result<GivenModel>)> answer) {
    parts_.plane.on_store([&store = parts_.canaries, population = device->population, id = device->id,
                           answer = std::move(answer)] { answer(store.model_for(population, id)); });
  };
  const Result<GivenModel> given = co_await await_callback<Result<GivenModel>>(ask);
  if (!given) co_return error_response(given.error(), {});
  HttpResponse response;
  response.headers.emplace_back("Coterie-Model", given->digest.hex());
  response.headers.emplace_back("Coterie-Model-Bytes", std::to_string(given->bytes));
  response.headers.emplace_back("Coterie-Job", given->version.job.value());
  response.headers.emplace_back("Coterie-Model-Version", std::to_string(given->version.version.value()));
  co_return response;
}

Awaitable<HttpResponse> DeviceService::get_revocations(Exchange& exchange, DeviceCall call) {
  const Result<DeviceRecord> device = authenticate(exchange, call.claims, Signs::head);
  if (!device) co_return error_response(device.error(), {});
  const std::string_view text = call.path["number"];
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    co_return error_response(Error(ErrorCode::malformed, "the number of a list is a whole number"), {});
  }
  const auto newest = parts_.revocations.newest();
  if (!newest || newest->list.number <= number) {
    co_return error_response(
        Error(ErrorCode::not_found, "there is no list of revoked certificates after number " + std::to_string(number)),
        {});
  }
  HttpResponse response;
  response.content_type = "application/octet-stream";
  response.body = newest->bytes;
  response.head_only = exchange.head().method == "HEAD";
  co_return response;
}

// Whoever is enrolled may see proofs of its own population: hashes, which tell nothing of a record.
Awaitable<HttpResponse> DeviceService::get_log_proof(Exchange& exchange, DeviceCall call) {
  const Result<DeviceRecord> device = authenticate(exchange, call.claims, Signs::head);
  if (!device) co_return error_response(device.error(), {});
  const Result<uint64_t> before = size_from(call.path["before"]);
  if (!before) co_return error_response(before.error(), {});
  const Result<uint64_t> size = size_from(call.path["size"]);
  if (!size) co_return error_response(size.error(), {});
  const auto ask = [&](std::function<void(Result<LogProof>)> answer) {
    parts_.plane.prove_log(device->population, *before, *size, std::move(answer));
  };
  const Result<LogProof> proof = co_await await_callback<Result<LogProof>>(ask);
  if (!proof) co_return error_response(proof.error(), {});
  co_return frame_response(encode(*proof));
}

// ---- Tickets

void DeviceService::take_old_tickets(std::shared_ptr<const MacKey> key) {
  const std::lock_guard lock(rotated_mutex_);
  old_ticket_key_ = std::move(key);
}

void DeviceService::take_key_statements(const std::vector<KeyStatement>& statements) {
  std::string text = key_statements_text(statements);
  PinnedKeys keys = keys_to_pin(parts_.signer.public_key(), statements);
  const std::lock_guard lock(rotated_mutex_);
  key_statements_ = std::move(text);
  retiring_keys_ = std::move(keys.retiring);
}

std::vector<RetiringKey> DeviceService::retiring_keys() const {
  const std::lock_guard lock(rotated_mutex_);
  return retiring_keys_;
}

Result<TicketClaims> DeviceService::open_any(ByteView ticket, const DeviceId& holder) const {
  Result<TicketClaims> claims = open_ticket(ticket, parts_.ticket_key, holder);
  if (claims || claims.error().code() != ErrorCode::unauthenticated) return claims;
  std::shared_ptr<const MacKey> old;
  {
    const std::lock_guard lock(rotated_mutex_);
    old = old_ticket_key_;
  }
  return old ? open_ticket(ticket, *old, holder) : claims;
}

Result<TicketHolder> DeviceService::ticket_holder(Exchange& exchange, const DeviceCall& call, Signs signs) {
  COT_ASSIGN(DeviceRecord device, authenticate(exchange, call.claims, signs));
  const Result<Bytes> ticket = from_base64url(call.path["ticket"]);
  if (!ticket) return Error(ErrorCode::malformed, "ticket: " + ticket.error().message());
  COT_ASSIGN(const TicketClaims claims, open_any(*ticket, device.id));
  if (call.path["round"] != std::to_string(claims.round.round.value())) {
    return Error(ErrorCode::permission_denied, "ticket: belongs to another round");
  }
  return TicketHolder{std::move(device), claims.round, claims.handed};
}

}  // namespace coterie
