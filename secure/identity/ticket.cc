#include "secure/identity/ticket.h"

#include <cstring>

namespace coterie {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kClaimsBytes = 1 + 8 + 4 + 16 + 8;
constexpr size_t kTicketBytes = kClaimsBytes + 32;
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

}  // namespace

Bytes seal_ticket(const TicketClaims& claims, const MacKey& key) {
  Bytes ticket;
  ticket.reserve(kTicketBytes);
  put<uint8_t>(ticket, kVersion);
  put<uint64_t>(ticket, claims.round.round.value());
  put<uint32_t>(ticket, claims.round.attempt.value());
  ticket.insert(ticket.end(), claims.device.bytes.begin(), claims.device.bytes.end());
  put<int64_t>(ticket, unix_ms(claims.not_after));
  const Digest tag = mac(key, kTicketDomain, ticket);
  ticket.insert(ticket.end(), tag.bytes.begin(), tag.bytes.end());
  return ticket;
}

Result<TicketClaims> open_ticket(ByteView ticket, const MacKey& key, const DeviceId& holder) {
  if (ticket.size() != kTicketBytes || ticket[0] != kVersion) {
    return Error(ErrorCode::malformed, "ticket: not a ticket of this server");
  }
  if (!mac_is_valid(key, kTicketDomain, ticket.first(kClaimsBytes), ticket.subspan(kClaimsBytes))) {
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
