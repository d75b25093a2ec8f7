// The cookie of a sign-in that is under way at an identity provider (RFC 6265). Pure.
//
// It holds the sign-in to one browser: who comes back with a state and not with its cookie is somebody else. It is Lax,
// as the way back begins at the provider's site, from which a Strict cookie would not be sent; it says nothing of who
// somebody is.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"

namespace coterie {

inline constexpr std::string_view kSignInCookie = "__Host-coterie-sign-in";

// Its value in a Cookie header; empty if there is none, or more than one.
std::string_view pending_sign_in(std::string_view cookie_header);

// Set-Cookie of a sign-in that has begun: no script reads it, and the browser forgets it after `life`.
std::string sign_in_cookie(std::string_view value, Millis life);
// Set-Cookie that removes it.
std::string ended_sign_in_cookie();

}  // namespace coterie
