#include "fl_server/oidc/code_flow.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/percent.h"
#include "fl_server/oidc/strict_json.h"
#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

constexpr std::string_view kStateDomain = "coterie/v1/console-sign-in/state";
constexpr std::string_view kNonceDomain = "coterie/v1/console-sign-in/nonce";
constexpr std::string_view kVerifierDomain = "coterie/v1/console-sign-in/verifier";
constexpr size_t kTimeBytes = 8;
constexpr size_t kErrorCharsMax = 64;

Error refuse(std::string_view reason, std::string message) {
  return Error(ErrorCode::unauthenticated, "sign-in: " + std::move(message), reason);
}

std::string derived(const MacKey& key, std::string_view domain, std::string_view cookie) {
  return mac(key, domain, as_bytes(cookie)).hex();
}

void add(std::string& form, std::string_view name, std::string_view value) {
  form.append(form.empty() ? "" : "&").append(name).append("=").append(percent_encoded(value));
}

std::string with_query(const std::string& url, const std::string& query) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + query;
}

// The provider's word where it is one, so that no text of a stranger is in our log.
std::string shown(std::string_view error) {
  const bool is_word =
      !error.empty() && error.size() <= kErrorCharsMax &&
      std::all_of(error.begin(), error.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return is_word ? std::string(error) : std::string("an error that is no word");
}

}  // namespace

std::string new_sign_in(WallTime now, ByteView random) {
  uint64_t ms = static_cast<uint64_t>(unix_ms(now));
  Bytes bytes(kTimeBytes);
  for (size_t i = kTimeBytes; i-- > 0; ms >>= 8) bytes[i] = static_cast<uint8_t>(ms);
  bytes.insert(bytes.end(), random.begin(), random.end());
  return to_hex(bytes);
}

SignInSecrets secrets_of(const MacKey& key, std::string_view cookie) {
  return {derived(key, kStateDomain, cookie), derived(key, kNonceDomain, cookie),
          derived(key, kVerifierDomain, cookie)};
}

Status check_sign_in(const MacKey& key, std::string_view cookie, std::string_view state, WallTime now) {
  const bool is_state = equal_in_constant_time(as_bytes(derived(key, kStateDomain, cookie)), as_bytes(state));
  const Result<Bytes> bytes = from_hex(cookie);
  if (!is_state || !bytes || cookie.size() != kSignInCookieHexChars) {
    return refuse(sign_in_fault::kNotBegun, "it was not begun in this browser, or has ended; begin again");
  }
  uint64_t ms = 0;
  for (size_t i = 0; i < kTimeBytes; ++i) ms = ms << 8 | (*bytes)[i];
  const WallTime began = wall_time_from_unix_ms(static_cast<int64_t>(ms));
  // A clock that was set back makes a sign-in young, never one that lasts: the cookie itself ends in the browser.
  if (now >= began + kSignInMax) {
    return refuse(sign_in_fault::kExpired, "it was begun more than " + std::to_string(kSignInMax.count() / 60'000) +
                                               " minutes ago; begin again");
  }
  return {};
}

std::string authorization_request(const CodeFlowSettings& settings, const SignInSecrets& secrets) {
  std::string query;
  add(query, "response_type", "code");
  add(query, "client_id", settings.client_id);
  add(query, "redirect_uri", settings.redirect_url);
  add(query, "scope", settings.scope);
  add(query, "state", secrets.state);
  add(query, "nonce", secrets.nonce);
  add(query, "code_challenge", to_base64url(sha256(as_bytes(secrets.verifier)).view()));
  add(query, "code_challenge_method", "S256");
  return with_query(settings.authorization_url, query);
}

std::string end_session_request(const CodeFlowSettings& settings) {
  if (settings.end_session_url.empty()) return {};
  const size_t origin_bytes = settings.redirect_url.size() - kCallbackPath.size();
  std::string query;
  add(query, "client_id", settings.client_id);
  add(query, "post_logout_redirect_uri", settings.redirect_url.substr(0, origin_bytes) + "/");
  return with_query(settings.end_session_url, query);
}

std::string token_request(const CodeFlowSettings& settings, std::string_view code, std::string_view verifier,
                          bool has_secret) {
  std::string form;
  add(form, "grant_type", "authorization_code");
  add(form, "code", code);
  add(form, "redirect_uri", settings.redirect_url);
  add(form, "code_verifier", verifier);
  if (!has_secret) add(form, "client_id", settings.client_id);
  return form;
}

Result<std::string> id_token_of(long status, std::string_view body) {
  if (body.size() > kTokenAnswerBytesMax) {
    return refuse(sign_in_fault::kProvider, "the provider's answer is longer than 64 KiB");
  }
  const auto answer = parse_strict_object(body);
  if (status != 200) {
    const std::string* error = answer ? string_under(*answer, "error") : nullptr;
    return refuse(sign_in_fault::kProvider, "the provider took no code: it answered " + std::to_string(status) + ", " +
                                                shown(error == nullptr ? std::string_view() : *error));
  }
  const std::string* token = answer ? string_under(*answer, "id_token") : nullptr;
  if (token == nullptr) {
    return refuse(sign_in_fault::kProvider,
                  "the provider's answer is no JSON object with `id_token`; is \"openid\" in the scope?");
  }
  return *token;
}

Error error_of_provider(std::string_view error) {
  if (error == "access_denied") return refuse(sign_in_fault::kDeclined, "it was declined at the provider");
  return refuse(sign_in_fault::kProvider, "the provider says " + shown(error));
}

}  // namespace coterie
