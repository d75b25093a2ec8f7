// What an operator says about how people sign in to the console at the identity provider: the authorization code flow
// (OpenID Connect Core 1.0 section 3.1) with this server as the client.
#pragma once

#include <string>

#include "base/problem.h"

namespace coterie {

inline constexpr size_t kSignInNameBytesMax = 64;
// Where a provider sends the browser back to, on the admin plane: redirect_url ends with it.
inline constexpr std::string_view kCallbackPath = "/console/callback";

struct CodeFlowSettings {
  std::string name;                  // on the button: "Sign in with NAME"
  std::string authorization_url;     // `authorization_endpoint` of the provider; https
  std::string token_url;             // `token_endpoint`; https
  std::string client_id;             // of this server at the provider; `aud` of ID tokens must have it
  std::string client_secret_file;    // its first line; empty: a public client, which PKCE alone protects
  std::string redirect_url;          // of this server as browsers reach it, as the provider was told; https
  std::string scope = "openid";      // names with blanks between them; "openid" among them
  std::string end_session_url = {};  // `end_session_endpoint`; https; empty: signing out ends the session here alone
};

// Everything wrong with them, pointers relative to the block ("/token_url").
Problems validate(const CodeFlowSettings& settings);

}  // namespace coterie
