// ServedRounds: how the rounds of a leader's jobs are served, decided: which one a new one replaces, when one that
// begins to collect may be served, what one that is extended keeps, and whose job's affair is what nodes say. Pure.
//
//   PublishRound, collecting --AskBeforeServing--> RoundReadied --ServePublished--> served, again with each change
//                                      ^                 | the store did not answer
//                                      +---- later ------+
//
// Before devices are asked for updates of a round, its leader looks into the store: whether there are accept rows of
// it, which an attempt with masks cannot go on from (attempt_machine.h); and for the attempt's own plan, if it has one.
// The attempt keeps that plan to its end. The store is asked again until it answers.
//
// What nodes say of devices that wait is kept: a round that is published later hears of it when it is to be chosen for.
#pragma once

#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "scheduler/round/round_machine.h"

namespace coterie {

// What is known of a round before it is served. `plan` and `plan_bytes`: as in Assignment; the attempt's own.
// `question`: what that plan asks where it is not what the job's plan does.
struct ReadyRound {
  bool has_accepted = false;
  Digest plan;
  uint32_t plan_bytes = 0;
  std::optional<AnalyticsRules> question = {};
};

// ---- Events. A round machine's effects are two of them: PublishRound, which takes the place of any other round of its
// job, and WithdrawRound.
// clang-format off
struct RoundReadied { uint64_t serial; RoundKey key; Result<ReadyRound> ready; };
struct PoolHeard { Population population; uint64_t waiting; };  // the nodes', all together, as all below
struct NodesCounted { uint32_t nodes; };
struct TicketsHeard { RoundKey key; uint32_t total; };
struct AcceptedHeard { RoundKey key; uint64_t total; };
struct ClockWasSet {};                                     // the wall clock, by which assignments end
struct ServingTime {};
// clang-format on
using ServingEvent = std::variant<PublishRound, RoundReadied, WithdrawRound, PoolHeard, NodesCounted, TicketsHeard,
                                  AcceptedHeard, ClockWasSet, ServingTime>;

// ---- Effects
// clang-format off
struct TellJob { JobId job; RoundEvent event; };  // the job's machine; not in this call, which it may have made
struct AskBeforeServing { uint64_t serial; RoundNotice notice; };  // answer RoundReadied
// For the nodes, once it is signed. `begins`: to collect; `has_accepted` is of that moment.
struct ServePublished { PublishRound round; bool begins; bool has_accepted; };
struct SignAgain { RoundNotice notice; Instant deadline; };  // for the nodes, as it was served last
struct StopServing { RoundKey key; RoundState state; Instant opened; };  // `state`: as it was published last
struct NoteUpdates { JobId job; RoundKey key; uint64_t number; uint64_t total; };  // for the log of events
// clang-format on
using ServingEffect = std::variant<TellJob, AskBeforeServing, ServePublished, SignAgain, StopServing, NoteUpdates>;
using ServingEffects = std::vector<ServingEffect>;

// When an assignment ends that is signed now, of an attempt with this deadline: so long behind it.
WallTime assignment_end(Instant deadline, Millis leeway, Now now);

class ServedRounds {
 public:
  ServingEffects step(const ServingEvent& event, Instant now);
  std::optional<Instant> next_deadline() const;

  // It collects, and the store has not said what must be known before it is served.
  bool is_waiting(const RoundKey& key) const;
  bool is_empty() const { return rounds_.empty(); }
  // Tickets that nodes have given. 0: it is not served.
  uint32_t issued(const RoundKey& key) const;
  const std::map<Population, uint64_t>& waiting() const { return waiting_; }
  uint32_t nodes() const { return nodes_; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  struct Round {
    PublishRound newest = {};
    std::optional<ReadyRound> ready = {};  // it has begun to collect
    std::optional<uint64_t> asked = {};    // the serial of a question on its way
    std::optional<Instant> ask_at = {};
    Instant opened;  // when it was published first
    uint32_t issued = 0;
    bool is_served = false;
    bool is_waiting() const { return newest.notice.state == RoundState::collecting && !ready; }
  };

  void handle(const PublishRound& event);
  void handle(const RoundReadied& event);
  void handle(const WithdrawRound& event);
  void handle(const PoolHeard& event);
  void handle(const NodesCounted& event);
  void handle(const TicketsHeard& event);
  void handle(const AcceptedHeard& event);
  void handle(const ClockWasSet&);
  void handle(const ServingTime&);
  void ask(Round& round);
  void serve(Round& round, bool begins);
  PublishRound as_served(const Round& round) const;
  void stop(const Round& round);
  void tell_pool(const RoundNotice& notice);

  Instant now_{};
  ServingEffects effects_;
  StepCheck step_check_;
  std::map<RoundKey, Round> rounds_;
  uint64_t last_serial_ = 0;
  std::map<Population, uint64_t> waiting_;  // devices, at so many nodes
  uint32_t nodes_ = 0;
};

}  // namespace coterie
