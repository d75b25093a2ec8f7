// RoundMachine: one job's rounds, decided. Pure: no clock, store, thread or randomness; the same events give the same
// effects.
//
//                 pool full or        goal reached, or           claimed            model durable,
//    opened       time over           deadline with enough                          round committed
//   ---------> selecting ---------> collecting ---------> frozen ---------> finalizing ---------> done -> next round
//                                    |  ^  | deadline, nobody                  | damage, repeatedly
//                  deadline, too few +--+  +-----------------------------------+------> failed -> attempt + 1
//
// A device that was told "accepted" counts: an attempt fails only if nobody was accepted, if what is stored is damaged,
// if the operator cancels the job, or if the devices' masks cannot be taken off the sum (AttemptLost). With too few
// updates at the deadline, the deadline moves and more devices are let in.
//
// Safety rests on the store: every move is a compare-and-set on (round, attempt, state), a commit checks its round
// again. A job whose privacy budget admits no further release ends before it asks devices for one.
//
// The machine has at most one effect of its own in flight, so a lost answer is simply asked for again. A lost race (the
// store says another state) makes it reload and go on from what is true. A restart is the same thing: load and go on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "base/result.h"
#include "scheduler/job/records.h"
#include "scheduler/round/attempt_rules.h"
#include "scheduler/round/round_moves.h"
#include "scheduler/round/round_notice.h"
#include "scheduler/round/round_policy.h"

namespace coterie {

// ---- Effects. Those that ask the store or the finalizer carry a serial; the answer echoes it, and an answer to an
// older serial is ignored.
// OpenRound, MoveRound and CommitRound are the store's own requests (round_moves.h).
// clang-format off
struct LoadProgress {};
struct CountAccepted { RoundKey key; };  // hints get lost; rows do not
struct FinalizeRound { JobRecord job; RoundRecord round; ModelRecord base; };
struct FailJob { std::string reason; };
// clang-format on
using RoundRequest =
    std::variant<LoadProgress, OpenRound, CountAccepted, MoveRound, FinalizeRound, CommitRound, FailJob>;

// clang-format off
struct AskRound { uint64_t serial; RoundRequest request; };
struct PublishRound { RoundNotice notice; AttemptRules rules; };
struct WithdrawRound { RoundKey key; };  // nothing to do for devices any more
// clang-format on
using RoundEffect = std::variant<AskRound, PublishRound, WithdrawRound>;
using RoundEffects = std::vector<RoundEffect>;

// ---- Events
// clang-format off
struct ProgressLoaded { uint64_t serial; Result<JobProgress> progress; };
struct RoundOpened { uint64_t serial; Result<RoundRecord> round; };
struct AcceptedCounted { uint64_t serial; Result<uint64_t> total; };
// false: the round was in another state, or somebody counts (MoveRound::if_nobody_counts)
struct RoundMoved { uint64_t serial; Result<bool> won; };
struct RoundFinalized { uint64_t serial; Result<FinalizedRound> round; };
// An error of conflict: the round was not ours to commit.
struct RoundCommitted { uint64_t serial; Result<JobProgress> progress; };
struct JobFailed { uint64_t serial; Status done; };
// Devices of the population that wait now, at so many nodes.
struct PoolChanged { uint64_t waiting; uint32_t nodes = 1; };
struct TicketsIssued { RoundKey key; uint32_t total; };
struct UpdatesAccepted { RoundKey key; uint64_t total; };                     // hint: so many accept rows are durable
// Secure aggregation only: so many accept rows are durable, and no more can come, as the attempt's roster is closed.
struct UpdatesExpected { RoundKey key; uint64_t total; };
struct AttemptLost { RoundKey key; std::string reason; };     // its sum will never be known
struct JobStateChanged { JobState state; };                                   // an operator's command, already durable
struct TimePassed {};
// clang-format on
using RoundEvent = std::variant<ProgressLoaded, RoundOpened, AcceptedCounted, RoundMoved, RoundFinalized,
                                RoundCommitted, JobFailed, PoolChanged, TicketsIssued, UpdatesAccepted, UpdatesExpected,
                                AttemptLost, JobStateChanged, TimePassed>;

class RoundMachine {
 public:
  explicit RoundMachine(JobId job) : job_id_(std::move(job)) {}

