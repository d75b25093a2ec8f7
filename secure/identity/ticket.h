// Tickets: a device's right to send one update to one attempt of a round. Stateless: the server keeps nothing.
//
//   u8 version (1) | u64 round | u32 attempt | 16 bytes device | i64 not_after (unix ms) | 32 bytes HMAC-SHA256
//
// little-endian, 69 bytes; the tag covers everything before it. Only servers read tickets; all nodes share the key.
//
// A ticket ends with its attempt, which the server knows about. Its not_after is for logs: whoever compared it with a
// clock would send a whole cohort's work away after a step of that clock.
#pragma once

#include "base/ids.h"
#include "base/time.h"
#include "secure/crypto/mac.h"

namespace coterie {

struct TicketClaims {
  RoundKey round;
  DeviceId device;
  WallTime not_after;
  friend bool operator==(const TicketClaims&, const TicketClaims&) = default;
};

Bytes seal_ticket(const TicketClaims& claims, const MacKey& key);

// Checks, in this order: form, tag (unauthenticated), holder (permission_denied).
Result<TicketClaims> open_ticket(ByteView ticket, const MacKey& key, const DeviceId& holder);

// What an accepted device gets: deterministic, so that every duplicate gets the same.
Digest receipt_for(const RoundKey& round, const DeviceId& device, const MacKey& key);

}  // namespace coterie
