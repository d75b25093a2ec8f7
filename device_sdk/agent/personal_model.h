// A job's published model as a device has it: with what it keeps to itself in its place, or the device's own model
// altogether (proto/messages/personal_settings.h); of a job
// with clusters that which it has trained when it was counted last. Nothing is asked of a server.
#pragma once

#include <string>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "proto/messages/participant_state.h"

namespace coterie {

class StateFiles;

// `published`: any version of the job's model. not_found if the device keeps nothing of the job, as no update of it was
// counted yet or too long ago; data_loss: what it keeps is gone, or of another model; invalid_argument: likewise.
Result<Model> personal_model(const StateFiles& files, const ParticipantState& state, const JobId& job,
                             const Model& published);

// The same of a state directory that no client uses. Errors: not_found (there is no such directory), those of
// lock_directory and SessionFiles::load, and those above.
Result<Model> personal_model(const std::string& state_dir, const JobId& job, const Model& published);

}  // namespace coterie
