// Idempotency keys (draft-ietf-httpapi-idempotency-key-header): a client that does not know whether its
// request arrived sends it again with the same key, and gets the answer that the first one got; nothing is
// done twice.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "fl_server/records/tenant.h"

namespace coterie {

inline constexpr size_t kIdempotencyKeyCharsMax = 128;
inline constexpr size_t kIdempotencyKeysMax = 10'000;  // that are kept at a time
inline constexpr Millis kIdempotencyKeptFor{24 * 3'600'000};

struct IdempotencyKey {
  Digest name;  // of caller, operation and key: keys of different callers have nothing to do with each other
  Digest body;  // of the request's body
  std::string tenant = std::string(kEveryTenant);  // the caller's
};

// invalid_argument unless the key has 1 to kIdempotencyKeyCharsMax printable ASCII characters.
Result<IdempotencyKey> make_idempotency_key(std::string_view key, std::string_view caller, std::string_view operation,
                                            ByteView body);

// What was answered. Only successes are kept.
struct KeptAnswer {
  uint32_t status = 0;
  std::string location;
  Bytes body;
  friend bool operator==(const KeptAnswer&, const KeptAnswer&) = default;
};

// What the store knows of a key.
struct KeyClaim {
  enum class State : uint8_t {
    claimed,     // nobody had it: carry the request out, then keep_answer or release_key
    answered,    // `answer` is what the first one got
    under_way,   // the first one has not ended, or its server died: nobody knows
    other_body,  // it was of another request
  };
  State state = State::claimed;
  KeptAnswer answer;
};

}  // namespace coterie
