// Tickets: a device's right to send one update to one attempt of a round. Stateless: the server keeps nothing.
//
//   u8 version (1) | u64 round | u32 attempt | 16 bytes device | i64 not_after (unix ms) | 32 bytes HMAC-SHA256
//
// little-endian, 69 bytes; the tag covers everything before it. Only servers read tickets; all nodes share the key.
// A ticket of buffered rounds (ADR 114) says which model its device was handed, so that a server need not believe what
// the device says of it; what the device joins a later round with has the model from the ticket that it showed:
//
//   u8 version (2) | as above up to not_after | u64 model version | 32 bytes model | u8 length | job | HMAC-SHA256
//
// A ticket ends with its attempt, which the server knows about. Its not_after is for logs: whoever compared it with a
// clock would send a whole cohort's work away after a step of that clock.
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "secure/crypto/mac.h"

namespace coterie {

// What a server has handed to a device.
struct HandedModel {
  JobId job;
  ModelVersion version;
  Digest model;
  friend bool operator==(const HandedModel&, const HandedModel&) = default;
};

struct TicketClaims {
  RoundKey round;
  DeviceId device;
  WallTime not_after;
  std::optional<HandedModel> handed = {};  // of buffered rounds
  friend bool operator==(const TicketClaims&, const TicketClaims&) = default;
};

Bytes seal_ticket(const TicketClaims& claims, const MacKey& key);

// Checks, in this order: form, tag (unauthenticated), holder (permission_denied).
Result<TicketClaims> open_ticket(ByteView ticket, const MacKey& key, const DeviceId& holder);

// What an accepted device gets: deterministic, so that every duplicate gets the same.
Digest receipt_for(const RoundKey& round, const DeviceId& device, const MacKey& key);

}  // namespace coterie
