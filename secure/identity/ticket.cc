#include "secure/identity/ticket.h"

#include <cstring>
#include <string>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr uint8_t kVersion = 1;
constexpr uint8_t kVersionOfBuffered = 2;
constexpr size_t kClaimsBytes = 1 + 8 + 4 + 16 + 8;
constexpr size_t kTagBytes = 32;
constexpr size_t kHandedBytesMin = 8 + 32 + 1;
constexpr size_t kJobBytesMax = 64;
// Both are by one key: domains keep a receipt from being shown as a ticket.
constexpr std::string_view kTicketDomain = "coterie ticket 1";
constexpr std::string_view kReceiptDomain = "coterie receipt 1";

template <typename T>
void put(Bytes& bytes, T value) {
  for (size_t i = 0; i < sizeof value; ++i)
    bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i)));
}

template <typename T>
T take(ByteView& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  bytes = bytes.subspan(sizeof(T));
  return static_cast<T>(value);
}

void put_handed(Bytes& ticket, const HandedModel& handed) {
  COT_ASSERT(!handed.job.value().empty() && handed.job.value().size() <= kJobBytesMax);
  put<uint64_t>(ticket, handed.version.value());
  ticket.insert(ticket.end(), handed.model.bytes.begin(), handed.model.bytes.end());
  put<uint8_t>(ticket, static_cast<uint8_t>(handed.job.value().size()));
  ticket.insert(ticket.end(), handed.job.value().begin(), handed.job.value().end());
}

// Precondition: has_form() of the whole ticket.
HandedModel take_handed(ByteView rest) {
  HandedModel handed;
  handed.version = ModelVersion(take<uint64_t>(rest));
  std::memcpy(handed.model.bytes.data(), rest.data(), handed.model.bytes.size());
  rest = rest.subspan(handed.model.bytes.size());
  const size_t job_bytes = take<uint8_t>(rest);
  handed.job = JobId(std::string(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(job_bytes)));
  return handed;
}

// Nothing of it is believed yet.
bool has_form(ByteView ticket) {
  if (ticket.empty()) return false;
  if (ticket[0] == kVersion) return ticket.size() == kClaimsBytes + kTagBytes;
  const size_t bytes_min = kClaimsBytes + kHandedBytesMin + kTagBytes;
  if (ticket[0] != kVersionOfBuffered || ticket.size() < bytes_min) return false;
  const size_t job_bytes = ticket[kClaimsBytes + kHandedBytesMin - 1];
  return job_bytes >= 1 && job_bytes <= kJobBytesMax && ticket.size() == bytes_min + job_bytes;
}

}  // namespace

Bytes seal_ticket(const TicketClaims& claims, const MacKey& key) {
  Bytes ticket;
  ticket.reserve(kClaimsBytes + kHandedBytesMin + kJobBytesMax + kTagBytes);
  put<uint8_t>(ticket, claims.handed ? kVersionOfBuffered : kVersion);
  put<uint64_t>(ticket, claims.round.round.value());
  put<uint32_t>(ticket, claims.round.attempt.value());
  ticket.insert(ticket.end(), claims.device.bytes.begin(), claims.device.bytes.end());
  put<int64_t>(ticket, unix_ms(claims.not_after));
  if (claims.handed) put_handed(ticket, *claims.handed);
  const Digest tag = mac(key, kTicketDomain, ticket);
  ticket.insert(ticket.end(), tag.bytes.begin(), tag.bytes.end());
  return ticket;
}

Result<TicketClaims> open_ticket(ByteView ticket, const MacKey& key, const DeviceId& holder) {
  if (!has_form(ticket)) return Error(ErrorCode::malformed, "ticket: not a ticket of this server");
  const size_t claims_bytes = ticket.size() - kTagBytes;
  if (!mac_is_valid(key, kTicketDomain, ticket.first(claims_bytes), ticket.subspan(claims_bytes))) {
    return Error(ErrorCode::unauthenticated, "ticket: was not made by this server");
  }
  ByteView rest = ticket.subspan(1);
  TicketClaims claims;
  const auto round = take<uint64_t>(rest);
  const auto attempt = take<uint32_t>(rest);
  claims.round = {RoundId(round), Attempt(attempt)};
  std::memcpy(claims.device.bytes.data(), rest.data(), claims.device.bytes.size());
  rest = rest.subspan(claims.device.bytes.size());
  claims.not_after = wall_time_from_unix_ms(take<int64_t>(rest));
  if (ticket[0] == kVersionOfBuffered) claims.handed = take_handed(rest);
  // The request's signature has shown who asks: a ticket that was stolen is of no use to anybody else.
  if (claims.device != holder) return Error(ErrorCode::permission_denied, "ticket: belongs to another device");
  return claims;
}

Digest receipt_for(const RoundKey& round, const DeviceId& device, const MacKey& key) {
  Bytes message;
  put<uint64_t>(message, round.round.value());
  put<uint32_t>(message, round.attempt.value());
  message.insert(message.end(), device.bytes.begin(), device.bytes.end());
  return mac(key, kReceiptDomain, message);
}

}  // namespace coterie
