#include "fl_server/fleet/peer_service.h"

#include <algorithm>
#include <charconv>

#include "fl_server/fleet/cohort_frames.h"
#include "fl_server/net/frame_response.h"
#include "proto/codec/frame.h"
#include "proto/codec/limits.h"
#include "proto/codec/secagg_codec.h"

namespace coterie {
namespace {

// A device's largest message is its sealed shares.
constexpr uint64_t kMessageBytesMax = limits::kSharesHeaderBytesMax + 128;
constexpr int64_t kHoldMsMax = 30'000;
constexpr Millis kAnswerMargin{30'000};
constexpr std::string_view kCohorts = "/peer/v1/cohorts/";
constexpr std::string_view kEvents = "/peer/v1/events";

template <typename T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// "7.2/message" -> round 7, attempt 2, "message"
bool parse_target(std::string_view path, RoundKey& key, std::string_view& what) {
  if (!path.starts_with(kCohorts)) return false;
  path.remove_prefix(kCohorts.size());
  const size_t dot = path.find('.');
  const size_t slash = path.find('/');
  if (dot == std::string_view::npos || slash == std::string_view::npos || dot > slash) return false;
  uint64_t round = 0;
  uint32_t attempt = 0;
  if (!parse(path.substr(0, dot), round) || !parse(path.substr(dot + 1, slash - dot - 1), attempt)) return false;
  key = {RoundId(round), Attempt(attempt)};
  what = path.substr(slash + 1);
  return true;
}

HttpResponse no_route() { return error_response(Error(ErrorCode::not_found, "no such route on the peer plane"), {}); }

}  // namespace

HttpResponse PeerService::refuse(const Error& error, int status) {
  HttpResponse response = error_response(error, {});
  response.status = status;
  return response;
}

Awaitable<RoutedResponse> PeerService::handle(Exchange& exchange) {
  exchange.sender_is_known();  // by its certificate, without which there is no connection
  const RequestHead& head = exchange.head();
  if (events_ != nullptr && head.method == "POST" && head.path == kEvents) {
    HttpResponse told = co_await tell_events(exchange);
    co_return RoutedResponse{kEvents, std::move(told)};
  }
  RoundKey key;
  std::string_view what;
  if (head.method != "POST" || !parse_target(head.path, key, what)) co_return RoutedResponse{kUnknownRoute, no_route()};
  HttpResponse response = co_await respond(exchange, key, what);
  co_return RoutedResponse{"/peer/v1/cohorts/{round}/{what}", std::move(response)};
}

Awaitable<HttpResponse> PeerService::respond(Exchange& exchange, RoundKey key, std::string_view what) {
  // `unavailable`, not `not_found`: the device asks again, and its node looks up who leads then.
  if (!owning_)
    co_return error_response(Error(ErrorCode::unavailable, "this server keeps no sessions: it does not lead"), {});
  const Result<DeviceId> device = DeviceId::from_hex(exchange.head().header("coterie-device"));
  if (!device) co_return error_response(Error(ErrorCode::malformed, "Coterie-Device: " + device.error().message()), {});
  const Target target{key, *device};
  if (what == "message") co_return co_await take_message(exchange, target);
  if (what == "input") co_return co_await take_input(exchange, target);
  const std::optional<CohortQuestion> question = cohort_question_from(what);
  if (!question) co_return no_route();
  co_return co_await answer_question(exchange, target, *question);
}

Awaitable<HttpResponse> PeerService::tell_events(Exchange& exchange) {
  if (!owning_)
    co_return error_response(Error(ErrorCode::unavailable, "this server has no events of jobs: it does not lead"), {});
  const Result<std::string> text = co_await events_->answer(exchange);
  if (!text) co_return error_response(text.error(), {});
  HttpResponse response;
  response.status = text->empty() ? 204 : 200;
  response.content_type = "text/event-stream";
  response.body.assign(text->begin(), text->end());
  co_return response;
}

Awaitable<HttpResponse> PeerService::take_message(Exchange& exchange, Target target) {
  Result<RequestBody> body = co_await exchange.read_body(kMessageBytesMax);
  if (!body) co_return error_response(body.error(), {});
  Result<Bytes> public_key = from_base64url(exchange.head().header("coterie-key"));
  if (!public_key)
    co_return error_response(Error(ErrorCode::malformed, "Coterie-Key: " + public_key.error().message()), {});
  Result<CohortMessage> message = decode_cohort_message(body->bytes);
  if (!message) co_return error_response(message.error(), {});
  const auto send = [&](std::function<void(Status)> answer) {
    cohorts_.cohort_receive(target.key, target.device, std::move(*public_key), std::move(*message), std::move(answer));
  };
  const Status received = co_await await_callback<Status>(send);
  co_return received ? frame_response({}) : error_response(received.error(), {});
}

Awaitable<HttpResponse> PeerService::take_input(Exchange& exchange, Target target) {
  Result<RequestBody> body = co_await exchange.read_body(kMessageBytesMax);
  if (!body) co_return error_response(body.error(), {});
  // Only the head of a masked update comes here. Its lanes stay at the node that took it, which adds them to its sum.
  const Result<Prelude> prelude = parse_prelude(body->bytes);
  if (!prelude) co_return error_response(prelude.error(), {});
  if (prelude->kind != FrameKind::masked_input || body->bytes.size() < kPreludeBytes + prelude->header_bytes) {
    co_return error_response(Error(ErrorCode::malformed, "input: not the head of a masked update"), {});
  }
  Result<MaskedInput> input =
      decode_masked_input_head(*prelude, ByteView(body->bytes).subspan(kPreludeBytes, prelude->header_bytes));
  if (!input) co_return error_response(input.error(), {});
  const auto send = [&](std::function<void(Status)> answer) {
    cohorts_.cohort_input_arrived(target.key, target.device, std::move(*input), std::move(answer));
  };
  const Status welcome = co_await await_callback<Status>(send);
  co_return welcome ? frame_response({}) : error_response(welcome.error(), {});
}

Awaitable<HttpResponse> PeerService::answer_question(Exchange& exchange, Target target, CohortQuestion question) {
  int64_t hold_ms = 0;
  if (!parse(exchange.head().header("coterie-hold-ms"), hold_ms) || hold_ms < 0) {
    co_return error_response(Error(ErrorCode::malformed, "Coterie-Hold-Ms must be a number of milliseconds"), {});
  }
  const Millis hold(std::min(hold_ms, kHoldMsMax));
  // The connection would else be closed as idle while the question is held.
  exchange.extend_deadline(hold + kAnswerMargin);
  const auto ask = [&](std::function<void(Result<CohortReply>)> answer) {
    cohorts_.cohort_ask(target.key, target.device, question, hold, std::move(answer));
  };
  const Result<CohortReply> reply = co_await await_callback<Result<CohortReply>>(ask);
  if (!reply) co_return error_response(reply.error(), {});
  if (const auto* not_yet = std::get_if<NotYet>(&*reply)) {
    HttpResponse response;
    response.status = 204;
    response.headers.emplace_back("Coterie-Cohort-Size", std::to_string(not_yet->cohort_size));
    co_return response;
  }
  co_return frame_response(encode(*reply));
}

}  // namespace coterie
