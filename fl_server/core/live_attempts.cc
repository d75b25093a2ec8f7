#include "fl_server/core/live_attempts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fl_server/core/attempt_terms.h"

namespace coterie {

LiveEffects LiveAttempts::step(const LiveEvent& event, Instant now) {
  now_ = now;
  std::visit([this](const auto& e) { handle(e); }, event);
  if (step_check_.is_due(attempts_.size() + calls_.size())) check_calls();
  return std::exchange(effects_, {});
}

std::optional<Instant> LiveAttempts::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [key, attempt] : attempts_) {
    if (const auto at = attempt.machine.next_deadline()) next = std::min(*at, next.value_or(*at));
  }
  return next;
}

uint32_t LiveAttempts::seeds_needed(const ServePublished& served) {
  const RoundNotice& notice = served.round.notice;
  const bool begins = notice.state == RoundState::collecting && notice.plan.privacy.level != SecurityLevel::none;
  return begins ? served.round.rules.cohort_count : 0;
}

bool LiveAttempts::is_aggregating(const RoundKey& key) const {
  const auto attempt = attempts_.find(key);
  return attempt != attempts_.end() && attempt->second.machine.is_aggregating();
}

// ---- The round

// The freeze is told before anybody else hears of it: devices unmask while the round is claimed.
void LiveAttempts::handle(const PublishRound& event) {
  if (event.notice.state == RoundState::frozen) tell(event.notice.key, AttemptFrozen{});
}

void LiveAttempts::handle(const AttemptServed& event) {
  if (seeds_needed(event.served) == 0) return;
  const RoundNotice& notice = event.served.round.notice;
  attempt_of(notice.key, notice.job, notice.plan.privacy.level);
  const AttemptRules& rules = event.served.round.rules;
  std::optional<secagg::CohortDraw> draw;
  if (rules.draws_cohorts) draw = secagg::CohortDraw{notice.assignment.model, notice.key.attempt};
  tell(notice.key, BeginCohorts{*terms_of(notice).session, rules, notice.goal_count, event.served.has_accepted,
                                event.ring_seeds, event.certificate_is_good, draw});
}

void LiveAttempts::handle(const StopServing& event) {
  tell(event.key, AttemptWithdrawn{});
  attempts_.erase(event.key);
}

LiveAttempts::Attempt& LiveAttempts::attempt_of(const RoundKey& key, const JobId& job, SecurityLevel level) {
  return attempts_.try_emplace(key, Attempt{job, level, AttemptMachine(holds_)}).first->second;
}

// ---- Devices

void LiveAttempts::handle(const DeviceCalled& event) {
  std::visit(
      [&](const auto& call) {
        const bool is_new = calls_.emplace(call.call, event.key).second;
        COT_INVARIANT(is_new, "each call of a device has a number of its own");
        if (attempts_.contains(event.key)) return tell(event.key, call);
        answered(call.call);
        using Call = std::decay_t<decltype(call)>;
        if constexpr (std::is_same_v<Call, CohortAsked>)
          effects_.push_back(AnswerAsked{call.call, attempt_has_no_session()});
        else effects_.push_back(AnswerTaken{call.call, attempt_has_no_session()});
      },
      event.call);
}

void LiveAttempts::answered(CohortCall call) {
  const bool waited = calls_.erase(call) > 0;
  COT_INVARIANT(waited, "a call of a device is answered once");
}

void LiveAttempts::handle(const StopHolding& event) {
  holds_ = false;
  for (const auto& [key, attempt] : attempts_) tell(key, event);
}

// ---- Rows of the store

void LiveAttempts::handle(const RowsMayBeThere& event) {
  if (is_aggregating(event.key)) effects_.push_back(ListRows{event.key});
}

void LiveAttempts::handle(const RowsListed& event) {
  if (!event.accepted) return;  // looked at again
  for (const DeviceId& device : *event.accepted) tell(event.key, MaskedInputAccepted{device});
}

// ---- The sum

