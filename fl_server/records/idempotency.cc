#include "fl_server/records/idempotency.h"

#include <algorithm>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"

namespace coterie {

Result<IdempotencyKey> make_idempotency_key(std::string_view key, std::string_view caller, std::string_view operation,
                                            ByteView body) {
  const bool printable = std::ranges::all_of(key, [](char c) { return c > ' ' && c <= '~'; });
  if (key.empty() || key.size() > kIdempotencyKeyCharsMax || !printable) {
    return Error(ErrorCode::invalid_argument, "Idempotency-Key must have 1 to " +
                                                  std::to_string(kIdempotencyKeyCharsMax) +
                                                  " printable ASCII characters without blanks");
  }
  DomainFields fields("coterie/v1/idempotency");
  fields.add(caller).add(operation).add(key);
  return IdempotencyKey{.name = sha256(fields.view()), .body = sha256(body)};
}

}  // namespace coterie
