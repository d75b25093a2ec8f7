// LeaseKeeper: asks for a lease until it has it, renews it, and says when it is lost. Pure: the shell asks the store.
//
//   waiting   asks every renew_every, or when the present holder's time is over
//   holding   renews every renew_every; until `held_until`, a margin before the store's time is over
//   lost      for good: whoever acted under the lease starts anew, with a new name (as in Kubernetes' leader election)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "base/result.h"
#include "scheduler/lease/lease.h"

namespace coterie {

// ---- Effects
// clang-format off
// To be answered with answered(serial, ...), in any order, or never.
struct AskLease { uint64_t serial; };
struct LeaseHeld { LeaseEpoch epoch; };                      // from now on, until LeaseLost
struct LeaseWaits { std::string holder; Millis left; };      // somebody else has it: told when the holder changes
struct LeaseLost { LeaseEpoch epoch; std::string reason; };  // stop acting at once
// clang-format on
using LeaseEffect = std::variant<AskLease, LeaseHeld, LeaseWaits, LeaseLost>;
using LeaseEffects = std::vector<LeaseEffect>;

class LeaseKeeper {
 public:
  explicit LeaseKeeper(LeaseSettings settings) : settings_(settings) {}

  LeaseEffects start(Instant now);
  LeaseEffects answered(uint64_t serial, const Result<LeaseAnswer>& answer, Instant now);
  LeaseEffects time_passed(Instant now);
  std::optional<Instant> next_deadline() const;

  // Whether to act now. Ask before each act: a process that was stopped does not know how late it is until it looks.
  bool holds(Instant now) const { return state_ == State::holding && now < held_until_; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  enum class State : uint8_t { idle, waiting, holding, lost };

  LeaseEffects take(const Result<LeaseAnswer>& answer, Instant now);
  LeaseEffects take_grant(const LeaseAnswer& answer, Instant now);
  LeaseEffects look_at_time(Instant now);
  LeaseEffects ask(Instant now);
  LeaseEffects checked(LeaseEffects effects);
  LeaseEffects lose(std::string reason);

  LeaseSettings settings_;
  State state_ = State::idle;
  uint64_t serial_ = 0;
  Instant asked_at_;
  bool is_asking_ = false;
  Instant ask_at_;  // when nothing is asked
  Instant held_until_;
  LeaseEpoch epoch_;
  std::string holder_;  // while it waits: who has the lease
  StepCheck step_check_;
};

}  // namespace coterie
