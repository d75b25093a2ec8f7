#include "fl_server/oidc/oidc_settings.h"

#include <algorithm>

#include "fl_server/records/role.h"

namespace coterie {
namespace {

constexpr std::string_view kScheme = "https://";

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_claim_path(std::string_view path) {
  if (path.empty() || path.front() == '.' || path.back() == '.') return false;
  return path.find("://") != std::string_view::npos || path.find("..") == std::string_view::npos;
}

void check_role_map(const OidcSettings& settings, Problems& problems) {
  if (settings.role_map.empty()) {
    problems.push_back({"/role_map", "must map at least one role of the issuer: without it no token may do anything"});
  }
  if (settings.role_map.size() > kOidcRoleMapMax) {
    problems.push_back({"/role_map", "must have at most " + std::to_string(kOidcRoleMapMax) + " entries"});
  }
  std::string listed;
  for (const Role role : kRoles) listed += (listed.empty() ? "" : ", ") + std::string(to_string(role));
  for (const auto& [theirs, ours] : settings.role_map) {
    if (theirs.empty() || theirs.size() > kOidcTextBytesMax) {
      problems.push_back({"/role_map", "has a role of the issuer whose name is empty or too long"});
    }
    if (!role_from_name(ours)) {
      problems.push_back({"/role_map", "maps \"" + theirs + "\" to \"" + ours + "\", which must be one of: " + listed});
    }
  }
}

void check_time(const char* pointer, Millis value, Millis least, Millis most, Problems& problems) {
  if (value >= least && value <= most) return;
  problems.push_back(
      {pointer, "must be in [" + std::to_string(least.count()) + ", " + std::to_string(most.count()) + "]"});
}

}  // namespace

bool is_https_url(std::string_view url) {
  if (!url.starts_with(kScheme) || !is_printable(url)) return false;
  const std::string_view authority = url.substr(kScheme.size(), url.find('/', kScheme.size()) - kScheme.size());
  return !authority.empty() && authority.find_first_of("@?#\\") == std::string_view::npos;
}

Problems validate(const OidcSettings& settings) {
  Problems problems;
  if (!is_https_url(settings.issuer))
    problems.push_back({"/issuer", "must be an https:// URL, as in `iss` of its tokens"});
  if (!is_https_url(settings.jwks_url)) {
    problems.push_back({"/jwks_url", "must be an https:// URL: `jwks_uri` of the issuer's openid-configuration"});
  }
  if (settings.audience.empty())
    problems.push_back({"/audience", "must not be empty: whom tokens for us name in `aud`"});
  if (!is_claim_path(settings.roles_claim)) {
    problems.push_back({"/roles_claim", "must be a claim, as \"roles\" or \"realm_access.roles\""});
  }
  if (!settings.tenant_claim.empty() && !is_claim_path(settings.tenant_claim)) {
    problems.push_back({"/tenant_claim", "must be a claim, as \"tenant\" or \"org.id\", or left out"});
  }
  const std::pair<const char*, const std::string*> texts[] = {
      {"/issuer", &settings.issuer},           {"/audience", &settings.audience},
      {"/jwks_url", &settings.jwks_url},       {"/ca_file", &settings.ca_file},
      {"/roles_claim", &settings.roles_claim}, {"/tenant_claim", &settings.tenant_claim}};
  for (const auto& [pointer, text] : texts) {
    if (text->size() <= kOidcTextBytesMax && text->find('\0') == std::string::npos) continue;
    problems.push_back({pointer, "must have at most " + std::to_string(kOidcTextBytesMax) + " bytes and no NUL"});
  }
  check_role_map(settings, problems);
  check_time("/leeway_ms", settings.leeway, Millis(0), kOidcLeewayMax, problems);
  check_time("/lifetime_ms_max", settings.lifetime_max, kOidcLifetimeMin, kOidcLifetimeMax, problems);
  return problems;
}

}  // namespace coterie
