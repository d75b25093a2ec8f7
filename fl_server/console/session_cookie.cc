#include "fl_server/console/session_cookie.h"

#include <algorithm>

namespace coterie {
namespace {

constexpr std::string_view kAttributes = "; Path=/; Secure; HttpOnly; SameSite=Strict";

}  // namespace

std::string_view session_secret(std::string_view header) {
  std::string_view secret;
  while (!header.empty()) {
    std::string_view pair = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(header.size(), pair.size() + 1));
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != kSessionCookie) continue;
    if (!secret.empty()) return {};
    secret = pair.substr(equals + 1);
  }
  return secret;
}

std::string session_cookie(std::string_view secret) {
  return std::string(kSessionCookie) + "=" + std::string(secret) + std::string(kAttributes);
}

std::string ended_session_cookie() { return session_cookie({}) + "; Max-Age=0"; }

}  // namespace coterie
