// The coordinator's cohorts: a session of secure aggregation for each attempt of a round that asks for one.
//
// A session lives in this process: a server that is started anew while devices aggregate cannot take their masks off, so
// that the attempt is lost and the round is tried again, with fresh keys.
#include <algorithm>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/runtime/coordinator.h"
#include "secure/crypto/random.h"
#include "secure/secagg/check_lanes.h"
#include "secure/secagg/round_session.h"

namespace coterie {
namespace {

Error no_session() { return Error(ErrorCode::round_closed, "secure aggregation: this attempt takes no more part; check in again"); }

secagg::SessionParameters session_of(const RoundView& view) {
  const Plan plan{.job = view.job, .training = {}, .update = view.update, .privacy = view.privacy};
  return secagg::session_parameters(plan, view.job, view.key, view.model, view.plan);
}

// Of the time that a round collects: what sharing and masking leave, at least half.
Millis time_to_advertise(Instant::duration left, Millis phase_max) {
  const auto all = std::chrono::duration_cast<Millis>(left);
  return std::max(all / 2, all - 2 * phase_max);
}

}  // namespace

uint64_t Coordinator::lane_count_of(const RoundView& view) {
  return view.privacy.level == SecurityLevel::none ? view.update.value_count : secagg::masked_lane_count(session_of(view));
}

void Coordinator::begin_cohort(const RoundView& view, bool has_accepted) {
  if (view.privacy.level == SecurityLevel::none || cohorts_.contains(view.key)) return;
  if (has_accepted) {
    // Out of this call, which publishes what the machine has just said.
    core_.post([this, job = view.job, key = view.key] {
      step_round(job, AttemptLost{key, "the server was started anew while devices aggregated"});
    });
    return;
  }
  const secagg::SessionParameters parameters = session_of(view);
  const CohortSettings settings{.adverts_goal = view.adverts_goal,
                                .adverts_enough = std::min(view.goal_count, view.adverts_goal),
                                .advertising_max = time_to_advertise(view.deadline - os::monotonic_now(), view.cohort_phase_max),
                                .phase_max = view.cohort_phase_max,
                                .dropout_share = view.privacy.dropout_share};
  // Which identities there are is this server's own to say: it enrolled them. Devices ask their authority.
  Result<CohortMachine> machine = CohortMachine::make(
      parameters, settings, random_u64(), [](const DeviceIdentity&) { return true; }, os::monotonic_now());
  if (!machine) {
    log(LogLevel::error, "cohort_not_begun", {{"job", view.job.value()}, {"reason", machine.error().message()}});
    core_.post([this, job = view.job, key = view.key, reason = machine.error().message()] {
      step_round(job, AttemptLost{key, reason});
    });
    return;
  }
  cohorts_.emplace(view.key, std::make_shared<LiveCohort>(
                                 LiveCohort{.machine = std::move(*machine), .parameters = parameters, .inputs = {}, .finalize = {}}));
}

// The lanes of this device are durable, and count.
void Coordinator::cohort_accepted(const RoundKey& key, const DeviceId& device) {
  const auto cohort = cohorts_.find(key);
  if (cohort == cohorts_.end()) return;
  const auto input = cohort->second->inputs.find(device);
  if (input == cohort->second->inputs.end()) return;
  // What it refuses now it would have refused before the lanes were added; if not, freeze() finds the sum unknown.
  const Status known = cohort->second->machine.input_accepted(device, input->second, os::monotonic_now());
  if (!known) log(LogLevel::warning, "masked_input_unknown", {{"reason", known.error().message()}});
  after_cohort(key);
}

// Whatever the cohort has come to: tells the round.
void Coordinator::after_cohort(const RoundKey& key) {
  const auto found = cohorts_.find(key);
  if (found == cohorts_.end()) return;
  const std::shared_ptr<LiveCohort> cohort = found->second;
  const auto round = rounds_.find(key);
  if (round == rounds_.end()) return;
  const JobId job = round->second.view.job;
  answer_held(*cohort);
  if (const auto& failure = cohort->machine.failure()) {
    if (round->second.view.state == RoundState::frozen) return;  // it is being claimed: finalize_cohort() comes here again
    parts_.metrics.session_failed(failure->reason());
    end_cohort(key);
    return step_round(job, AttemptLost{key, "secure aggregation: " + failure->message()});
  }
  if (const auto due = cohort->machine.inputs_due(); due && due != cohort->told_due) {
    cohort->told_due = due;
    step_ingest(UpdatesDue{key, *due});
  }
  if (cohort->machine.updates_expected() && !cohort->told_expected) {
    cohort->told_expected = true;
    step_round(job, UpdatesExpected{key, *cohort->machine.updates_expected()});
  }
  if (cohort->machine.is_ready() && cohort->finalize) {
    count_dropped(cohort->machine.session());
    const LiveCohort::Finalize asked = *std::exchange(cohort->finalize, std::nullopt);
    finalize(asked.job, asked.serial, asked.request, cohort);
  }
}

// Answers come when a phase begins: until then only those are looked at whose time is up.
void Coordinator::answer_held(LiveCohort& cohort) {
  const Instant now = os::monotonic_now();
  const CohortMachine::Phase phase = cohort.machine.session().phase();
  const bool all = draining_ || cohort.machine.failure() || phase != cohort.held_in;
  cohort.held_in = phase;
  std::vector<LiveCohort::Question> held = std::exchange(cohort.held, {});
  for (LiveCohort::Question& question : held) {
    if (!all && now < question.until) {
      cohort.held.push_back(std::move(question));
      continue;
    }
    Result<CohortReply> reply = cohort.machine.ask(question.device, question.what, now);
    const bool is_not_yet = reply && std::holds_alternative<NotYet>(*reply);
    if (is_not_yet && now < question.until && !draining_) cohort.held.push_back(std::move(question));
    else question.answer(std::move(reply));
  }
  if (cohort.machine.session().phase() != phase) answer_held(cohort);  // asking may have ended one whose time was up
}

void Coordinator::end_cohort(const RoundKey& key) {
  const auto found = cohorts_.find(key);
  if (found == cohorts_.end()) return;
  const std::vector<LiveCohort::Question> held = std::move(found->second->held);
  cohorts_.erase(found);
  for (const LiveCohort::Question& question : held) question.answer(no_session());
}

// Of a session that is ready: who vanished in which phase.
void Coordinator::count_dropped(const secagg::Server& session) const {
  uint32_t present = 0;
  for (uint32_t device = 0; device < session.size(); ++device) present += session.is_present(device);
  const auto survivors = static_cast<uint32_t>(session.survivors().size());
  parts_.metrics.devices_dropped("share", session.size() - present);
  parts_.metrics.devices_dropped("mask", present - survivors);
  parts_.metrics.devices_dropped("unmask", survivors - session.answered());
}

// The round is frozen in the store: those who are accepted are the survivors. Devices can go on while the round is claimed.
void Coordinator::freeze_cohort(const RoundKey& key) {
  if (!cohorts_.contains(key)) return;
  store_.post([this, key] {
    Result<std::vector<DeviceId>> accepted = parts_.rounds.list_accepted(key);
    core_.post([this, key, accepted = std::move(accepted)] {
      const auto cohort = cohorts_.find(key);
      if (!accepted || cohort == cohorts_.end()) return;  // finalize_cohort() asks again
      cohort->second->machine.freeze(*accepted, os::monotonic_now());
      after_cohort(key);
    });
  });
}

void Coordinator::finalize_cohort(const JobId& job, uint64_t serial, const FinalizeRound& finalize) {
  store_.post([this, job, serial, finalize] {
    Result<std::vector<DeviceId>> accepted = parts_.rounds.list_accepted(finalize.round.key);
    core_.post([this, job, serial, finalize, accepted = std::move(accepted)] {
      if (!accepted) return step_round(job, RoundFinalized{serial, accepted.error()});
      const auto cohort = cohorts_.find(finalize.round.key);
      if (cohort == cohorts_.end()) {
        return step_round(job, AttemptLost{finalize.round.key, "the server was started anew while devices aggregated"});
      }
      cohort->second->finalize = LiveCohort::Finalize{job, serial, finalize};
      cohort->second->machine.freeze(*accepted, os::monotonic_now());
      after_cohort(finalize.round.key);
    });
  });
}

// ---- Device plane

void Coordinator::cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key, CohortMessage message,
                                 std::function<void(Status)> answer) {
  core_.post([this, key, device, public_key = std::move(public_key), message = std::move(message),
              answer = std::move(answer)] {
    const auto cohort = cohorts_.find(key);
    if (cohort == cohorts_.end()) return answer(no_session());
    answer(cohort->second->machine.receive(device, public_key, message, os::monotonic_now()));
    after_cohort(key);
  });
}

void Coordinator::cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                             std::function<void(Result<CohortReply>)> answer) {
  core_.post([this, key, device, question, hold, answer = std::move(answer)]() mutable {
    const auto found = cohorts_.find(key);
    if (found == cohorts_.end()) return answer(no_session());
    LiveCohort& cohort = *found->second;
    const Instant now = os::monotonic_now();
    Result<CohortReply> reply = cohort.machine.ask(device, question, now);
    const bool is_not_yet = reply && std::holds_alternative<NotYet>(*reply);
    if (is_not_yet && !draining_) cohort.held.push_back({device, question, now + hold, std::move(answer)});
    else answer(std::move(reply));
    after_cohort(key);  // asking may have ended a phase
  });
}

void Coordinator::cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                                     std::function<void(Status)> answer) {
  core_.post([this, key, device, input = std::move(input), answer = std::move(answer)] {
    const auto cohort = cohorts_.find(key);
    if (cohort == cohorts_.end()) return answer(no_session());
    answer(cohort->second->machine.input_arrived(device, input, os::monotonic_now()));
    after_cohort(key);
  });
}

}  // namespace coterie
