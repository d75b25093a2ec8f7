// The keys of a server that a device believes, and what they say of each other (secure/identity/signing_keys.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"

namespace coterie {

// Signed by the key before: which one comes after it.
struct KeyStatement {
  Bytes before;
  Bytes after;
  WallTime before_until{};
  Bytes signature;
  friend bool operator==(const KeyStatement&, const KeyStatement&) = default;
};

// A key that has a successor.
struct RetiringKey {
  Bytes key;
  WallTime until{};  // server time; believed so long
  friend bool operator==(const RetiringKey&, const RetiringKey&) = default;
};

inline constexpr size_t kRetiringKeysMax = 8;

struct PinnedKeys {
  Bytes newest;                            // Ed25519: from enrollment, or the last that a pinned key named; empty: none
  std::vector<RetiringKey> retiring = {};  // those before it, the oldest first, also such as are over
  friend bool operator==(const PinnedKeys&, const PinnedKeys&) = default;
};

}  // namespace coterie
