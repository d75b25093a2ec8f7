// Named admin tokens: what a person or a program shows on the admin plane. The database has the slow hash of
// each alone.
//
// Text form "cota_" + id (16 hexadecimal digits) + "_" + base64url of 32 random bytes. The id is no secret:
// it finds the row, and the audit log says it of whoever acted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "fl_server/records/role.h"
#include "fl_server/records/tenant.h"

namespace coterie {

inline constexpr size_t kAdminTokensMax = 1000;  // on one server; of one tenant: fl_server/settings/tenant_quotas.h
inline constexpr size_t kAdminTokenLabelCharsMax = 128;
inline constexpr uint32_t kAdminTokenSecondsMax = 366 * 86'400;
inline constexpr uint32_t kAdminTokenSecondsDefault = 90 * 86'400;

struct AdminTokenRecord {
  std::string id;
  std::string label;  // a note of whoever made it
  RoleSet roles;
  std::string hash;     // slow_hash of the whole text
  std::string creator;  // the id of the token that made it
  WallTime created;
  WallTime expires;
  std::string tenant = std::string(kEveryTenant);  // whose things it sees
};

// Who a request comes from: the token's id (kDataDirectoryTokenId for the one of the data directory) and what
// it may.
struct AdminCaller {
  std::string id;
  RoleSet roles;
  std::string tenant = std::string(kEveryTenant);
  WallTime expires = WallTime::max();  // the token's end

  // Who it is, whatever token says so.
  friend bool operator==(const AdminCaller& a, const AdminCaller& b) {
    return a.id == b.id && a.roles == b.roles && a.tenant == b.tenant;
  }
};
inline constexpr std::string_view kDataDirectoryTokenId = "admin-token";
// Before the subject of an identity provider's token, in the id of its caller.
inline constexpr std::string_view kProviderCallerPrefix = "oidc:";
inline bool is_of_provider(const AdminCaller& caller) { return caller.id.starts_with(kProviderCallerPrefix); }

struct NewAdminToken {
  std::string id;
  std::string text;  // the secret: shown once, never kept
};
NewAdminToken generate_admin_token();

// The id in a text of this form; none if it is of another. Says nothing of whether there is such a token.
std::optional<std::string> admin_token_id(std::string_view text);

}  // namespace coterie
