// The cookie of a console's session (RFC 6265). Pure.
#pragma once

#include <string>
#include <string_view>

namespace coterie {

// The prefix has browsers take it with Secure and Path=/ alone, and from this host alone.
inline constexpr std::string_view kSessionCookie = "__Host-coterie-session";

// The secret in a Cookie header; empty if there is none, or more than one: it is not for us to choose.
std::string_view session_secret(std::string_view cookie_header);

// Set-Cookie of a session that was opened: no script reads it, and no other site's page has it sent.
std::string session_cookie(std::string_view secret);
// Set-Cookie that removes it.
std::string ended_session_cookie();

}  // namespace coterie
