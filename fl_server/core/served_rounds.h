// ServedRounds: how the rounds of a leader's jobs are served, decided: which one a new one replaces, when one that
// begins to collect may be served, and what one that is extended keeps. Pure.
//
//   PublishRound, collecting --AskBeforeServing--> RoundReadied --ServePublished--> served, again with each change
//                                      ^                 | the store did not answer
//                                      +---- later ------+
//
// Before devices are asked for updates of a round, its leader looks into the store: whether there are accept rows of
// it, which an attempt with masks cannot go on from (attempt_machine.h); and for the attempt's own plan, if it has one.
// The attempt keeps that plan to its end. The store is asked again until it answers.
#pragma once

#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "scheduler/round/round_machine.h"

namespace coterie {

// What is known of a round before it is served. `plan` and `plan_bytes`: as in Assignment; the attempt's own.
struct ReadyRound {
  bool has_accepted = false;
  Digest plan;
  uint32_t plan_bytes = 0;
};

// ---- Events. A round machine's effects are two of them: PublishRound, which takes the place of any other round of its
// job, and WithdrawRound.
// clang-format off
struct RoundReadied { uint64_t serial; RoundKey key; Result<ReadyRound> ready; };
struct ServingTime {};
// clang-format on
using ServingEvent = std::variant<PublishRound, RoundReadied, WithdrawRound, ServingTime>;

// ---- Effects
// clang-format off
struct ChooseNow { JobId job; Population population; };    // the job's machine hears who waits; not in this call
struct AskBeforeServing { uint64_t serial; RoundNotice notice; };  // answer RoundReadied
// For the nodes, once it is signed. `begins`: to collect; `has_accepted` is of that moment.
struct ServePublished { PublishRound round; bool begins; bool has_accepted; };
struct StopServing { RoundKey key; };
// clang-format on
using ServingEffect = std::variant<ChooseNow, AskBeforeServing, ServePublished, StopServing>;
using ServingEffects = std::vector<ServingEffect>;

class ServedRounds {
 public:
  ServingEffects step(const ServingEvent& event, Instant now);
  std::optional<Instant> next_deadline() const;

  // It collects, and the store has not said what must be known before it is served.
  bool is_waiting(const RoundKey& key) const;

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  struct Round {
    PublishRound newest = {};
    std::optional<ReadyRound> ready = {};  // it has begun to collect
    std::optional<uint64_t> asked = {};    // the serial of a question on its way
    std::optional<Instant> ask_at = {};
    bool is_waiting() const { return newest.notice.state == RoundState::collecting && !ready; }
  };

  void handle(const PublishRound& event);
  void handle(const RoundReadied& event);
  void handle(const WithdrawRound& event);
  void handle(const ServingTime&);
  void ask(Round& round);
  void serve(const Round& round, bool begins);

  Instant now_{};
  ServingEffects effects_;
  StepCheck step_check_;
  std::map<RoundKey, Round> rounds_;
  uint64_t last_serial_ = 0;
};

}  // namespace coterie
