// The scheduler's attempts with secure aggregation: performs what their machines decide (attempt_machine.h), and hands
// the calls of devices to them.
#include <algorithm>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/core/attempt_terms.h"
#include "fl_server/runtime/round_scheduler.h"
#include "secure/crypto/random.h"
#include "secure/identity/certificate_judge.h"

namespace coterie {
namespace {

// Not for safety, as devices ask their authority themselves: for the others of a cohort, whom a stranger would end it
// for.
secagg::CertificateCheck identity_check(const RoundSchedulerSettings& settings, const Population& population) {
  if (settings.authority_key.empty()) return [](const DeviceIdentity&) { return Status(); };
  return
      [key = settings.authority_key, revocations = settings.revocations, population](const DeviceIdentity& identity) {
        const auto newest = revocations ? revocations->newest() : nullptr;
        return judge_certificate(identity, {.authority_key = key,
                                            .population = population,
                                            .now = os::wall_now(),
                                            .list = newest ? &newest->list : nullptr,
                                            .asks_for_list = false});
      };
}

// The call's own entry, which its one answer takes with it.
template <typename Answers>
auto take(Answers& answers, CohortCall call) {
  const auto entry = answers.find(call);
  COT_INVARIANT(entry != answers.end(), "a call of a device is answered once");
  return std::move(answers.extract(entry).mapped());
}

}  // namespace

// ---- Stepping

RoundScheduler::LiveAttempt& RoundScheduler::attempt_of(const RoundKey& key, const JobId& job, SecurityLevel level) {
  return attempts_.try_emplace(key, LiveAttempt{job, level, AttemptMachine(!draining_)}).first->second;
}

void RoundScheduler::step_attempt(const RoundKey& key, const AttemptEvent& event) {
  const auto attempt = attempts_.find(key);
  if (attempt != attempts_.end()) run(key, attempt->second.machine.step(event, os::monotonic_now()));
}

// Nothing here steps a machine in this call: the round may have made it, and be publishing what it has just said.
void RoundScheduler::run(const RoundKey& key, AttemptEffects effects) {
  struct Visitor {
    RoundScheduler& self;
    const RoundKey& key;
    const LiveAttempt& attempt;

    void operator()(AnswerTaken& e) { take(self.taken_, e.call)(std::move(e.taken)); }
    void operator()(AnswerAsked& e) { take(self.asked_, e.call)(std::move(e.reply)); }
    void operator()(const AnnounceDue& e) { self.board_->updates_due(key, e.total); }
    void operator()(const AnnounceExpected& e) { tell(UpdatesExpected{key, e.total}); }
    void operator()(const ListSurvivors& e) { self.list_survivors(key, attempt.level, e.serial); }
    void operator()(const OpenSum& e) {
      self.count_dropped(*e.cohorts);
      self.finalize(attempt.job, e.serial, *attempt.finalize, e);
    }
    void operator()(const TellNotFinalized& e) { tell(RoundFinalized{e.serial, e.why}); }
    void operator()(const LoseAttempt& e) { tell(AttemptLost{key, e.reason}); }
    void operator()(const NoteRefused& e) {
      log(LogLevel::error, "cohorts_not_begun", {{"job", attempt.job.value()}, {"reason", e.why.message()}});
    }
    void operator()(const NoteFailed& e) { self.parts_.metrics.session_failed(e.why.reason()); }
    void operator()(const NoteUnknownInput& e) {
      log(LogLevel::warning, "masked_input_unknown", {{"reason", e.why.message()}});
    }

    void tell(RoundEvent event) {
      self.core_.post([&s = self, job = attempt.job, event = std::move(event)] { s.step_round(job, event); });
    }
  };
  const LiveAttempt& attempt = must_find(attempts_, key, "an attempt that has just stepped is there");
  for (AttemptEffect& effect : effects) std::visit(Visitor{*this, key, attempt}, effect);
}

// ---- The round

void RoundScheduler::begin_cohorts(const RoundNotice& notice, const AttemptRules& rules, bool has_accepted) {
  const AttemptTerms terms = terms_of(notice);
  if (!terms.session) return;
  attempt_of(notice.key, notice.job, notice.plan.privacy.level);
  std::vector<uint64_t> ring_seeds(rules.cohort_count);
  std::ranges::generate(ring_seeds, random_u64);
  step_attempt(notice.key, BeginCohorts{*terms.session, rules, notice.goal_count, has_accepted, std::move(ring_seeds),
                                        identity_check(settings_, notice.population)});
}

void RoundScheduler::end_cohorts(const RoundKey& key) {
  step_attempt(key, AttemptWithdrawn{});
  attempts_.erase(key);
}

void RoundScheduler::finalize_cohorts(const JobId& job, uint64_t serial, const FinalizeRound& finalize) {
  attempt_of(finalize.round.key, job, finalize.job.spec.horizontal().privacy.level).finalize = finalize;
  step_attempt(finalize.round.key, FinalizeAsked{serial});
}

void RoundScheduler::list_survivors(const RoundKey& key, SecurityLevel level, std::optional<uint64_t> serial) {
  store_.post([this, key, level, serial] {
    Result<std::vector<DeviceId>> accepted = survivors_of(key, level);
    core_.post([this, key, serial, accepted = std::move(accepted)] {
      if (accepted && !serial) os::crash_point(os::CrashPoint::cohorts_before_unmasking);
      step_attempt(key, SurvivorsListed{serial, accepted});
    });
  });
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

// For cohorts that are ready: who vanished in which phase, and which of them came to nothing.
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

// ---- Device plane

CohortCall RoundScheduler::expect(Taken answer) {
  const CohortCall call(++last_call_);
  taken_.emplace(call, std::move(answer));
  return call;
}

CohortCall RoundScheduler::expect(Asked answer) {
  const CohortCall call(++last_call_);
  asked_.emplace(call, std::move(answer));
  return call;
}

void RoundScheduler::cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key,
                                    CohortMessage message, std::function<void(Status)> answer) {
  core_.post([this, key, device, public_key = std::move(public_key), message = std::move(message),
              answer = std::move(answer)]() mutable {
    if (!attempts_.contains(key)) return answer(attempt_has_no_session());
    const CohortCall call = expect(std::move(answer));
    step_attempt(key, CohortMessageCame{call, device, std::move(public_key), std::move(message)});
  });
}

void RoundScheduler::cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                                std::function<void(Result<CohortReply>)> answer) {
  core_.post([this, key, device, question, hold, answer = std::move(answer)]() mutable {
    if (!attempts_.contains(key)) return answer(attempt_has_no_session());
    step_attempt(key, CohortAsked{expect(std::move(answer)), device, question, hold});
  });
}

void RoundScheduler::cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                                          std::function<void(Status)> answer) {
  core_.post([this, key, device, input = std::move(input), answer = std::move(answer)]() mutable {
    if (!attempts_.contains(key)) return answer(attempt_has_no_session());
    step_attempt(key, MaskedInputCame{expect(std::move(answer)), device, std::move(input)});
  });
}

}  // namespace coterie
