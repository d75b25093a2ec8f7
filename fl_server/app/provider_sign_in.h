// Sign-in to the console at the identity provider that the configuration names: its parts, put together.
#pragma once

#include <memory>

#include "base/result.h"
#include "fl_server/admin_api/provider_sign_in.h"
#include "fl_server/oidc/bearer_verifier.h"
#include "secure/crypto/mac.h"

namespace coterie {

class CancellableSignIn : public ProviderSignIn {
 public:
  // Nobody is waited for any more: whoever waits for the provider is refused soon.
  virtual void cancel() = 0;
};

// Null where settings have no sign_in. `key`: a secret that all servers share before which a balancer stands; it and
// `verifier` outlive what is made. An error: client_secret_file cannot be read, or has no secret.
Result<std::unique_ptr<CancellableSignIn>> make_provider_sign_in(const OidcSettings& settings, const MacKey& key,
                                                                 BearerVerifier& verifier);

}  // namespace coterie
