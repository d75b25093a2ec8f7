#include "secure/identity/replay_guard.h"

#include <algorithm>
#include <array>

namespace coterie {

size_t ReplayGuard::Hash::operator()(const Entry& entry) const {
  std::array<uint8_t, sizeof entry.device.bytes + sizeof entry.nonce> bytes;
  const auto behind = std::copy(entry.device.bytes.begin(), entry.device.bytes.end(), bytes.begin());
  std::copy(entry.nonce.begin(), entry.nonce.end(), behind);
  return hash(bytes);
}

Status ReplayGuard::admit(const RequestClaims& claims, WallTime now) {
  // A request that arrived at t is valid until t + 2 * skew_max_ at most (a clock ahead by skew_max_); so after that
  // long, the older generation holds nothing that could still be replayed.
  if (now - current_since_ > 2 * skew_max_ || current_.size() >= entries_max_) {
    previous_.swap(current_);
    current_ = Generation(0, current_.hash_function());
    current_since_ = now;
  }
  const Entry entry{claims.device, claims.nonce};
  if (previous_.contains(entry) || !current_.insert(entry).second) {
    return Error(ErrorCode::unauthenticated, "the request's nonce was used before; sign it anew");
  }
  return {};
}

}  // namespace coterie
