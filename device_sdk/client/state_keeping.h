// Which state of a job a device trains from, and when the next one takes its place (participant_state.h, KeptState).
//
//   training ends                      the new state is staged
//   the update is counted              it is kept, and the one before it stays beside it
//   the update is lost or refused      it is dropped; the one before goes on as if nothing had been trained
//   a newer model of the job comes     the attempt that counted the update was a success: the one before it goes
//   the same model comes again         that attempt was lost with its receipts: the one before it is taken back
//
// So a state has the device's counted updates in it and no others: what the server holds of all devices' states (the
// sum of their counted changes) stays what they hold. What is left open: a receipt that never arrived, and an attempt
// that was lost and made again without this device.
//
// Functions on the participant's state alone; the machine calls them, and the shell saves what they change.
#pragma once

#include <optional>

#include "proto/messages/participant_state.h"
#include "proto/messages/plan.h"

namespace coterie {

// What a training by this plan goes on from; none: from zeros or, of what is personal, from the model.
std::optional<StateSlot> state_to_train_from(const Plan& plan, const ParticipantState& state);

// Where the state comes from that a training of this plan makes, which went on from `before`; without content yet.
// Precondition: keeps_state(plan).
StateSlot staged_slot(const Plan& plan, const Assignment& assignment, const std::optional<StateSlot>& before);

// Training has ended with a state of this content. Precondition: keeps_state(plan).
void stage_state(const Plan& plan, const Assignment& assignment, const Digest& content, ParticipantState& state);

// The update that was trained by this plan was counted: keeps what was staged, if something was. Beyond kStatesKeptMax
// jobs the one whose last update was counted longest ago is forgotten.
void commit_state(const Plan& plan, WallTime now, ParticipantState& state);

// The server assigns a model of a job that has a state: it shows what became of the last attempt.
void settle_state(const Assignment& assignment, ParticipantState& state);

// Forgets states of jobs that have counted no update for kStateUnusedMax.
void expire_states(WallTime now, ParticipantState& state);

}  // namespace coterie
