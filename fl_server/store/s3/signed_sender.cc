#include "fl_server/store/s3/signed_sender.h"

#include <algorithm>

#include "base/os/clock.h"
#include "fl_server/store/s3/answers.h"
#include "fl_server/store/s3/backoff.h"
#include "secure/crypto/random.h"
#include "secure/crypto/sha256.h"

namespace coterie::s3 {
namespace {

constexpr std::string_view kScheme = "https://";

std::string host_of(const S3Settings& settings) {
  const std::string host = settings.endpoint.substr(kScheme.size());
  return settings.path_style ? host : settings.bucket + "." + host;
}

Scope scope_of(WallTime now, const S3Settings& settings) { return {.time = now, .region = settings.region}; }

}  // namespace

struct SignedSender::Attempt {
  Result<HttpsReply> result;
  bool again = false;
  bool at_once = false;  // without a pause: the clocks differed
};

SignedSender::SignedSender(S3Settings settings, Credentials credentials, std::function<WallTime()> wall_now)
    : settings_(std::move(settings)),
      credentials_(std::move(credentials)),
      wall_now_(std::move(wall_now)),
      host_(host_of(settings_)),
      pool_(settings_.ca_file, settings_.connect_max),
      prng_(random_u64()) {}

std::string SignedSender::path_of(const std::string& key) const {
  return settings_.path_style ? "/" + settings_.bucket + (key.empty() ? "" : "/" + key) : "/" + key;
}

WallTime SignedSender::store_now() const { return wall_now_() + Millis(ahead_ms_.load()); }

void SignedSender::cancel() {
  pool_.cancel();
  const std::lock_guard lock(mutex_);
  cancelled_.notify_all();
}

Status SignedSender::wait(Millis pause) {
  std::unique_lock lock(mutex_);
  if (cancelled_.wait_for(lock, pause, [this] { return pool_.is_cancelled(); })) {
    return Error(ErrorCode::cancelled, "stopped before the store was asked again");
  }
  return {};
}

// Whether the store refused for the time alone, and is asked again by its own clock.
bool SignedSender::follow_clock(const HttpsReply& reply) {
  const std::optional<WallTime> theirs = parse_http_date(reply.header("date"));
  if (reply.status != 403 || !theirs) return false;
  const Millis ahead = *theirs - wall_now_();
  const Millis differs = ahead - Millis(ahead_ms_.load());
  if (differs < kClockSkewMax && differs > -kClockSkewMax) return false;
  ahead_ms_.store(ahead.count());
  return true;
}

SignedSender::Attempt SignedSender::try_once(const BucketRequest& request, const Judge& is_good,
                                             const std::string& what, Millis transfer_max) {
  const WallTime now = store_now();
  SignedRequest to_sign{request.method, path_of(request.key), request.query, request.headers,
                        sha256(request.body).hex()};
  to_sign.headers.emplace_back("host", host_);
  to_sign.headers.emplace_back("x-amz-content-sha256", to_sign.payload_hash);
  to_sign.headers.emplace_back("x-amz-date", amz_time(now));
  HttpsRequest https{.method = request.method,
                     .url = std::string(kScheme) + host_ + encoded_path(to_sign.path),
                     .headers = {},
                     .body = request.body,
                     .answer_bytes_max = std::max(request.answer_bytes_max, kErrorBodyBytesMax),
                     .transfer_max = transfer_max};
  if (!request.query.empty()) https.url += "?" + encoded_query(request.query);
  for (const auto& [name, value] : to_sign.headers) https.headers.push_back(name + ": " + value);
  https.headers.push_back("authorization: " + authorization(to_sign, scope_of(now, settings_), credentials_));

  Result<HttpsReply> reply = pool_.send(https);
  if (!reply) {
    const ErrorCode code = reply.error().code();
    return {reply.error().with_context(what), code == ErrorCode::unavailable || code == ErrorCode::timed_out};
  }
  if (reply->status >= 200 && reply->status < 300) {
    Status good;
    if (is_good) good = is_good(*reply);
    if (good) return {std::move(reply)};
    const ErrorCode code = good.error().code();
    return {good.error().with_context(what), code == ErrorCode::unavailable || code == ErrorCode::data_loss};
  }
  const Failure failure = failure_of(reply->status, as_text(reply->body), what);
  if (follow_clock(*reply)) return {failure.error, true, true};
  return {failure.error, failure.is_worth_trying_again};
}

Result<HttpsReply> SignedSender::send(const BucketRequest& request, const Judge& is_good) {
  const std::string what = "S3 " + request.method + " " + settings_.bucket + "/" + request.key;
  const Instant until = os::monotonic_now() + settings_.operation_max;
  for (uint32_t tries = 1;; ++tries) {
    const Millis left = until - os::monotonic_now();
    Attempt attempt = try_once(request, is_good, what, std::clamp(left, Millis(1), settings_.transfer_max));
    if (attempt.result || !attempt.again) return std::move(attempt.result);
    Millis pause{0};
    if (!attempt.at_once) {
      const std::lock_guard lock(mutex_);
      pause = backoff(tries - 1, settings_.backoff_base, settings_.backoff_max, prng_);
    }
    if (tries >= settings_.tries_max || os::monotonic_now() + pause >= until) {
      return attempt.result.error().with_context("after " + std::to_string(tries) + " tries");
    }
    COT_TRY(wait(pause));
  }
}

std::string SignedSender::presigned_get(const std::string& key, int64_t seconds) const {
  const SignedRequest get{"GET", path_of(key), {}, {{"host", host_}}, {}};
  const Fields query = presigned_query(get, scope_of(store_now(), settings_), credentials_, seconds);
  return std::string(kScheme) + host_ + encoded_path(get.path) + "?" + encoded_query(query);
}

}  // namespace coterie::s3
