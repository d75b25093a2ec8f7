#include <algorithm>
#include <charconv>

#include "fl_server/device_api/device_route.h"
#include "fl_server/device_api/device_service.h"

namespace coterie {
namespace {

using S = DeviceService;

constexpr std::nullopt_t kAlways = std::nullopt;
constexpr bool kSigned = true;
constexpr bool kUnsigned = false;

// What is asked most often stands first. tests/tidy/check_docs.py reads these rows: one a line, no expressions in them.
// clang-format off
constexpr DeviceRoute kRoutes[] = {
    {"POST", "/v1/checkins", Work::newcomer, kSigned, &S::check_in},
    {"PUT", "/v1/rounds/{round}/updates/{ticket}", Work::update, kSigned, &S::put_update},
    {"GET", "/v1/plans/{digest}", Work::download, kSigned, &S::get_blob},
    {"GET", "/v1/models/{digest}", Work::download, kSigned, &S::get_blob},
    {"POST", "/v1/rounds/{round}/session/{ticket}/{what}", Work::session, kSigned, &S::post_session},
    {"POST", "/v1/rounds/{round}/session/{ticket}", Work::session, kSigned, &S::post_session},
    {"GET", "/v1/rounds/{round}/session/{ticket}/{what}", Work::session, kSigned, &S::get_session},
    {"GET", "/v1/revocations/{number}", Work::download, kSigned, &S::get_revocations},
    {"GET", "/v1/ledger/proofs/{before}/{size}", Work::download, kSigned, &S::get_log_proof},
    {"GET", "/v1/release", Work::download, kSigned, &S::get_released_model},
    {"POST", "/v1/enrollments", Work::newcomer, kUnsigned, &S::enroll},
    {"GET", "/healthz", kAlways, kUnsigned, &S::get_health},
};
// clang-format on

Result<int64_t> parse_time(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return Error(ErrorCode::malformed, "Coterie-Time is not a number");
  return value;
}

}  // namespace

std::span<const DeviceRoute> device_routes() { return kRoutes; }

DeviceRouteMatch find_device_route(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  for (const DeviceRoute& candidate : kRoutes) {
    PathParameters parameters;
    if (candidate.method == method && matches_pattern(candidate.pattern, path, parameters))
      return {&candidate, parameters};
  }
  return {};
}

Result<RequestClaims> read_claims(const RequestHead& head) {
  RequestClaims claims;
  const std::string_view device = head.header("coterie-device");
  if (device.empty()) return Error(ErrorCode::unauthenticated, "the request is not signed: no Coterie-Device header");
  COT_ASSIGN(claims.device, DeviceId::from_hex(device));
  COT_ASSIGN(const int64_t time, parse_time(head.header("coterie-time")));
  claims.time = wall_time_from_unix_ms(time);
  COT_ASSIGN(const Bytes nonce, from_hex(head.header("coterie-nonce")));
  if (nonce.size() != claims.nonce.size()) return Error(ErrorCode::malformed, "Coterie-Nonce must have 32 hex digits");
  std::copy(nonce.begin(), nonce.end(), claims.nonce.begin());
  COT_ASSIGN(claims.signature, from_base64url(head.header("coterie-signature")));
  return claims;
}

}  // namespace coterie
