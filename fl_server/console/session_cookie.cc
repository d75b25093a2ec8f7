#include "fl_server/console/session_cookie.h"

#include "fl_server/console/request_cookie.h"

namespace coterie {
namespace {

constexpr std::string_view kAttributes = "; Path=/; Secure; HttpOnly; SameSite=Strict";

}  // namespace

std::string_view session_secret(std::string_view header) { return request_cookie(header, kSessionCookie); }

std::string session_cookie(std::string_view secret) {
  return std::string(kSessionCookie) + "=" + std::string(secret) + std::string(kAttributes);
}

std::string ended_session_cookie() { return session_cookie({}) + "; Max-Age=0"; }

}  // namespace coterie
