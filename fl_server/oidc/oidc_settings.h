// What an operator says about the identity provider whose tokens the admin plane takes (OpenID Connect).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "base/time.h"
#include "fl_server/oidc/code_flow_settings.h"

namespace coterie {

inline constexpr Millis kOidcLeewayMax{5 * 60 * 1000};
inline constexpr Millis kOidcLifetimeMin{60 * 1000};
inline constexpr Millis kOidcLifetimeMax{24 * 60 * 60 * 1000};
inline constexpr size_t kOidcTextBytesMax = 1024;  // of each text here
inline constexpr size_t kOidcRoleMapMax = 256;

struct OidcSettings {
  std::string issuer;    // `iss` of every token, to the letter; https
  std::string audience;  // `aud` must have it
  std::string jwks_url;  // where the issuer's keys are; https
  std::string ca_file;   // PEM: who may certify that server; empty: whom the system trusts
  // A name, or names with dots between them for a claim inside claims ("realm_access.roles"). A name with
  // "://" in it is one name, whatever its dots.
  std::string roles_claim = "roles";
  std::map<std::string, std::string>
      role_map;                    // the issuer's role -> ours (fl_server/records/role.h); others are nothing to us
  std::string tenant_claim;        // written as roles_claim; empty: tokens have no tenant
  Millis leeway{60'000};           // for clocks that differ
  Millis lifetime_max{3'600'000};  // from `iat` to `exp`; longer ones are refused
  std::optional<CodeFlowSettings> sign_in;  // none: nobody signs in to the console there
};

// Host and no user: "https://name@host" is somebody's password, or somebody else's host.
bool is_https_url(std::string_view url);

// Everything wrong with them but for `sign_in`, whose own validate() says it; pointers relative to the block
// ("/issuer").
Problems validate(const OidcSettings& settings);

}  // namespace coterie
