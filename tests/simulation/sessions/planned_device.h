// PlannedDevice: the real participant machine of a device that is offered plans. It may be killed between two steps.
#pragma once

#include <memory>

#include "device_sdk/client/participant_machine.h"
#include "tests/simulation/sessions/session_options.h"

namespace coterie::simulation {

class PlannedDevice {
 public:
  // Enrolled with the server of that key.
  PlannedDevice(PrivacyPolicy policy, SessionMutant mutant, uint64_t seed, const Bytes& server_key);

  const PrivacyPolicy& policy() const { return policy_; }
  bool is_idle() const { return machine_->state().phase == ParticipantPhase::idle; }
  // Assigned, trained and about to give its update, or about to advertise; false: it refuses.
  bool takes_part(const Assignment& assignment, const Bytes& plan, WallTime now);
  // Before its shares leave.
  void opens(WallTime now);
  // The session ends for it: with its part done, or for a reason of the server's.
  void ends(bool is_done, WallTime now);
  // Between two lives nothing survives but the encoded state.
  void restart();

 private:
  void tell(const ParticipantEvent& event, WallTime now);

  PrivacyPolicy policy_;
  SessionMutant mutant_;
  ParticipantPolicy machine_policy_;
  std::unique_ptr<ParticipantMachine> machine_;
  bool has_opened_ = false;  // of one that counts afterwards: untold
};

}  // namespace coterie::simulation
