// The scheduler's cohorts: sessions of secure aggregation for each attempt of a round that asks for them.
//
// Sessions live in this process: a server that is started anew while devices aggregate cannot take their masks off, so
// that the attempt is lost and the round is tried again, with fresh keys.
#include <algorithm>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/core/attempt_terms.h"
#include "fl_server/runtime/round_scheduler.h"
#include "secure/crypto/random.h"
#include "secure/identity/device_certificate.h"

namespace coterie {
namespace {

Error no_session() {
  return Error(ErrorCode::round_closed, "secure aggregation: this attempt takes no more part; check in again");
}

Error another_input() {
  return Error(ErrorCode::invalid_argument,
               "masked update: another one of this device, with another header, came before");
}

// Of the time that a round collects: what sharing and masking leave, at least half.
Millis time_to_advertise(Instant::duration left, Millis phase_max) {
  const auto all = std::chrono::duration_cast<Millis>(left);
  return std::max(all / 2, all - 2 * phase_max);
}

// Not for safety, as devices ask their authority themselves: for the others of a cohort, whom a stranger would end it
// for.
secagg::CertificateCheck identity_check(const Bytes& authority_key) {
  if (authority_key.empty()) return [](const DeviceIdentity&) { return true; };
  return
      [authority_key](const DeviceIdentity& identity) { return device_certificate_is_valid(identity, authority_key); };
}

}  // namespace

void RoundScheduler::begin_cohorts(const LiveRound& round, bool has_accepted) {
  const RoundNotice& notice = round.notice;
  const AttemptTerms terms = terms_of(notice);
  if (!terms.session || cohorts_.contains(notice.key)) return;
  if (has_accepted) {
    // Out of this call, which publishes what the machine has just said.
    core_.post([this, job = notice.job, key = notice.key] {
      step_round(job, AttemptLost{key, "the server was started anew while devices aggregated"});
    });
    return;
  }
  const AttemptRules& rules = round.rules;
  const RoundCohortsSettings settings{
      .cohort_count = rules.cohort_count,
      .adverts_goal = rules.adverts_goal,
      .adverts_enough = std::min(notice.goal_count, rules.adverts_goal),
      .cohort = {.advertising_max = time_to_advertise(rules.deadline - os::monotonic_now(), rules.cohort_phase_max),
                 .phase_max = rules.cohort_phase_max,
                 .dropout_share = notice.plan.privacy.dropout_share}};
  std::vector<uint64_t> ring_seeds(rules.cohort_count);
  std::ranges::generate(ring_seeds, random_u64);
  Result<RoundCohorts> machine = RoundCohorts::make(*terms.session, settings, ring_seeds,
                                                    identity_check(settings_.authority_key), os::monotonic_now());
  if (!machine) {
    log(LogLevel::error, "cohorts_not_begun", {{"job", notice.job.value()}, {"reason", machine.error().message()}});
    core_.post([this, job = notice.job, key = notice.key, reason = machine.error().message()] {
      step_round(job, AttemptLost{key, reason});
    });
    return;
  }
  cohorts_.emplace(notice.key,
                   std::make_shared<LiveCohorts>(LiveCohorts{
                       .machine = std::move(*machine), .parameters = *terms.session, .inputs = {}, .finalize = {}}));
}

// The lanes of this device are durable, and count.
void RoundScheduler::masked_update_accepted(const RoundKey& key, const DeviceId& device) {
  const auto cohorts = cohorts_.find(key);
  if (cohorts == cohorts_.end()) return;
  const auto input = cohorts->second->inputs.find(device);
  if (input == cohorts->second->inputs.end() || !cohorts->second->accepted.insert(device).second) return;
  // What it refuses now it would have refused before the lanes were added; if not, freeze() finds the sum unknown.
  const Status known = cohorts->second->machine.input_accepted(device, input->second, os::monotonic_now());
  if (!known) log(LogLevel::warning, "masked_input_unknown", {{"reason", known.error().message()}});
  after_cohorts(key);
}

// Whatever the cohorts have come to: tells the round.
void RoundScheduler::after_cohorts(const RoundKey& key) {
  const auto found = cohorts_.find(key);
  if (found == cohorts_.end()) return;
  const std::shared_ptr<LiveCohorts> cohorts = found->second;
  const auto round = rounds_.find(key);
  if (round == rounds_.end()) return;
  const JobId job = round->second.notice.job;
  answer_held(*cohorts);
  if (const auto failure = cohorts->machine.failure()) {
    if (round->second.notice.state == RoundState::frozen)
      return;  // it is being claimed: finalize_cohorts() comes here again
    parts_.metrics.session_failed(failure->reason());
    end_cohorts(key);
    return step_round(job, AttemptLost{key, "secure aggregation: " + failure->message()});
  }
  if (const auto due = cohorts->machine.inputs_due(); due && due != cohorts->told_due) {
    cohorts->told_due = due;
    board_->updates_due(key, *due);
  }
  if (const auto expected = cohorts->machine.updates_expected(); expected && !cohorts->told_expected) {
    cohorts->told_expected = true;
    step_round(job, UpdatesExpected{key, *expected});
  }
  if (cohorts->machine.is_ready() && cohorts->finalize) {
    count_dropped(cohorts->machine);
    const LiveCohorts::Finalize asked = *std::exchange(cohorts->finalize, std::nullopt);
    finalize(asked.job, asked.serial, asked.request, cohorts);
  }
}

// Answers come when a phase begins: until then only those are looked at whose time is up.
void RoundScheduler::answer_held(LiveCohorts& cohorts) {
  const Instant now = os::monotonic_now();
  const uint32_t progress = cohorts.machine.progress();
  const bool all = draining_ || cohorts.machine.failure() || progress != cohorts.held_at;
  cohorts.held_at = progress;
  std::vector<LiveCohorts::Question> held = std::exchange(cohorts.held, {});
  for (LiveCohorts::Question& question : held) {
    if (!all && now < question.until) {
      cohorts.held.push_back(std::move(question));
      continue;
    }
    Result<CohortReply> reply = cohorts.machine.ask(question.device, question.what, now);
    const bool is_not_yet = reply && std::holds_alternative<NotYet>(*reply);
    if (is_not_yet && now < question.until && !draining_) cohorts.held.push_back(std::move(question));
    else question.answer(std::move(reply));
  }
  if (cohorts.machine.progress() != progress) answer_held(cohorts);  // asking may have ended one whose time was up
}

void RoundScheduler::end_cohorts(const RoundKey& key) {
  const auto found = cohorts_.find(key);
  if (found == cohorts_.end()) return;
  const std::vector<LiveCohorts::Question> held = std::move(found->second->held);
  cohorts_.erase(found);
  for (const LiveCohorts::Question& question : held) question.answer(no_session());
}

// Of cohorts that are ready: who vanished in which phase, and which of them came to nothing.
void RoundScheduler::count_dropped(const RoundCohorts& cohorts) const {
  for (const Error& reason : cohorts.left_out()) parts_.metrics.session_failed(reason.reason());
  for (const secagg::Server* session : cohorts.sessions()) {
    uint32_t present = 0;
    for (uint32_t device = 0; device < session->size(); ++device) present += session->is_present(device);
    const auto survivors = static_cast<uint32_t>(session->survivors().size());
    parts_.metrics.devices_dropped("share", session->size() - present);
    parts_.metrics.devices_dropped("mask", present - survivors);
    parts_.metrics.devices_dropped("unmask", survivors - session->answered());
  }
}

// Who is accepted in a round that is frozen in the store. If devices added the noise, what the sum will have released
// is in the ledger first: nobody is asked to open a sum that is not there. On the store's thread.
Result<std::vector<DeviceId>> RoundScheduler::survivors_of(const RoundKey& key, SecurityLevel level) const {
  if (level == SecurityLevel::active_dp) {
    NoiseSalt unused;  // the server draws no noise
    fill_random(unused.mutable_bytes());
    COT_TRY(parts_.ledger.reserve_release(key, unused, os::wall_now()));
  }
  return parts_.accepts.list_accepted(key);
}

// The round is frozen in the store: those who are accepted are the survivors, and devices can go on while the round is
// claimed.
void RoundScheduler::freeze_cohorts(const RoundNotice& notice) {
  if (!cohorts_.contains(notice.key)) return;
  store_.post([this, key = notice.key, level = notice.plan.privacy.level] {
    Result<std::vector<DeviceId>> accepted = survivors_of(key, level);
    core_.post([this, key, accepted = std::move(accepted)] {
      const auto cohorts = cohorts_.find(key);
      if (!accepted || cohorts == cohorts_.end()) return;  // finalize_cohorts() asks again
      cohorts->second->machine.freeze(*accepted, os::monotonic_now());
      os::crash_point(os::CrashPoint::cohorts_before_unmasking);
      after_cohorts(key);
    });
  });
}

void RoundScheduler::finalize_cohorts(const JobId& job, uint64_t serial, const FinalizeRound& finalize) {
  store_.post([this, job, serial, finalize] {
    Result<std::vector<DeviceId>> accepted =
        survivors_of(finalize.round.key, finalize.job.spec.horizontal().privacy.level);
    core_.post([this, job, serial, finalize, accepted = std::move(accepted)] {
      if (!accepted) return step_round(job, RoundFinalized{serial, accepted.error()});
      const auto cohorts = cohorts_.find(finalize.round.key);
      if (cohorts == cohorts_.end()) {
        return step_round(job, AttemptLost{finalize.round.key, "the server was started anew while devices aggregated"});
      }
      cohorts->second->finalize = LiveCohorts::Finalize{job, serial, finalize};
      cohorts->second->machine.freeze(*accepted, os::monotonic_now());
      after_cohorts(finalize.round.key);
    });
  });
}

// ---- Device plane

void RoundScheduler::cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key,
                                    CohortMessage message, std::function<void(Status)> answer) {
  core_.post([this, key, device, public_key = std::move(public_key), message = std::move(message),
              answer = std::move(answer)] {
    const auto cohorts = cohorts_.find(key);
    if (cohorts == cohorts_.end()) return answer(no_session());
    answer(cohorts->second->machine.receive(device, public_key, message, os::monotonic_now()));
    after_cohorts(key);
  });
}

