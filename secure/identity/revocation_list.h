// RevocationList: the certificates that an authority has taken its word back about, and that have not ended yet. The
// server hands it out; it cannot make one, change one, or pass an old one for the newest to a device that saw a newer.
//
// Bytes: the fields (secure/crypto/domain_fields.h)
//
//   "coterie/v1/revocations" | issuer, 32 bytes | number | issued_at | next_update | serials, 8 bytes each, ascending
//
// and, as one more field, the authority's Ed25519 signature of them. Times are whole seconds since 1970 UTC. ADR 79.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "secure/crypto/signature.h"

namespace coterie {

inline constexpr size_t kRevokedMax = 100'000;
inline constexpr size_t kRevocationListBytesMax = 1ull << 20;
// From issued_at to next_update, at most: so long may a server hide what was revoked since.
inline constexpr std::chrono::days kRevocationListValidityMax{31};

struct RevocationList {
  Digest issuer;                  // authority_id (device_certificate.h)
  uint64_t number = 0;            // from 1 on; of two lists the one with the higher number is in force
  WallTime issued_at;             // whole seconds
  WallTime next_update;           // the authority makes another one before that
  std::vector<uint64_t> serials;  // ascending, each once

  bool names(uint64_t serial) const;
  friend bool operator==(const RevocationList&, const RevocationList&) = default;
};

// `list.issuer` is filled in. invalid_argument: the authority's key is not Ed25519, or the list is out of range.
Result<Bytes> make_revocation_list(RevocationList list, const Signer& authority);

// too_large, malformed; unauthenticated: not by this authority.
Result<RevocationList> read_revocation_list(ByteView bytes, ByteView authority_key);

}  // namespace coterie
