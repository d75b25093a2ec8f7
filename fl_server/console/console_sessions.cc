#include "fl_server/console/console_sessions.h"

#include <algorithm>

#include "secure/crypto/random.h"
#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

constexpr std::string_view kDomain = "coterie/v1/console-csrf";
constexpr size_t kSecretBytes = ConsoleSessions::kSecretHexChars / 2;

}  // namespace

ConsoleSessions::ConsoleSessions() { fill_random(key_.mutable_bytes()); }

bool ConsoleSessions::is_over(const Session& session, Now now) {
  return !*session.stands || now.instant >= session.ends || now.instant >= session.used + kIdleMax ||
         now.wall >= session.caller.expires;
}

Result<std::string> ConsoleSessions::open(const AdminCaller& caller, std::shared_ptr<const std::atomic<bool>> stands,
                                          Now now) {
  const std::string secret = to_hex(random_bytes(kSecretBytes));
  Session session{caller, std::move(stands), now.instant, now.instant + kLifeMax};
  session.caller.expires = std::min(caller.expires, now.wall + kLifeMax);
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [&](const auto& entry) { return is_over(entry.second, now); });
  size_t of_token = 0;
  auto idlest = sessions_.end();
  for (auto each = sessions_.begin(); each != sessions_.end(); ++each) {
    if (each->second.caller.id != caller.id) continue;
    ++of_token;
    if (idlest == sessions_.end() || each->second.used < idlest->second.used) idlest = each;
  }
  if (of_token >= kSessionsOfTokenMax) sessions_.erase(idlest);
  if (sessions_.size() >= kSessionsMax) {
    return Error(ErrorCode::rate_limited, "there are " + std::to_string(kSessionsMax) +
                                              " sessions of the console, the most there may be; try again later");
  }
  sessions_.emplace(sha256(as_bytes(secret)), std::move(session));
  return secret;
}

std::optional<AdminCaller> ConsoleSessions::find(std::string_view secret, Now now) {
  if (secret.size() != kSecretHexChars) return std::nullopt;
  const Digest name = sha256(as_bytes(secret));
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(name);
  if (found == sessions_.end()) return std::nullopt;
  if (is_over(found->second, now)) {
    sessions_.erase(found);
    return std::nullopt;
  }
  found->second.used = now.instant;
  return found->second.caller;
}

void ConsoleSessions::close(std::string_view secret) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(sha256(as_bytes(secret)));
}

std::string ConsoleSessions::csrf_token(std::string_view secret) const {
  return mac(key_, kDomain, as_bytes(secret)).hex();
}

bool ConsoleSessions::is_csrf_token(std::string_view secret, std::string_view shown) const {
  return equal_in_constant_time(as_bytes(csrf_token(secret)), as_bytes(shown));
}

size_t ConsoleSessions::size() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace coterie
