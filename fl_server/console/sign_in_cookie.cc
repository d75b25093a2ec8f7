#include "fl_server/console/sign_in_cookie.h"

#include "fl_server/console/request_cookie.h"

namespace coterie {
namespace {

constexpr std::string_view kAttributes = "; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=";

}  // namespace

std::string_view pending_sign_in(std::string_view header) { return request_cookie(header, kSignInCookie); }

std::string sign_in_cookie(std::string_view value, Millis life) {
  return std::string(kSignInCookie) + "=" + std::string(value) + std::string(kAttributes) +
         std::to_string(life.count() / 1000);
}

std::string ended_sign_in_cookie() { return sign_in_cookie({}, Millis(0)); }

}  // namespace coterie
