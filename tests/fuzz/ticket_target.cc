// The last segment of an upload's path: a ticket of ours, or refused. Behind the tag, which no mutation gets
// right: any claims survive sealing, and no changed ticket opens.
#include <algorithm>

#include "base/assert.h"
#include "secure/identity/ticket.h"

namespace {

using namespace coterie;

void check_forgery(ByteView input, const MacKey& key) {
  uint64_t words[4] = {};
  for (size_t i = 0; i < std::min(input.size(), sizeof words); ++i) words[i / 8] |= uint64_t{input[i]} << (8 * (i % 8));
  TicketClaims claims{{RoundId(words[0]), Attempt(static_cast<uint32_t>(words[1]))}, {}, {}};
  claims.device.bytes.fill(static_cast<uint8_t>(words[1] >> 32));
  claims.not_after = wall_time_from_unix_ms(static_cast<int64_t>(words[2]));
  const Bytes ticket = seal_ticket(claims, key);
  const auto opened = open_ticket(ticket, key, claims.device);
  COT_ASSERT(opened && *opened == claims);
  Bytes changed = ticket;
  changed[words[3] % ticket.size()] ^= static_cast<uint8_t>(1 + (words[3] >> 32) % 255);
  COT_ASSERT(!open_ticket(changed, key, claims.device));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  const Bytes ones(32, 1);
  const MacKey key{std::span<const uint8_t, 32>(ones)};
  DeviceId holder;
  holder.bytes.fill(0x55);
  if (const auto ticket = from_base64url(as_text(input))) {
    COT_ASSERT(to_base64url(*ticket) == as_text(input));  // one text a ticket
    const auto claims = open_ticket(*ticket, key, holder);
    if (claims) COT_ASSERT(claims->device == holder && seal_ticket(*claims, key) == *ticket);
  }
  check_forgery(input, key);
  return 0;
}
