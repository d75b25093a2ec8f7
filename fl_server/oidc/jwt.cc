#include "fl_server/oidc/jwt.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "fl_server/oidc/strict_json.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr double kNumericDateMax = 253'402'300'799.0;  // the last second of the year 9999

Error refuse(std::string_view reason, std::string message) {
  return Error(ErrorCode::unauthenticated, "bearer token: " + std::move(message), reason);
}

Error claim_form(const char* claim, const char* form) {
  return refuse(token_fault::kClaims, std::string("`") + claim + "` must be " + form);
}

// The claim at a path of OidcSettings; nullptr if there is none.
const json* claim_at(const json& claims, std::string_view path) {
  const json* at = &claims;
  const bool is_one_name = path.find("://") != std::string_view::npos;
  while (true) {
    const size_t dot = is_one_name ? std::string_view::npos : path.find('.');
    if (!at->is_object()) return nullptr;
    const auto found = at->find(path.substr(0, dot));
    if (found == at->end()) return nullptr;
    at = &*found;
    if (dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
  }
}

// NumericDate (RFC 7519 section 2): seconds since 1970, maybe with a fraction.
Result<WallTime> read_time(const json& claims, const char* name) {
  const auto found = claims.find(name);
  const bool is_number = found != claims.end() && found->is_number();
  const double seconds = is_number ? found->get<double>() : -1.0;
  if (!(seconds >= 0.0 && seconds <= kNumericDateMax)) {
    return claim_form(name, "a number of seconds since 1970, not negative and before the year 10000");
  }
  return wall_time_from_unix_ms(static_cast<int64_t>(seconds * 1000.0));
}

Result<WallTime> check_times(const json& claims, const OidcSettings& settings, WallTime now) {
  COT_ASSIGN(const WallTime expires, read_time(claims, "exp"));
  COT_ASSIGN(const WallTime issued, read_time(claims, "iat"));
  WallTime not_before = issued;
  if (claims.contains("nbf")) {
    COT_ASSIGN(const WallTime said, read_time(claims, "nbf"));
    not_before = std::max(not_before, said);
  }
  if (now >= expires + settings.leeway) return refuse(token_fault::kExpired, "it has expired; get another one");
  if (now + settings.leeway < not_before) {
    return refuse(token_fault::kNotYetValid, "it is not valid yet; do the clocks of issuer and server agree?");
  }
  if (expires - issued > settings.lifetime_max) {
    return refuse(token_fault::kLifetime, "it is valid for longer than lifetime_ms_max allows (" +
                                              std::to_string(settings.lifetime_max.count()) +
                                              "); let the issuer give shorter ones");
  }
  return expires;
}

Status check_audience(const json& claims, const std::string& wanted) {
  const auto found = claims.find("aud");
  const bool is_list = found != claims.end() && found->is_array();
  if (found == claims.end() || !(found->is_string() || is_list) || (is_list && found->size() > kTokenAudiencesMax)) {
    return claim_form("aud", "a string or a list of strings");
  }
  if (is_list && !std::all_of(found->begin(), found->end(), [](const json& item) { return item.is_string(); })) {
    return claim_form("aud", "a string or a list of strings");
  }
  const bool is_for_us = is_list ? std::find(found->begin(), found->end(), wanted) != found->end() : *found == wanted;
  if (!is_for_us)
    return refuse(token_fault::kAudience, "it is for somebody else: `aud` does not have the audience set here");
  return {};
}

bool is_name(const std::string* text, size_t bytes_max) {
  return text != nullptr && !text->empty() && text->size() <= bytes_max &&
         std::none_of(text->begin(), text->end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// A list of strings, or one string of names with blanks between them, as `scope` has (RFC 8693 section 4.2).
std::optional<std::vector<std::string>> read_names(const json& claim) {
  std::vector<std::string> names;
  if (const auto* text = claim.get_ptr<const std::string*>()) {
    for (size_t at = 0; at < text->size() && names.size() <= kTokenRolesMax;) {
      const size_t end = std::min(text->find(' ', at), text->size());
      if (end > at) names.push_back(text->substr(at, end - at));
      at = end + 1;
    }
  } else if (claim.is_array() && claim.size() <= kTokenRolesMax) {
    for (const json& item : claim) {
      if (!item.is_string()) return std::nullopt;
      names.push_back(item.get<std::string>());
    }
  } else {
    return std::nullopt;
  }
  if (names.size() > kTokenRolesMax) return std::nullopt;
  return names;
}

Result<std::vector<std::string>> read_roles(const json& claims, const OidcSettings& settings) {
  const json* claim = claim_at(claims, settings.roles_claim);
  if (claim == nullptr) return std::vector<std::string>();
  const auto names = read_names(*claim);
  if (!names)
    return refuse(token_fault::kClaims,
                  "the claim that roles_claim names must be a list of at most 512 strings, or one string of "
                  "them with blanks between");
  std::set<std::string> ours;
  for (const std::string& name : *names) {
    if (const auto mapped = settings.role_map.find(name); mapped != settings.role_map.end())
      ours.insert(mapped->second);
  }
  return std::vector<std::string>(ours.begin(), ours.end());
}

}  // namespace

Result<OidcIdentity> check_claims(ByteView payload, const OidcSettings& settings, WallTime now) {
  const auto claims = parse_strict_object(as_text(payload));
  if (!claims) return refuse(token_fault::kMalformed, "its claims are not a JSON object with each key once");
  const std::string* issuer = string_under(*claims, "iss");
  if (issuer == nullptr) return claim_form("iss", "a string");
  if (*issuer != settings.issuer) return refuse(token_fault::kIssuer, "it is of another issuer than the one set here");
  COT_TRY(check_audience(*claims, settings.audience));
  OidcIdentity identity;
  COT_ASSIGN(identity.expires, check_times(*claims, settings, now));
  const std::string* subject = string_under(*claims, "sub");
  if (!is_name(subject, kSubjectBytesMax)) return claim_form("sub", "1 to 255 bytes without control characters");
  if (!settings.tenant_claim.empty()) {
    const json* tenant = claim_at(*claims, settings.tenant_claim);
    const auto* text = tenant == nullptr ? nullptr : tenant->get_ptr<const std::string*>();
    if (!is_name(text, kTenantBytesMax))
      return refuse(token_fault::kClaims,
                    "the claim that tenant_claim names must be 1 to 128 bytes without control characters");
    identity.tenant = *text;
  }
  COT_ASSIGN(identity.roles, read_roles(*claims, settings));
  identity.subject = *subject;
  identity.issuer = *issuer;
  return identity;
}

Result<OidcIdentity> verify_jwt(std::string_view token, const JwkSet& keys, const OidcSettings& settings,
                                WallTime now) {
  COT_ASSIGN(const Bytes payload, verify_jws(token, keys));
  return check_claims(payload, settings, now);
}

}  // namespace coterie
