#include "fl_server/store/s3/sigv4.h"

#include <algorithm>
#include <chrono>

#include "base/assert.h"
#include "base/text/percent.h"
#include "secure/crypto/hmac.h"
#include "secure/crypto/sha256.h"

namespace coterie::s3 {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

void append_padded(std::string& text, unsigned value, size_t digits) {
  const std::string number = std::to_string(value);
  text.append(digits - std::min(digits, number.size()), '0').append(number);
}

std::string date_of(WallTime time) { return amz_time(time).substr(0, 8); }

std::string scope_text(const Scope& scope) {
  return date_of(scope.time) + "/" + scope.region + "/" + scope.service + "/aws4_request";
}

// Blanks at both ends go, several in a row are one.
std::string trimmed(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == ' ' && (text.empty() || text.back() == ' ')) continue;
    text += c;
  }
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

Fields sorted_headers(const SignedRequest& request) {
  Fields headers = request.headers;
  std::ranges::stable_sort(headers, {}, [](const auto& header) { return header.first; });
  return headers;
}

Secret<32> signing_key(const Credentials& credentials, const Scope& scope) {
  const Secret<32> date = hmac_sha256_key(credentials.first_key(), as_bytes(date_of(scope.time)));
  const Secret<32> region = hmac_sha256_key(date.reveal(), as_bytes(scope.region));
  const Secret<32> service = hmac_sha256_key(region.reveal(), as_bytes(scope.service));
  return hmac_sha256_key(service.reveal(), as_bytes("aws4_request"));
}

}  // namespace

std::string encoded_path(std::string_view path) { return percent_encoded(path, "/"); }

std::string encoded_query(const Fields& query) {
  Fields encoded;
  for (const auto& [name, value] : query) encoded.emplace_back(percent_encoded(name), percent_encoded(value));
  std::ranges::sort(encoded);
  std::string text;
  for (const auto& [name, value] : encoded) text.append(text.empty() ? "" : "&").append(name).append("=").append(value);
  return text;
}

std::string amz_time(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
  const std::chrono::sys_seconds point(seconds);
  const auto day = std::chrono::floor<std::chrono::days>(point);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(point - day);
  std::string text;
  append_padded(text, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  append_padded(text, static_cast<unsigned>(date.month()), 2);
  append_padded(text, static_cast<unsigned>(date.day()), 2);
  text += 'T';
  append_padded(text, static_cast<unsigned>(clock.hours().count()), 2);
  append_padded(text, static_cast<unsigned>(clock.minutes().count()), 2);
  append_padded(text, static_cast<unsigned>(clock.seconds().count()), 2);
  return text + "Z";
}

std::string signed_header_names(const SignedRequest& request) {
  std::string names;
  for (const auto& [name, value] : sorted_headers(request)) names.append(names.empty() ? "" : ";").append(name);
  return names;
}

std::string canonical_request(const SignedRequest& request) {
  std::string text = request.method + "\n" + encoded_path(request.path) + "\n" + encoded_query(request.query) + "\n";
  for (const auto& [name, value] : sorted_headers(request))
    text.append(name).append(":").append(trimmed(value)).append("\n");
  return text + "\n" + signed_header_names(request) + "\n" + request.payload_hash;
}

std::string string_to_sign(const SignedRequest& request, const Scope& scope) {
  return std::string(kAlgorithm) + "\n" + amz_time(scope.time) + "\n" + scope_text(scope) + "\n" +
         sha256(as_bytes(canonical_request(request))).hex();
}

std::string signature(const SignedRequest& request, const Scope& scope, const Credentials& credentials) {
  return hmac_sha256(signing_key(credentials, scope).reveal(), as_bytes(string_to_sign(request, scope))).hex();
}

std::string authorization(const SignedRequest& request, const Scope& scope, const Credentials& credentials) {
  return std::string(kAlgorithm) + " Credential=" + credentials.access_key_id() + "/" + scope_text(scope) +
         ",SignedHeaders=" + signed_header_names(request) + ",Signature=" + signature(request, scope, credentials);
}

Fields presigned_query(SignedRequest request, const Scope& scope, const Credentials& credentials, int64_t seconds) {
  COT_ASSERT(seconds >= 1 && seconds <= kPresignedSecondsMax);
  request.payload_hash = kUnsignedPayload;
  request.query.emplace_back("X-Amz-Algorithm", kAlgorithm);
  request.query.emplace_back("X-Amz-Credential", credentials.access_key_id() + "/" + scope_text(scope));
  request.query.emplace_back("X-Amz-Date", amz_time(scope.time));
  request.query.emplace_back("X-Amz-Expires", std::to_string(seconds));
  request.query.emplace_back("X-Amz-SignedHeaders", signed_header_names(request));
  request.query.emplace_back("X-Amz-Signature", signature(request, scope, credentials));
  return std::move(request.query);
}

}  // namespace coterie::s3
