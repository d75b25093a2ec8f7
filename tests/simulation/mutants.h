// Mutants: one guarantee broken on purpose, which the oracle must notice. All but the store's and two of the node's
// shell are defects of machines that ship: what a machine is told, or what it says, is altered on its way.
#pragma once

#include <functional>
#include <optional>

#include "device_sdk/client/participant_machine.h"
#include "fl_server/core/ingest_machine.h"
#include "fl_server/core/live_attempts.h"
#include "scheduler/fleet/lead_machine.h"
#include "scheduler/fleet/member_machine.h"
#include "tests/simulation/options.h"

namespace coterie::simulation {

void alter(Mutant mutant, IngestEvent& event);
// `receipt_of`: what accepts an upload; none: it is gone.
void alter(Mutant mutant, const IngestEvent& event, IngestEffects& effects,
           const std::function<std::optional<AcceptUpload>(UploadId)>& receipt_of);
void alter(Mutant mutant, MemberEffects& effects);
void alter(Mutant mutant, LeadEvent& event);
void alter(Mutant mutant, LeadEffects& effects);
void alter(Mutant mutant, LiveEvent& event);
void alter(Mutant mutant, LiveEffects& effects);
void alter(Mutant mutant, ParticipantEvent& event);
// What a broken device goes on with behind the event; nothing: as it is.
std::optional<ParticipantState> altered(Mutant mutant, const ParticipantEvent& event, const ParticipantState& after,
                                        WallTime now);

}  // namespace coterie::simulation
