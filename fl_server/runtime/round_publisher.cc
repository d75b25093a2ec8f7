#include "fl_server/runtime/round_publisher.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/os/crash_point.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/privacy/round_plan.h"
#include "fl_server/runtime/seconds.h"
#include "fl_server/store/accept_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/ledger_store.h"
#include "fl_server/telemetry/metrics.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"
#include "secure/identity/manifest.h"

namespace coterie {
namespace {

// The plan of the attempt: the job's with what is the round's, and with the ledger's heads from when it was opened.
Result<RoundPlan> make_plan(const RoundSchedulerParts& parts, const RoundNotice& notice,
                            const std::optional<AnalyticsRules>& question) {
  COT_ASSIGN(const LogHead head, parts.ledger.log_head(notice.population, notice.plan.ledger.records));
  COT_ASSIGN(const std::optional<SignedLogHead> log, sign_log(notice.population, head, parts.signer));
  return put_round_plan(parts.blobs, notice.assignment.plan, terms_in(notice.plan), log, question);
}

}  // namespace

void RoundPublisher::step(const ServingEvent& event) {
  for (const ServingEffect& effect : rounds_.step(event, os::monotonic_now())) {
    std::visit([this](const auto& e) { perform(e); }, effect);
  }
}

// What is over within a millisecond is told, too.
void RoundPublisher::tell_moved(const RoundNotice& notice) const {
  const event::RoundName name{notice.key, notice.number};
  if (notice.state == RoundState::frozen) parts_.events.add(notice.job, event::RoundFrozen{name});
  if (notice.state == RoundState::finalizing) parts_.events.add(notice.job, event::RoundFinalizing{name});
}

void RoundPublisher::time_passed() {
  step(ServingTime{});
  const Millis forward = clock_.look(os::now());
  if (forward == Millis(0)) return;
  log(LogLevel::warning, "clock_was_set", {{"forward_ms", forward.count()}});
  step(ClockWasSet{});
}

std::optional<Instant> RoundPublisher::next_deadline() const {
  if (rounds_.is_empty()) return std::nullopt;  // there is nothing to sign
  return std::min(clock_.next_look(), rounds_.next_deadline().value_or(Instant::max()));
}

// ---- What is decided

void RoundPublisher::perform(const AskBeforeServing& effect) {
  loops_.store.post([this, asked = effect] {
    Result<ReadyRound> found = ready(asked.notice);
    loops_.core.post(
        [this, readied = RoundReadied{asked.serial, asked.notice.key, std::move(found)}] { step(readied); });
  });
}

// On the store's thread. The plan is the attempt's own, where it has one.
Result<ReadyRound> RoundPublisher::ready(const RoundNotice& notice) const {
  COT_ASSIGN(const uint64_t accepted, parts_.accepts.count_accepted(notice.key));
  const Assignment& assignment = notice.assignment;
  std::optional<AnalyticsRules> question;
  if (notice.plan.analytics) {
    COT_ASSIGN(const JobRecord job, parts_.jobs.get_job(notice.job));
    COT_ASSIGN(question,
               round_question(parts_.blobs, job.spec.horizontal(), assignment.model_version, assignment.model));
  }
  const bool is_the_jobs = !question && content_digest(encode(notice.plan)) == assignment.plan;
  if (is_the_jobs) return ReadyRound{accepted > 0, assignment.plan, assignment.plan_bytes};
  const Result<RoundPlan> plan = make_plan(parts_, notice, question);
  if (!plan) {
    log(LogLevel::warning, "plan_not_made", {{"job", notice.job.value()}, {"reason", plan.error().message()}});
    return plan.error();
  }
  return ReadyRound{accepted > 0, plan->digest, plan->bytes, std::move(question)};
}

void RoundPublisher::perform(const ServePublished& effect) {
  RoundNotice notice = effect.round.notice;
  if (!sign(notice, effect.round.rules.deadline)) return;
  if (notice.state == RoundState::collecting) {
    const event::RoundName name{notice.key, notice.number};
    if (effect.begins) parts_.events.add(notice.job, event::RoundCollecting{name});
    else parts_.events.add(notice.job, event::RoundExtended{name});
  }
  calls_.serves(effect);
  os::crash_point(os::CrashPoint::round_before_served);
  board_->serve(notice);
  calls_.served();
}

void RoundPublisher::perform(const SignAgain& effect) {
  RoundNotice notice = effect.notice;
  if (sign(notice, effect.deadline)) board_->serve(notice);
}

bool RoundPublisher::sign(RoundNotice& notice, Instant deadline) const {
  notice.assignment.not_after = assignment_end(deadline, ticket_leeway_, os::now());
  const Status is_signed = sign_manifest(notice.assignment, parts_.signer);
  if (!is_signed) log(LogLevel::error, "assignment_not_signed", {{"reason", is_signed.error().message()}});
  return is_signed.has_value();
}

void RoundPublisher::perform(const StopServing& effect) {
  board_->withdraw(effect.key);
  parts_.metrics.round_ended(effect.state == RoundState::finalizing ? RoundState::done : RoundState::failed,
                             seconds_since(effect.opened));
  calls_.stopped(effect);
}

void RoundPublisher::perform(const NoteUpdates& effect) {
  parts_.events.add(effect.job, event::UpdatesAccepted{{effect.key, effect.number}, effect.total});
}

}  // namespace coterie
