// CheckinOutcome: what came of a check-in, one code for each. Every device that asked has one: CheckinDesk counts them,
// and their sum with those who still wait is how many asked (CheckinDesk::check).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coterie {

enum class CheckinOutcome : uint8_t {
  ticket,        // it was drawn, or came while there were tickets left
  ticket_again,  // the ticket that it has already
  joined,        // with an update that its round counts (ADR 114)
  not_drawn,     // it waited, and others were drawn
  no_place,      // a round collects that would have it, and has no ticket left
  resting,       // rounds.separation_min: it was counted too short a time ago
  counted,       // its update is in the round already
  no_round,      // no round of its population collects
  desk_full,     // DeskLimits::waiters_max
  replaced,      // by a newer check-in of the same device
  gone,          // its connection ended before there was an answer
  stopping,      // this server is about to stop
  unsupported,   // a round collects that would have it, and its plan asks for what the device does not know (ADR 136)
};
inline constexpr size_t kCheckinOutcomes = 13;
using CheckinCounts = std::array<uint64_t, kCheckinOutcomes>;

// As metrics have it; whoever is sent away is told the sentence.
std::string_view to_string(CheckinOutcome outcome);
std::string_view sentence_of(CheckinOutcome outcome);

}  // namespace coterie
