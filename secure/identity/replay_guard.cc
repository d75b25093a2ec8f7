#include "secure/identity/replay_guard.h"

#include <cstring>

namespace coterie {

size_t ReplayGuard::Hash::operator()(const Entry& entry) const {
  size_t value;
  std::memcpy(&value, entry.nonce.data(), sizeof value);  // chosen by the device; mixed with its id, a digest
  return value ^ std::hash<DeviceId>{}(entry.device);
}

Status ReplayGuard::admit(const RequestClaims& claims, WallTime now) {
  // A request that arrived at t is valid until t + 2 * skew_max_ at most (a clock ahead by skew_max_); so after that
  // long, the older generation holds nothing that could still be replayed.
  if (now - current_since_ > 2 * skew_max_ || current_.size() >= entries_max_) {
    previous_ = std::move(current_);
    current_ = {};
    current_since_ = now;
  }
  const Entry entry{claims.device, claims.nonce};
  if (previous_.contains(entry) || !current_.insert(entry).second) {
    return Error(ErrorCode::unauthenticated, "the request's nonce was used before; sign it anew");
  }
  return {};
}

}  // namespace coterie