void LiveAttempts::handle(const FinalizeWanted& event) {
  const FinalizeRound& wanted = event.request;
  const SecurityLevel level = wanted.job.spec.horizontal().privacy.level;
  if (level == SecurityLevel::none) return effects_.push_back(FinalizeNow{event.serial, wanted, {}});
  attempt_of(wanted.round.key, wanted.job.id, level).wanted = wanted;
  tell(wanted.round.key, FinalizeAsked{event.serial});
}

// Why a masked sum came to nothing its attempt judges: it may be lost with it.
void LiveAttempts::handle(const FinalizeDone& event) {
  if (event.is_masked && !event.round) return tell(event.key, SumNotFinalized{event.serial, event.round.error()});
  effects_.push_back(TellJob{event.job, RoundFinalized{event.serial, event.round}});
}

void LiveAttempts::handle(const AttemptTime& event) {
  for (const auto& [key, attempt] : attempts_) {
    const auto at = attempt.machine.next_deadline();
    if (at && *at <= now_) tell(key, event);
  }
}

// ---- One attempt

void LiveAttempts::tell(const RoundKey& key, const AttemptEvent& event) {
  const auto attempt = attempts_.find(key);
  if (attempt == attempts_.end()) return;
  AttemptEffects effects = attempt->second.machine.step(event, now_);
  for (AttemptEffect& effect : effects) pass_on(key, attempt->second, effect);
}

void LiveAttempts::pass_on(const RoundKey& key, const Attempt& attempt, AttemptEffect& effect) {
  struct Visitor {
    LiveAttempts& self;
    const RoundKey& key;
    const Attempt& attempt;

    void operator()(AnswerTaken& e) {
      self.answered(e.call);
      say(std::move(e));
    }
    void operator()(AnswerAsked& e) {
      self.answered(e.call);
      say(std::move(e));
    }
    void operator()(const AnnounceDue& e) { say(TellNodesDue{key, e.total}); }
    void operator()(const AnnounceExpected& e) { say(TellJob{attempt.job, UpdatesExpected{key, e.total}}); }
    // Where devices added the noise, what the sum releases is reserved before it is opened.
    void operator()(const ListSurvivors& e) {
      say(ListForSum{key, e.serial, attempt.level == SecurityLevel::active_dp});
    }
    void operator()(OpenSum& e) {
      COT_ASSERT(attempt.wanted.has_value());
      const uint64_t serial = e.serial;
      say(FinalizeNow{serial, *attempt.wanted, std::move(e)});
    }
    void operator()(const TellNotFinalized& e) { say(TellJob{attempt.job, RoundFinalized{e.serial, e.why}}); }
    void operator()(const LoseAttempt& e) { say(TellJob{attempt.job, AttemptLost{key, e.reason}}); }
    void operator()(NoteRefused& e) { say(NoteNotBegun{attempt.job, std::move(e.why)}); }
    void operator()(NoteFailed& e) { say(std::move(e)); }
    void operator()(NoteUnknownInput& e) { say(std::move(e)); }

    void say(LiveEffect said) { self.effects_.push_back(std::move(said)); }
  };
  std::visit(Visitor{*this, key, attempt}, effect);
}

// ---- What is true between two steps

void LiveAttempts::check() const {
  for (const auto& [key, attempt] : attempts_) attempt.machine.check();
  check_calls();
}

void LiveAttempts::check_calls() const {
  for (const auto& [call, key] : calls_) {
    COT_INVARIANT(is_aggregating(key), "a call waits for an attempt whose cohorts go on");
    COT_INVARIANT(holds_, "nobody is held once questions are answered at once");
  }
  for (const auto& [key, attempt] : attempts_) {
    COT_INVARIANT(attempt.level != SecurityLevel::none, "an attempt whose updates lie open has no cohorts");
    COT_INVARIANT(!attempt.wanted || attempt.wanted->round.key == key, "what is wanted of an attempt is its own sum");
  }
}

}  // namespace coterie