void RoundScheduler::cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                                std::function<void(Result<CohortReply>)> answer) {
  core_.post([this, key, device, question, hold, answer = std::move(answer)]() mutable {
    const auto found = cohorts_.find(key);
    if (found == cohorts_.end()) return answer(no_session());
    LiveCohorts& cohorts = *found->second;
    const Instant now = os::monotonic_now();
    Result<CohortReply> reply = cohorts.machine.ask(device, question, now);
    const bool is_not_yet = reply && std::holds_alternative<NotYet>(*reply);
    if (is_not_yet && !draining_) cohorts.held.push_back({device, question, now + hold, std::move(answer)});
    else answer(std::move(reply));
    after_cohorts(key);  // asking may have ended a phase
  });
}

void RoundScheduler::cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                                          std::function<void(Status)> answer) {
  core_.post([this, key, device, input = std::move(input), answer = std::move(answer)] {
    const auto cohorts = cohorts_.find(key);
    if (cohorts == cohorts_.end()) return answer(no_session());
    // The lanes that are added are those of the header that came first: a device that was cut off sends the same again.
    const auto known = cohorts->second->inputs.find(device);
    if (known != cohorts->second->inputs.end() && !(known->second == input)) return answer(another_input());
    const Status arrived = cohorts->second->machine.input_arrived(device, input, os::monotonic_now());
    if (arrived) cohorts->second->inputs.emplace(device, input);
    answer(arrived);
    after_cohorts(key);
  });
}

}  // namespace coterie
