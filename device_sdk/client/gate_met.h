// What a step of the participant machine says of the way of its device to a round. Pure.
#pragma once

#include <optional>

#include "device_sdk/client/participant_machine.h"

namespace coterie {

struct MetGate;

// What the device has met (met_gate.h) by a step of its machine with this event, which led from the attempt `before`
// (zeros: from none) to `after`. None: nothing new. `error`: the machine's last.
std::optional<MetGate> gate_met(const ParticipantEvent& event, const RoundKey& before, const ParticipantState& after,
                                const std::optional<Error>& error, WallTime now);

}  // namespace coterie
