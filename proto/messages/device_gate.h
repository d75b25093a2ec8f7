// DeviceGate: the last gate that a device met on its way from a check-in to a sum: one code for each, with one word
// everywhere: in metrics, in what a server says of a round, in what a device says of itself (ADR 147).
//
// A check-in ends at one gate, and metrics count those. A device that asked in a round is at one gate of that attempt:
// at the one furthest on that it came to (scheduler/selection/gate_accounts.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coterie {

enum class DeviceGate : uint8_t {
  // ---- Without a ticket
  waiting,       // it waits, and a ticket may come back
  not_drawn,     // it waited, and others were drawn
  no_place,      // a round collects that would have it, and has no ticket left
  resting,       // rounds.separation_min: it was counted too short a time ago
  unsupported,   // a round collects that would have it, and its plan asks for what the device does not know (ADR 136)
  other_round,   // another round of its population has it
  desk_full,     // DeskLimits::waiters_max
  gone,          // its connection ended before there was an answer
  stopping,      // this server is about to stop
  unremembered,  // of a round: the server remembers as many devices as it does
  no_round,      // of a check-in: no round of its population collects
  replaced,      // of a check-in: by a newer one of the same device
  not_enrolled,  // of a device alone, as the next two: it has no identity at a server yet
  held,          // what it is like, or its day's budget, holds it back; the reason is one of refusal_reason::kHolds
  failed,        // a step failed before a server could judge it; the reason is an error's name
  // ---- With one
  ticket,          // it was drawn, or came while there were tickets left
  ticket_again,    // of a check-in: the ticket that it has already
  joined,          // with an update that its round counts (ADR 114)
  downloaded,      // it has fetched its plan or its model
  plan_refused,    // it has refused its plan, with a reason of refusal_reason
  uploading,       // it has trained: its update has begun to come
  update_refused,  // its update was not taken; the reason is an error's name (ErrorTraits)
  late,            // its update came when the round took no more
  counted,         // its update is in the round
};
inline constexpr size_t kDeviceGates = 24;
// Gates of one device from here on are behind a ticket.
inline constexpr DeviceGate kFirstWithTicket = DeviceGate::ticket;

// Check-ins that ended, by what came of them.
struct CheckinCounts : std::array<uint64_t, kDeviceGates> {};

// In metrics, JSON and text.
std::string_view to_string(DeviceGate gate);
// What a device is told that is sent away; it begins with the name. Empty for those that are not.
std::string_view sentence_of(DeviceGate gate);
// For people, of devices: "waited, and others were drawn"; in at most 48 characters.
std::string_view meaning_of(DeviceGate gate);
// None: there is no gate of this name.
std::optional<DeviceGate> device_gate_from(std::string_view name);

}  // namespace coterie
