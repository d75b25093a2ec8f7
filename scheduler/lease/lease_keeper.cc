#include "scheduler/lease/lease_keeper.h"

#include <algorithm>
#include <utility>

namespace coterie {

LeaseEffects LeaseKeeper::start(Instant now) {
  if (state_ != State::idle) return {};
  state_ = State::waiting;
  return checked(ask(now));
}

LeaseEffects LeaseKeeper::ask(Instant now) {
  asked_at_ = now;
  is_asking_ = true;
  return {AskLease{++serial_}};
}

LeaseEffects LeaseKeeper::lose(std::string reason) {
  state_ = State::lost;
  is_asking_ = false;
  return {LeaseLost{epoch_, std::move(reason)}};
}

LeaseEffects LeaseKeeper::answered(uint64_t serial, const Result<LeaseAnswer>& answer, Instant now) {
  if (!is_asking_ || serial != serial_) return {};  // an older question's answer: a newer one was asked since
  return checked(take(answer, now));
}

LeaseEffects LeaseKeeper::take(const Result<LeaseAnswer>& answer, Instant now) {
  // The lease has run out while the answer was on its way: what was done under it meanwhile is not undone by a renewal.
  if (state_ == State::holding && now >= held_until_) return look_at_time(now);
  is_asking_ = false;
  if (!answer) {
    ask_at_ = now + settings_.retry_delay;
    return {};
  }
  ask_at_ = asked_at_ + settings_.renew_every;
  if (!answer->is_granted) {
    if (state_ == State::holding) return lose("it was given to " + answer->holder);
    // Not before its holder's time is over, and not long after.
    ask_at_ = now + std::clamp(answer->left, Millis(1), settings_.renew_every);
    if (std::exchange(holder_, answer->holder) == answer->holder) return {};
    return {LeaseWaits{answer->holder, answer->left}};
  }
  return take_grant(*answer, now);
}

LeaseEffects LeaseKeeper::take_grant(const LeaseAnswer& answer, Instant now) {
  if (state_ == State::holding && answer.epoch != epoch_) return lose("another held it in between");
  // The store counted from some moment after the question was asked.
  held_until_ = asked_at_ + (settings_.ttl - settings_.margin());
  if (state_ == State::holding) return {};
  if (now >= held_until_) {  // granted, but too late to use: ask again
    ask_at_ = now;
    return {};
  }
  state_ = State::holding;
  epoch_ = answer.epoch;
  return {LeaseHeld{epoch_}};
}

LeaseEffects LeaseKeeper::time_passed(Instant now) { return checked(look_at_time(now)); }

LeaseEffects LeaseKeeper::look_at_time(Instant now) {
  if (state_ == State::holding && now >= held_until_) return lose("it could not be renewed in time");
  if (state_ != State::waiting && state_ != State::holding) return {};
  if (!is_asking_) return now >= ask_at_ ? ask(now) : LeaseEffects{};
  // A question without an answer is asked anew: the store takes a repeat for the same.
  return now >= asked_at_ + settings_.renew_every ? ask(now) : LeaseEffects{};
}

LeaseEffects LeaseKeeper::checked(LeaseEffects effects) {
  if (step_check_.is_due(0)) check();
  return effects;
}

void LeaseKeeper::check() const {
  COT_INVARIANT((state_ == State::idle) == (serial_ == 0), "who has begun has asked");
  const bool is_at_it = state_ == State::waiting || state_ == State::holding;
  COT_INVARIANT(!is_asking_ || is_at_it, "who has not begun or has lost awaits no answer");
  COT_INVARIANT(next_deadline().has_value() == is_at_it, "who wants the lease or has it wakes up, and nobody else");
  COT_INVARIANT(state_ != State::holding || held_until_ <= asked_at_ + (settings_.ttl - settings_.margin()),
                "a lease is held no longer than from the question that was granted");
}

std::optional<Instant> LeaseKeeper::next_deadline() const {
  if (state_ != State::waiting && state_ != State::holding) return std::nullopt;
  const Instant question = is_asking_ ? asked_at_ + settings_.renew_every : ask_at_;
  return state_ == State::holding ? std::min(question, held_until_) : question;
}

}  // namespace coterie
