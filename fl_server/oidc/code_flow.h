// The authorization code flow (OpenID Connect Core 1.0 section 3.1) with PKCE by S256 (RFC 7636), as pure functions:
//
//   new_sign_in -> a cookie; authorization_request -> where the browser goes
//   the browser comes back with cookie, state and code: check_sign_in, token_request -> the provider -> id_token_of
//
// Nothing is kept between the two: state, nonce and verifier are MACs of the cookie under a key that only servers have.
// So a sign-in costs no memory until its code is exchanged, may end on another server with the same key, and whoever
// reads the cookie knows neither nonce nor verifier.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "fl_server/oidc/code_flow_settings.h"
#include "secure/crypto/mac.h"

namespace coterie {

inline constexpr Millis kSignInMax{10 * 60'000};  // from the button until the browser is back
inline constexpr size_t kSignInCookieHexChars = 16 + 64;
inline constexpr size_t kCodeBytesMax = 1600;  // a request has its target within 2048
inline constexpr size_t kTokenAnswerBytesMax = 64 * 1024;

// Why a sign-in came to nothing: Error::reason() of what fails here and where it is carried out. The console has a
// sentence for each.
namespace sign_in_fault {
inline constexpr std::string_view kNotBegun = "not_begun";  // not in this browser: no cookie, or not of this state
inline constexpr std::string_view kExpired = "expired";     // begun kSignInMax ago
inline constexpr std::string_view kDeclined = "declined";   // `error=access_denied`
inline constexpr std::string_view kProvider = "provider";   // another error, or an answer that is none
inline constexpr std::string_view kToken = "token";         // the ID token is refused
inline constexpr std::string_view kNoRole = "no_role";      // its holder may not use the console
inline constexpr std::string_view kAway = "away";           // the provider does not answer
inline constexpr std::string_view kBusy = "busy";           // too many at a time
inline constexpr std::string_view kStandsBy = "stands_by";  // another server leads
}  // namespace sign_in_fault

struct SignInSecrets {
  std::string state;     // goes to the provider and comes back by the browser
  std::string nonce;     // goes to the provider and comes back in the ID token
  std::string verifier;  // its digest goes by the browser, itself from server to provider alone
};

// The value of a cookie: when it began, and `random`, 32 bytes.
std::string new_sign_in(WallTime now, ByteView random);
SignInSecrets secrets_of(const MacKey& key, std::string_view cookie);
// unauthenticated, kNotBegun or kExpired. In constant time.
Status check_sign_in(const MacKey& key, std::string_view cookie, std::string_view state, WallTime now);

std::string authorization_request(const CodeFlowSettings& settings, const SignInSecrets& secrets);

// Where a browser goes to sign out at the provider, too (OpenID Connect RP-Initiated Logout 1.0, section 2), and comes
// back to the console's page from. The client is named by its id: an `id_token_hint` would show the browser a token.
// Empty: the provider has no such place.
std::string end_session_request(const CodeFlowSettings& settings);

// The body of the question that gives a code for tokens; application/x-www-form-urlencoded. A public client names
// itself in it; one with a secret does by HTTP's Basic scheme.
std::string token_request(const CodeFlowSettings& settings, std::string_view code, std::string_view verifier,
                          bool has_secret);

// The ID token of an answer with this status. Its signature is not looked at here. unauthenticated, kProvider: there is
// none; the message has the provider's `error` where that is a word of RFC 6749.
Result<std::string> id_token_of(long status, std::string_view body);

// kDeclined or kProvider, of the `error` that a browser came back with.
Error error_of_provider(std::string_view error);

}  // namespace coterie
