// StateKind: what the vector is that a device keeps between the rounds of a job (participant_state.h, StateSlot).
#pragma once

#include <cstdint>
#include <string_view>

namespace coterie {

struct Plan;
struct TrainingSettings;

// A stored state names its kind: no number is given twice. A correction's state has the correction's number
// (drift_correction.h).
enum class StateKind : uint8_t {
  none = 0,
  feddyn = 1,
  scaffold = 2,
  scaffold_gradient = 3,
  personal_part = 16,     // personal_settings.h
  personal_model = 17,    // likewise
  personal_cluster = 18,  // likewise: its number, from 0, as one value
  error_feedback = 128    // what updates have not had room for (top_k.h)
};
std::string_view to_string(StateKind kind);

// What devices keep that train so. A valid training has at most one.
StateKind state_kind(const TrainingSettings& training);
// What devices of the plan keep. A valid plan has at most one.
StateKind state_kind_of(const Plan& plan);
inline bool keeps_state(const Plan& plan) { return state_kind_of(plan) != StateKind::none; }

}  // namespace coterie
