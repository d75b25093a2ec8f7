// BearerVerifier: who holds a bearer token of the issuer that is set. A thread of its own fetches the
// issuer's keys and keeps them fresh; verify() uses what is there and never waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "fl_server/oidc/id_token.h"
#include "fl_server/oidc/jwks_cache.h"
#include "fl_server/oidc/jwt.h"

namespace coterie {

// Where an issuer's keys come from.
class JwksSource {
 public:
  struct Answer {
    std::string body;
    std::string cache_control;  // the header's list; may be empty
  };
  virtual ~JwksSource() = default;
  // Blocks; one call at a time. Gives up soon after `cancelled` was set.
  virtual Result<Answer> fetch(const std::atomic<bool>& cancelled) = 0;
};

// jwks_url of the settings, over HTTPS (https_get.h).
std::unique_ptr<JwksSource> make_https_jwks_source(const OidcSettings& settings);

class BearerVerifier {
 public:
  // Precondition: validate(settings) is empty. Fetching begins at once.
  explicit BearerVerifier(OidcSettings settings);
  BearerVerifier(OidcSettings settings, std::unique_ptr<JwksSource> source);
  // Waits until a fetch under way has given up.
  ~BearerVerifier();
  BearerVerifier(const BearerVerifier&) = delete;
  BearerVerifier& operator=(const BearerVerifier&) = delete;

  // Thread-safe, and as fast as a signature is verified. unauthenticated, with a reason of token_fault;
  // unavailable while there are no keys: not yet, or not for kJwksServedMax. A token with an unknown `kid` is
  // refused, and the keys are fetched again soon: when it comes again it may be right.
  Result<OidcIdentity> verify(std::string_view token, WallTime now);

  // The same of an ID token, for this client and this sign-in (id_token.h).
  Result<OidcIdentity> verify_id(std::string_view token, const IdTokenWanted& wanted, WallTime now);

  // How fetching went. `fetches` counts answers of either kind, right and wrong.
  struct State {
    uint64_t fetches = 0, failures = 0;
    size_t keys = 0, skipped_foreign = 0, skipped_malformed = 0;  // of the set in use
    std::string last_error;                                       // empty after a good answer
  };
  State state() const;
  // Until that many answers have come, for a start that must not take requests before there are keys.
  void wait_for_fetches(uint64_t count) const;

 private:
  Result<OidcIdentity> verify_with(const std::function<Result<OidcIdentity>(const JwkSet&)>& verify);
  void run();
  void fetch(std::unique_lock<std::mutex>& lock);

  const OidcSettings settings_;
  const std::unique_ptr<JwksSource> source_;
  std::atomic<bool> stopping_ = false;

  mutable std::mutex mutex_;  // of what follows; never held while a token is verified or an issuer is asked
  std::condition_variable work_;
  mutable std::condition_variable answered_;
  JwksCache cache_;
  State state_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace coterie
