// Openings: how often this device gave what opens a sum with its update of one model, over all jobs of a server.
//
// Two sums of one model that differ by one device are that device's update. A device counts at the step at which it
// gives its shares, not when its masked update leaves: where each honest device opens one sum of a model, every
// combination of opened sums contains the updates of all honest devices that opened the first of them, with one factor.
// Those are at least a session's threshold, less its corrupt devices. A session that ends before is given nothing, and
// costs nothing (ADR 60).
//
// Below level active a server that lies can read an update that has left. It counts as one opening for the model's
// sums of level active and above, once. At level none there is no sum, and nothing to count but that; but whoever is
// in an opened sum does not hand out the update of the same model.
//
// Plans with analytics count by the column that they ask for, and not by their model (opening_key.h).
#pragma once

#include "device_sdk/client/privacy_policy.h"

namespace coterie {

// Whether one more opening, or at level none an update, is within the policy. refused, for openings.
Status check_openings(const PrivacyPolicy& policy, const Plan& plan, const Assignment& assignment,
                      const ParticipantState& state);

// Counts one. To be durable before what opens a sum can leave. Beyond kOpeningsRememberedMax models the one whose
// newest opening is oldest is forgotten.
void count_opening(const Plan& plan, const Assignment& assignment, ParticipantState& state);

// Notes an update that is about to leave; below level active it may be known from then on. To be durable by then.
void note_told(const Plan& plan, const Assignment& assignment, ParticipantState& state);

}  // namespace coterie
