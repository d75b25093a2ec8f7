// ProviderSignIn: how people sign in to the console at an identity provider, as the handlers see it. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "fl_server/admin/admin_authenticator.h"
#include "fl_server/records/admin_token.h"

namespace coterie {

class ProviderSignIn {
 public:
  static constexpr Millis kLifeMax{10 * 60'000};  // from begin() to finish()

  struct Begun {
    std::string cookie;    // for this browser, until it is back
    std::string redirect;  // where it goes
  };
  // What a browser came back with, whoever made it up. Empty where the query has none.
  struct Back {
    std::string_view cookie, state, code, issuer, error;
    CallerKey address;
  };

  virtual ~ProviderSignIn() = default;
  // What people call the provider.
  virtual const std::string& name() const = 0;
  virtual Begun begin(WallTime now) = 0;
  // Where a browser signs out at the provider; empty: it cannot.
  virtual std::string end_session_url() const = 0;
  // Asks the provider; blocks for seconds at most. Each error has a reason, a word of [a-z_] that the console has a
  // sentence for; no message has what the provider or the browser wrote.
  virtual Result<AdminCaller> finish(const Back& back, Now now) = 0;
};

}  // namespace coterie
