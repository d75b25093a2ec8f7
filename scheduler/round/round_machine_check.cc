// What is true of a round machine between two steps.
#include <algorithm>

#include "scheduler/round/round_machine.h"

namespace coterie {

void RoundMachine::check() const {
  check_request();
  check_round();
  check_deadlines();
}

// Each phase waits for the answer to its own request, or for none.
void RoundMachine::check_request() const {
  const auto asks = [this]<typename Request>() { return pending_ && std::holds_alternative<Request>(*pending_); };
  const auto moves_to = [this](RoundState to) {
    const auto* move = pending_ ? std::get_if<MoveRound>(&*pending_) : nullptr;
    return move != nullptr && move->to == to && round_ && move->key == round_->key && move->from == round_->state;
  };
  const auto is_as_the_phase_wants = [&] {
    switch (phase_) {
      case Phase::loading: return asks.template operator()<LoadProgress>();
      case Phase::opening: return asks.template operator()<OpenRound>();
      case Phase::starting: return moves_to(RoundState::collecting);
      case Phase::collecting: return !pending_ || asks.template operator()<CountAccepted>();
      case Phase::freezing: return moves_to(RoundState::frozen);
      case Phase::claiming: return moves_to(RoundState::finalizing);
      case Phase::finalizing: return asks.template operator()<FinalizeRound>();
      case Phase::committing: return asks.template operator()<CommitRound>();
      case Phase::failing: return moves_to(RoundState::failed);
      case Phase::giving_up: return asks.template operator()<FailJob>();
      case Phase::resting:
      case Phase::selecting:
      case Phase::delaying:
      case Phase::ended: return !pending_;
    }
    return false;
  };
  COT_INVARIANT(serial_ == 0 || is_as_the_phase_wants(), "a phase waits for the answer to its own request");
  if (!pending_) return;
  if (const auto* finalized = std::get_if<FinalizeRound>(&*pending_)) {
    COT_INVARIANT(finalized->round.key == round_->key, "what is finalized is the machine's round");
  }
  if (const auto* committed = std::get_if<CommitRound>(&*pending_)) {
    COT_INVARIANT(committed->round.key == round_->key, "what is committed is the machine's round");
    COT_INVARIANT(!(committed->opens_next && committed->completes_job), "the last round opens no other");
  }
}

// The phase and the state of the row go together.
void RoundMachine::check_round() const {
  const auto is = [this](RoundState state) { return round_ && round_->state == state; };
  const bool is_between_rounds = !round_ || is(RoundState::done) || is(RoundState::failed);
  const bool is_as_the_phase_wants = [&] {
    switch (phase_) {
      case Phase::selecting:
      case Phase::starting: return is(RoundState::selecting);
      case Phase::collecting:
      case Phase::freezing: return is(RoundState::collecting);
      case Phase::claiming: return is(RoundState::frozen);
      case Phase::finalizing:
      case Phase::committing: return is(RoundState::finalizing);
      case Phase::failing: return round_ && round_->state < RoundState::done;
      case Phase::delaying: return is(RoundState::failed);
      case Phase::opening:
      case Phase::resting:
      case Phase::giving_up: return is_between_rounds;
      case Phase::loading:
      case Phase::ended: return true;
    }
    return false;
  }();
  COT_INVARIANT(is_as_the_phase_wants, "the phase and the state of the round agree");
  COT_INVARIANT(phase_ != Phase::finalizing || finalize_failures_ < kFinalizeFailuresMax,
                "a round that cannot be finalized is given up after so many tries");
}

void RoundMachine::check_deadlines() const {
  COT_INVARIANT(!repeat_at_ || pending_, "only a request that waits is repeated");
  const bool may_wait = phase_ == Phase::selecting || phase_ == Phase::collecting || phase_ == Phase::delaying;
  COT_INVARIANT(!deadline_ || may_wait, "every deadline belongs to a phase that waits for it");
  const bool must_wait = phase_ == Phase::collecting || phase_ == Phase::delaying;
  COT_INVARIANT(deadline_ || !must_wait, "who collects or delays wakes up at some time");
  const bool awaits_choice = phase_ == Phase::selecting && job_.state == JobState::running && !choice_overdue_;
  COT_INVARIANT(phase_ != Phase::selecting || deadline_.has_value() == awaits_choice,
                "a running job's selection has a deadline until that is over");
}

// In every build: two requests at once could both be carried out.
void RoundMachine::check_effects() const {
  size_t asked = 0;
  for (const RoundEffect& effect : effects_) {
    const auto* ask = std::get_if<AskRound>(&effect);
    if (ask == nullptr) continue;
    ++asked;
    COT_INVARIANT(ask->serial == serial_, "what is asked is the newest request");
  }
  COT_INVARIANT(asked <= 1, "a step asks for one thing at most");
}

}  // namespace coterie