  // The first effect: LoadProgress.
  RoundEffects start();
  RoundEffects step(const RoundEvent& event, Instant now);
  std::optional<Instant> next_deadline() const;

  bool ended() const { return phase_ == Phase::ended; }
  bool is_loading() const { return phase_ == Phase::loading; }
  const JobId& job_id() const { return job_id_; }
  // For status pages; empty before the first load.
  const std::optional<RoundRecord>& round() const { return round_; }
  uint64_t accepted() const { return accepted_; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  friend struct RoundTamperer;  // a test that breaks an invariant

  enum class Phase : uint8_t {
    loading,
    resting,  // paused between rounds
    opening,
    selecting,
    starting,  // moving to collecting
    collecting,
    freezing,  // moving to frozen
    claiming,  // moving to finalizing
    finalizing,
    committing,
    failing,    // moving to failed
    delaying,   // before the next attempt
    giving_up,  // failing the job
    ended,
  };

  void handle(const ProgressLoaded& event);
  void handle(const RoundOpened& event);
  void handle(const AcceptedCounted& event);
  void handle(const RoundMoved& event);
  void handle(const RoundFinalized& event);
  void handle(const RoundCommitted& event);
  void handle(const JobFailed& event);
  void handle(const PoolChanged& event);
  void handle(const TicketsIssued& event);
  void handle(const UpdatesAccepted& event);
  void handle(const UpdatesExpected& event);
  void handle(const AttemptLost& event);
  void handle(const JobStateChanged& event);
  void handle(const TimePassed& event);

  void adopt(const JobProgress& progress);
  void open_next();
  void open_attempt(Attempt attempt);
  void enter_selecting();
  void consider_choice();
  void enter_collecting();
  void collect();
  void consider_freeze(bool counted);
  void count_when_due(bool late);
  void freeze();
  void claim();
  void finalize();
  void fail_as_nobody_came();
  MoveRound failed_because(std::string reason) const;
  void fail_attempt(MoveRound move);
  void fail_attempt(std::string reason) { fail_attempt(failed_because(std::move(reason))); }
  void after_failure();
  void give_up(std::string reason);
  void end();
  void reload();

  static constexpr uint32_t kFinalizeFailuresMax = 5;
  // Attempts of a round behind attempts_max that may follow restarts: a job that kills its server ends, too.
  static constexpr uint32_t kRestartsMax = 100;

  // One request at a time: ask() replaces whatever we waited for; is_answer() says whether an event answers it.
  void ask(RoundRequest request);
  bool is_answer(uint64_t serial) const { return pending_ && serial == serial_; }
  void answered();
  void ask_again_later();
  PublishRound published() const;
  const HorizontalSettings& settings() const { return job_.spec.horizontal(); }
  RoundPolicy policy() const { return RoundPolicy(settings()); }
  void check_request() const;
  void check_round() const;
  void check_deadlines() const;
  void check_effects() const;

  JobId job_id_;
  Phase phase_ = Phase::loading;
  Instant now_{};
  RoundEffects effects_;

  JobRecord job_;
  ModelRecord head_;
  std::optional<RoundRecord> round_;
  uint64_t accepted_ = 0;
  std::string privacy_stop_;
  std::string release_stop_;  // why what a round's sum comes to is no model to release
  uint64_t waiting_ = 0;
  uint32_t nodes_ = 0;
  uint32_t tickets_ = 0;
  uint32_t extensions_ = 0;
  uint32_t finalize_failures_ = 0;
  bool choice_overdue_ = false;
  bool is_resumed_ = false;  // the attempt was collecting when this machine first saw it

  std::optional<RoundRequest> pending_;
  uint64_t serial_ = 0;
  uint32_t repeats_ = 0;
  std::optional<Instant> repeat_at_;
  std::optional<Instant> deadline_;  // when the present phase wants to be woken
  Instant collect_until_{};
  bool final_count_ = false;  // the count asked for was asked after collect_until_
  StepCheck step_check_;
};

}  // namespace coterie
