#include "scheduler/round/round_machine.h"

#include <algorithm>

#include "scheduler/job/aggregation_rules.h"
#include "scheduler/job/round_terms.h"

namespace coterie {
namespace {

constexpr Millis kCountEvery{1'000};  // what a lost hint may cost
constexpr Millis kRepeatFirst{50};
constexpr Millis kRepeatMax{5'000};
bool is_over(JobState state) { return state != JobState::running && state != JobState::paused; }

std::string job_is(JobState state) { return "the job is " + std::string(to_string(state)); }

}  // namespace

RoundEffects RoundMachine::start() {
  reload();
  if (step_check_.is_due(0)) check();
  return std::exchange(effects_, {});
}

RoundEffects RoundMachine::step(const RoundEvent& event, Instant now) {
  now_ = std::max(now_, now);
  if (phase_ != Phase::ended) std::visit([this](const auto& e) { handle(e); }, event);
  check_effects();
  if (step_check_.is_due(0)) check();
  return std::exchange(effects_, {});
}

std::optional<Instant> RoundMachine::next_deadline() const {
  if (!repeat_at_) return deadline_;
  return deadline_ ? std::min(*repeat_at_, *deadline_) : *repeat_at_;
}

// ---- Asking

// A new serial makes every answer that is still on its way to an older request void: whatever that request did, the
// compare-and-set of the new one meets it in the store.
void RoundMachine::ask(RoundRequest request) {
  pending_ = std::move(request);
  ++serial_;
  repeats_ = 0;
  repeat_at_.reset();
  effects_.push_back(AskRound{serial_, *pending_});
}

void RoundMachine::answered() {
  pending_.reset();
  repeat_at_.reset();
}

void RoundMachine::ask_again_later() {
  repeat_at_ = now_ + std::min(kRepeatMax, kRepeatFirst * (1u << std::min(repeats_, 10u)));
  ++repeats_;
}

void RoundMachine::reload() {
  phase_ = Phase::loading;
  deadline_.reset();
  ask(LoadProgress{});
}

// ---- Loading: from what is true in the store to the phase that continues it

void RoundMachine::handle(const ProgressLoaded& event) {
  if (!is_answer(event.serial)) return;
  if (!event.progress) return ask_again_later();
  answered();
  adopt(*event.progress);
}

void RoundMachine::adopt(const JobProgress& progress) {
  job_ = progress.job;
  head_ = progress.head;
  const std::optional<RoundRecord> before = std::exchange(round_, progress.latest);
  if (before && (!round_ || round_->key != before->key || round_->state >= RoundState::done)) {
    effects_.push_back(WithdrawRound{before->key});  // committed by us, or ended by somebody else
  }
  accepted_ = progress.accepted;  // also a smaller one: another attempt begins from 0
  privacy_stop_ = progress.privacy_stop;
  release_stop_.clear();
  tickets_ = round_ ? round_->selected : 0;
  finalize_failures_ = 0;
  if (is_over(job_.state)) {
    // The row must not stay open: who looks at the store would take it for a round that is still served.
    if (round_ && round_->state < RoundState::done) return fail_attempt(job_is(job_.state));
    return end();
  }
  if (!round_) return open_next();
  // What this machine has seen selecting begins to collect by its own move, also one whose answer was lost.
  if (!before || before->key != round_->key) is_resumed_ = round_->state == RoundState::collecting;
  switch (round_->state) {
    case RoundState::selecting: return enter_selecting();
    case RoundState::collecting: return enter_collecting();
    case RoundState::frozen: return claim();
    case RoundState::finalizing: return finalize();
    case RoundState::done: return open_next();
    case RoundState::failed: return after_failure();
  }
}

// ---- Opening

void RoundMachine::open_next() {
  deadline_.reset();
  if (job_.rounds_done >= settings().rounds.count) return end();
  if (job_.state == JobState::paused) {
    phase_ = Phase::resting;
    return;
  }
  if (!privacy_stop_.empty()) return give_up(privacy_stop_);
  phase_ = Phase::opening;
  ask(OpenRound{job_.rounds_done + 1, std::nullopt, Attempt(1), head_});
}

void RoundMachine::open_attempt(Attempt attempt) {
  COT_INVARIANT(round_ && round_->state == RoundState::failed, "an attempt follows one that failed");
  phase_ = Phase::opening;
  deadline_.reset();
  ask(OpenRound{round_->number, round_->key.round, attempt, head_});
}

void RoundMachine::handle(const RoundOpened& event) {
  if (!is_answer(event.serial)) return;
  if (!event.round) return event.round.error().code() == ErrorCode::conflict ? reload() : ask_again_later();
  answered();
  // The model and the count of accepted rows belong to the state, and this answer has neither.
  if (event.round->state != RoundState::selecting) return reload();  // opened before, by us or another leader
  round_ = *event.round;
  accepted_ = 0;
  tickets_ = 0;
  is_resumed_ = false;
  enter_selecting();
}

// ---- Selecting

void RoundMachine::enter_selecting() {
  phase_ = Phase::selecting;
  choice_overdue_ = false;
  // Nodes forget the round, so that devices do not wait for it. The row stays: the round goes on where it stands.
  if (job_.state == JobState::paused) {
    deadline_.reset();
    effects_.push_back(WithdrawRound{round_->key});
    return;
  }
  deadline_ = now_ + settings().rounds.selecting_max;
  effects_.push_back(published());
  consider_choice();
}

void RoundMachine::handle(const PoolChanged& event) {
  waiting_ = event.waiting;
  nodes_ = event.nodes;
  consider_choice();
}

// Start collecting when the pool is full; once the time for that is over, as soon as a round could succeed.
void RoundMachine::consider_choice() {
  if (phase_ != Phase::selecting || job_.state != JobState::running) return;
  if (!policy().may_choose({.devices = waiting_, .nodes = nodes_, .is_overdue = choice_overdue_})) return;
  phase_ = Phase::starting;
  deadline_.reset();
  ask(MoveRound{round_->key, RoundState::selecting, RoundState::collecting, {}, 0});
}

// ---- Collecting

void RoundMachine::enter_collecting() {
  phase_ = Phase::collecting;
  extensions_ = 0;
  collect();
}

void RoundMachine::collect() {
  collect_until_ = now_ + settings().rounds.collecting_max;
  deadline_ = std::min(collect_until_, now_ + kCountEvery);
  effects_.push_back(published());
  consider_freeze(false);
}

void RoundMachine::handle(const TicketsIssued& event) {
  if (round_ && event.key == round_->key) tickets_ = std::max(tickets_, event.total);
}

// Totals of several batches and nodes overtake each other, here and below: the largest is the newest.
void RoundMachine::handle(const UpdatesAccepted& event) {
  if (!round_ || event.key != round_->key) return;
  accepted_ = std::max(accepted_, event.total);
  consider_freeze(false);
}

// Nobody can be let in later, so there is nothing to wait for.
void RoundMachine::handle(const UpdatesExpected& event) {
  if (!round_ || event.key != round_->key || phase_ != Phase::collecting) return;
  accepted_ = std::max(accepted_, event.total);
  if (policy().judge_last(accepted_) == CollectedVerdict::freeze) return freeze();
  fail_attempt("only " + std::to_string(accepted_) + " devices stayed to the end, " +
               std::to_string(settings().rounds.goal_count_min) + " are needed");
}

void RoundMachine::handle(const AttemptLost& event) {
  if (!round_ || event.key != round_->key) return;
  // Elsewhere a move is on its way, and a second one would race it. A sum that is lost is lost for the finalizer, too.
  if (phase_ == Phase::collecting || phase_ == Phase::finalizing) fail_attempt(event.reason);
}

void RoundMachine::handle(const AcceptedCounted& event) {
  if (!is_answer(event.serial)) return;
  if (!event.total) return ask_again_later();
  answered();
  accepted_ = std::max(accepted_, *event.total);
  consider_freeze(final_count_);
}

// Asked whenever something is known anew: an update, a count of the rows, or that time has passed.
void RoundMachine::consider_freeze(bool counted) {
  if (phase_ != Phase::collecting) return;
  COT_INVARIANT(deadline_.has_value(), "who collects looks at the rows again at some time");
  const bool late = now_ >= collect_until_;
  switch (policy().judge({.accepted = accepted_, .is_late = late, .is_counted = counted})) {
    case CollectedVerdict::wait: return count_when_due(late);
    case CollectedVerdict::freeze: return freeze();
    // One may have been accepted since the count: the store looks again while nobody can be.
    case CollectedVerdict::fail_attempt: return fail_as_nobody_came();
    case CollectedVerdict::let_more_in: ++extensions_; return collect();
  }
}

void RoundMachine::fail_as_nobody_came() {
  MoveRound move = failed_because("no update came before the deadline");
  move.if_nobody_counts = true;
  fail_attempt(std::move(move));
}

// Hints get lost, so the rows are counted now and then; a count asked for before the deadline is no last look.
void RoundMachine::count_when_due(bool late) {
  if (now_ < *deadline_) return;
  deadline_ = late ? now_ + kCountEvery : std::min(collect_until_, now_ + kCountEvery);
  if (pending_) return;  // a count is on its way, and is repeated until it is answered
  final_count_ = late;
  ask(CountAccepted{round_->key});
}

void RoundMachine::freeze() {
  phase_ = Phase::freezing;
  deadline_.reset();
  ask(MoveRound{round_->key, RoundState::collecting, RoundState::frozen, {}, tickets_});
}

// ---- Moves

void RoundMachine::handle(const RoundMoved& event) {
  if (!is_answer(event.serial)) return;
  if (!event.won) return ask_again_later();
  // Another leader, our own move whose answer was lost, or an update that came last: the store knows.
  if (!*event.won) return reload();
  COT_INVARIANT(std::holds_alternative<MoveRound>(*pending_), "a move answers the request for it");
  round_->state = std::get<MoveRound>(*pending_).to;
  round_->reason = std::get<MoveRound>(*pending_).reason;
  // The store was asked while the reserve that is void now counted. If nothing fits all the same, it opens no attempt.
  if (std::get<MoveRound>(*pending_).voids_release) privacy_stop_.clear();
  answered();
  switch (round_->state) {
    case RoundState::collecting: return enter_collecting();
    case RoundState::frozen: return claim();
    case RoundState::finalizing: return finalize();
    case RoundState::failed: return after_failure();
    case RoundState::selecting:
    case RoundState::done: COT_INVARIANT(false, "a move leads to collecting, frozen, finalizing or failed");
  }
}

// ---- Finalizing

void RoundMachine::claim() {
  phase_ = Phase::claiming;
  deadline_.reset();
  effects_.push_back(published());
  ask(MoveRound{round_->key, RoundState::frozen, RoundState::finalizing, {}, tickets_});
}

void RoundMachine::finalize() {
  phase_ = Phase::finalizing;
  finalize_failures_ = 0;  // each attempt has its own sums, and as many tries
  deadline_.reset();
  effects_.push_back(published());
  ask(FinalizeRound{job_, *round_, head_});
}

void RoundMachine::handle(const RoundFinalized& event) {
  if (!is_answer(event.serial)) return;
  if (!event.round) {
    const Error& error = event.round.error();
    // The sum is what it should be, and what comes of it may not be released: another attempt trains from the same
    // model with the same settings, and would cost devices, and noise, for the same end.
    if (error.code() == ErrorCode::invalid_argument) {
      release_stop_ = error.message();
      return fail_attempt(release_stop_);
    }
    // What is damaged may have been read badly, so even a hopeless error is tried a few times.
    const bool hopeless = traits(error.code()).retry == RetryClass::never;
    if (hopeless && ++finalize_failures_ >= kFinalizeFailuresMax) {
      MoveRound move = failed_because(error.message());
      // What is stored is damaged, whatever noise was drawn. So the reason tells nothing of the noisy sum, and nobody
      // was given what was made of it. Any other end may tell something of it.
      move.voids_release = error.code() == ErrorCode::data_loss;
      return fail_attempt(std::move(move));
    }
    return ask_again_later();
  }
  COT_INVARIANT(phase_ == Phase::finalizing, "a round is finalized when that was asked for");
  COT_INVARIANT(event.round->key == round_->key, "the finalizer gives the round that it was given");
  phase_ = Phase::committing;
  const bool last = event.round->is_last || round_->number >= settings().rounds.count;
  // The commit opens the next round in the same transaction, unless somebody wants the job to stop here.
  ask(CommitRound{*event.round, round_->number, !last && job_.state == JobState::running, last});
}

void RoundMachine::handle(const RoundCommitted& event) {
  if (!is_answer(event.serial)) return;
  if (!event.progress) return event.progress.error().code() == ErrorCode::conflict ? reload() : ask_again_later();
  answered();
  adopt(*event.progress);
}

// ---- Failing

MoveRound RoundMachine::failed_because(std::string reason) const {
  COT_INVARIANT(round_ && round_->state < RoundState::done, "an attempt fails before it is over");
  return {round_->key, round_->state, RoundState::failed, std::move(reason), tickets_};
}

void RoundMachine::fail_attempt(MoveRound move) {
  phase_ = Phase::failing;
  deadline_.reset();
  effects_.push_back(WithdrawRound{round_->key});
  ask(std::move(move));
}

void RoundMachine::after_failure() {
  COT_INVARIANT(round_ && round_->state == RoundState::failed, "after a failure the attempt is failed");
  if (is_over(job_.state)) return end();
  if (!privacy_stop_.empty()) return give_up(privacy_stop_);
  if (!release_stop_.empty()) return give_up(release_stop_);
  const RoundSettings& rounds = settings().rounds;
  const uint32_t restarts = round_->reason == kAttemptStartedAnew ? kRestartsMax : 0;
  if (round_->key.attempt.value() >= rounds.attempts_max + restarts) {
    return give_up("round " + std::to_string(round_->number) + " failed " + std::to_string(rounds.attempts_max) +
                   " times, the last time because " + round_->reason);
  }
  // What made this attempt fail may still be there. At once, attempts_max would be used up in a moment.
  phase_ = Phase::delaying;
  deadline_ = now_ + rounds.retry_delay;
}

void RoundMachine::end() {
  phase_ = Phase::ended;
  deadline_.reset();  // or the shell would wake for it for ever
}

void RoundMachine::give_up(std::string reason) {
  phase_ = Phase::giving_up;
  deadline_.reset();
  ask(FailJob{std::move(reason)});
}

void RoundMachine::handle(const JobFailed& event) {
  if (!is_answer(event.serial)) return;
  if (!event.done) return ask_again_later();
  answered();
  end();
}

// ---- Commands and time

void RoundMachine::handle(const JobStateChanged& event) {
  if (phase_ == Phase::loading) return reload();  // the answer on its way may be older than this
  const JobState before = std::exchange(job_.state, event.state);
  if (before == event.state) return;
  if (!is_over(event.state)) {
    if (phase_ == Phase::selecting) return enter_selecting();
    if (phase_ != Phase::resting) return;
    return round_ && round_->state == RoundState::failed ? after_failure() : open_next();
  }
  // Give up the round wherever it is. A move or a commit on its way wins or loses in the store; we look there.
  switch (phase_) {
    case Phase::resting:
    case Phase::delaying: return end();
    case Phase::selecting:
    case Phase::collecting:
    case Phase::finalizing: return fail_attempt(job_is(event.state));
    case Phase::failing:
    case Phase::giving_up:
    case Phase::ended: return;
    default: return reload();
  }
}

void RoundMachine::handle(const TimePassed&) {
  if (repeat_at_ && now_ >= *repeat_at_) {
    repeat_at_.reset();
    effects_.push_back(AskRound{serial_, *pending_});
  }
  if (!deadline_ || now_ < *deadline_) return;
  switch (phase_) {
    case Phase::selecting:
      choice_overdue_ = true;
      deadline_.reset();
      return consider_choice();
    case Phase::collecting: return consider_freeze(false);
    case Phase::delaying:
      if (job_.state == JobState::running) return open_attempt(Attempt(round_->key.attempt.value() + 1));
      deadline_.reset();
      phase_ = Phase::resting;
      return;
    default: return;
  }
}

PublishRound RoundMachine::published() const {
  RoundNotice notice{
      .job = job_id_,
      .population = job_.spec.common.population,
      .key = round_->key,
      .number = round_->number,
      .state = round_->state,
      .assignment = {.job = job_id_,
                     .round = round_->key,
                     .model_version = head_.version,
                     .plan = job_.plan,
                     .model = head_.digest,
                     .plan_bytes = job_.plan_bytes,
                     .model_bytes = head_.bytes,
                     .not_after = {},
                     .ticket = {},
                     .signature = {}},
      .plan = with_terms(plan_of(settings(), job_id_, job_.values()), terms_of(settings(), facts_of(*round_, head_))),
      .weight = job_.spec.common.weight,
      .ticket_count = policy().ticket_count({round_->number, round_->key.attempt.value(), extensions_}),
      .extensions = round_->state == RoundState::collecting ? extensions_ : 0,
      .goal_count = settings().rounds.goal_count,
      .keeps_updates = settings().aggregation.keeps_updates(),
      .selection = settings().rounds.selection};
  return {.notice = std::move(notice),
          .rules = {.cohort_count = cohort_count(settings()),
                    .adverts_goal = adverts_goal(settings()),
                    .adverts_least = adverts_least(settings()),
                    .draws_cohorts = compares_cohorts(settings()),
                    .cohort_phase_max = settings().privacy.phase_max,
                    .is_resumed = is_resumed_ && settings().rounds.is_buffered(),
                    .deadline = round_->state == RoundState::collecting ? collect_until_ : deadline_.value_or(now_)}};
}

}  // namespace coterie
