// JwksCache: when to ask the issuer for its keys, and how long those we have are good. A machine: told the
// time and the answers, it says what to do; bearer_verifier.h performs it.
//
//   cache.begin_fetch(now) -> ask the issuer -> cache.fetched(...) or cache.failed(...)
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "fl_server/oidc/jwks.h"

namespace coterie {

// How long an answer says it is good for is believed within these bounds.
inline constexpr Millis kJwksRefreshMin{60'000};
inline constexpr Millis kJwksRefreshDefault{600'000};  // where it says nothing
inline constexpr Millis kJwksRefreshMax{12 * 3'600'000};
// A token that names a key we do not have may be signed with a new one, or be a forger's: so often it makes
// us ask, at most.
inline constexpr Millis kJwksUnknownKeyInterval{30'000};
// After a failure, doubled with each further one.
inline constexpr Millis kJwksRetryMin{5'000};
inline constexpr Millis kJwksRetryMax{300'000};
// While the issuer is away its keys are good for so long after the last answer; then no token is.
inline constexpr Millis kJwksServedMax{24 * 3'600'000};

class JwksCache {
 public:
  // The first fetch is due at once.
  explicit JwksCache(Instant now) : next_fetch_(now) {}

  // When begin_fetch will next say yes; Instant::max() while a fetch is under way.
  Instant next_deadline() const { return fetching_ ? Instant::max() : next_fetch_; }

  // Whether to ask the issuer now. If so, the next call must be fetched() or failed().
  bool begin_fetch(Instant now);
  // The issuer's keys are these and no others: one that it has taken back is gone.
  void fetched(JwkSet keys, std::optional<Millis> max_age, Instant now);
  void failed(Instant now);

  // A token named a key that is not there.
  void key_was_unknown(Instant now);

  // Never nullptr but before the first answer, or when the last one is older than kJwksServedMax.
  std::shared_ptr<const JwkSet> keys(Instant now) const;

 private:
  std::shared_ptr<const JwkSet> keys_;
  Instant fetched_at_;  // where there are keys_
  Instant next_fetch_;
  std::optional<Instant> last_begun_;
  uint32_t failures_ = 0;  // one after the other
  bool fetching_ = false;
};

// `max-age` of a Cache-Control header (RFC 9111 section 5.2.2): 0 for no-store and no-cache, nothing if it
// says nothing, or nothing that can be read.
std::optional<Millis> max_age_of(std::string_view cache_control);

}  // namespace coterie
