#include "tests/simulation/sessions/planned_device.h"

#include "proto/codec/codec.h"

namespace coterie::simulation {
namespace {

// What the device of a broken variant judges by.
PrivacyPolicy broken(PrivacyPolicy policy, SessionMutant mutant) {
  switch (mutant) {
    case SessionMutant::takes_any_level: policy.security_level_min = SecurityLevel::none; break;
    case SessionMutant::takes_any_share: policy.corrupt_share_min = 0; break;
    case SessionMutant::takes_any_attempt: policy.attempts_max = UINT32_MAX; break;
    case SessionMutant::opens_again: policy.openings_max = UINT32_MAX; break;
    default: break;
  }
  return policy;
}

}  // namespace

PlannedDevice::PlannedDevice(PrivacyPolicy policy, SessionMutant mutant, uint64_t seed, const Bytes& server_key)
    : policy_(policy), mutant_(mutant) {
  machine_policy_.privacy = broken(policy, mutant);
  machine_policy_.backoff_first = machine_policy_.backoff_max = machine_policy_.refusal_pause = Millis(0);
  ParticipantState fresh;
  fresh.random = Prng(seed).state();
  machine_ = std::make_unique<ParticipantMachine>(machine_policy_, std::move(fresh));
  tell(EnrollAnswered{EnrollReply{DeviceId{{1}}, Population("default"), server_key}}, WallTime());
}

void PlannedDevice::tell(const ParticipantEvent& event, WallTime now) { machine_->step(event, now); }

bool PlannedDevice::takes_part(const Assignment& assignment, const Bytes& plan, WallTime now) {
  tell(CheckInAnswered{assignment}, now);
  tell(PlanFetched{plan}, now);
  tell(ModelFetched{assignment.model}, now);
  tell(TrainingEnded{{}}, now);
  return !is_idle();
}

void PlannedDevice::opens(WallTime now) {
  has_opened_ = true;
  if (mutant_ != SessionMutant::counts_afterwards) tell(AggregationAnswered{AggregationStep::opens}, now);
}

void PlannedDevice::ends(bool is_done, WallTime now) {
  const bool opened = std::exchange(has_opened_, false);
  if (machine_->state().phase == ParticipantPhase::trained) {
    if (is_done) return tell(UploadAnswered{Receipt{}}, now);
    return tell(UploadAnswered{Failure{Error(ErrorCode::round_closed, "closed"), {}}}, now);
  }
  if (is_done && opened && mutant_ == SessionMutant::counts_afterwards) {
    tell(AggregationAnswered{AggregationStep::opens}, now);
  }
  if (is_done) return tell(AggregationAnswered{AggregationStep::done}, now);
  tell(AggregationAnswered{Failure{Error(ErrorCode::round_closed, "closed"), {}}}, now);
}

void PlannedDevice::restart() {
  Result<ParticipantState> state = decode_participant_state(encode(machine_->state()));
  COT_ASSERT(state.has_value());
  if (mutant_ == SessionMutant::forgets_level) state->levels.clear();
  machine_ = std::make_unique<ParticipantMachine>(machine_policy_, std::move(*state));
}

}  // namespace coterie::simulation
