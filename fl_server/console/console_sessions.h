// ConsoleSessions: who has signed in to the console, by the secret of a cookie. Thread-safe; in memory alone.
//
// A secret is 256 random bits, and only its digest is kept. A session belongs to the token that it was opened with: it
// ends with the token, when it has been idle for kIdleMax, kLifeMax after it was opened, and with the process.
// What changes something has to show the session's CSRF token besides, which a page of another origin cannot read. It
// is a MAC of the secret under a key of this process, so that nothing of it is kept either.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "fl_server/records/admin_token.h"
#include "secure/crypto/mac.h"

namespace coterie {

class ConsoleSessions {
 public:
  static constexpr Millis kIdleMax{30 * 60'000};
  static constexpr Millis kLifeMax{12 * 3'600'000};
  static constexpr size_t kSessionsMax = 1024;
  static constexpr size_t kSessionsOfTokenMax = 16;
  static constexpr size_t kSecretHexChars = 64;

  ConsoleSessions();

  // A new session's secret. Beyond kSessionsOfTokenMax the token's session that was idle for longest ends; rate_limited
  // beyond kSessionsMax. `stands`: false from when the token ends (AdminAuthenticator::watch).
  Result<std::string> open(const AdminCaller& caller, std::shared_ptr<const std::atomic<bool>> stands, Now now);

  // The session's caller, whose end is the session's; it has been used now. None: there is no such session.
  std::optional<AdminCaller> find(std::string_view secret, Now now);

  void close(std::string_view secret);

  std::string csrf_token(std::string_view secret) const;
  // Compares in constant time.
  bool is_csrf_token(std::string_view secret, std::string_view shown) const;

  size_t size() const;

 private:
  struct Session {
    AdminCaller caller;  // expires: the session's end
    std::shared_ptr<const std::atomic<bool>> stands;
    Instant used;
    Instant ends;
  };
  static bool is_over(const Session& session, Now now);

  MacKey key_;  // fresh in each process
  mutable std::mutex mutex_;
  std::map<Digest, Session> sessions_;  // by the digest of the secret
};

}  // namespace coterie
