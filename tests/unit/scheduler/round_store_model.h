// A store and a finalizer that answer a round machine truthfully: one job, its newest attempt, compare-and-set on
// (round, attempt, state). For tests that ask whether a machine goes on after something went wrong.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "scheduler/round/round_machine.h"

namespace coterie::test {

class RoundStoreModel {
 public:
  RoundStoreModel() = default;
  // As it stands when a machine has held `latest`, with `accepted` rows, in a job in this state.
  RoundStoreModel(JobRecord job, std::optional<RoundRecord> latest, uint64_t accepted)
      : job_(std::move(job)), latest_(std::move(latest)), accepted_(accepted) {
    if (latest_) job_.rounds_done = latest_->number - (latest_->state == RoundState::done ? 0 : 1);
    if (!latest_) job_.rounds_done = 0;
  }

  RoundEvent answer(uint64_t serial, const RoundRequest& request) {
    return std::visit([&](const auto& r) { return carry_out(serial, r); }, request);
  }
  JobState job_state() const { return job_.state; }
  uint64_t rounds_done() const { return job_.rounds_done; }
  uint64_t rounds_wanted() const { return job_.spec.horizontal().rounds.count; }

 private:
  static Error conflict() { return Error(ErrorCode::conflict, "the round is not as it was thought to be"); }
  bool is(const RoundKey& key, RoundState state) const {
    return latest_ && latest_->key == key && latest_->state == state;
  }

  JobProgress progress() const {
    JobProgress progress;
    progress.job = job_;
    progress.head.job = job_.id;
    progress.head.version = ModelVersion(job_.rounds_done);
    progress.latest = latest_;
    progress.accepted = accepted_;
    return progress;
  }

  RoundEvent carry_out(uint64_t serial, const LoadProgress&) { return ProgressLoaded{serial, progress()}; }

  RoundEvent carry_out(uint64_t serial, const OpenRound& open) {
    const bool is_there = latest_ && latest_->number == open.number && latest_->key.attempt == open.attempt;
    if (is_there) return RoundOpened{serial, *latest_};
    const bool may_open = !latest_ || latest_->state == RoundState::done || latest_->state == RoundState::failed;
    if (!may_open || open.number != job_.rounds_done + 1) return RoundOpened{serial, conflict()};
    RoundRecord round;
    round.key = {open.round.value_or(RoundId(1'000 + open.number)), open.attempt};
    round.job = job_.id;
    round.number = open.number;
    latest_ = round;
    accepted_ = 0;
    return RoundOpened{serial, *latest_};
  }

  RoundEvent carry_out(uint64_t serial, const CountAccepted&) {
    accepted_ = 1'000;  // everybody has sent an update by now
    return AcceptedCounted{serial, accepted_};
  }

  RoundEvent carry_out(uint64_t serial, const MoveRound& move) {
    if (!is(move.key, move.from) || (move.if_nobody_counts && accepted_ > 0)) return RoundMoved{serial, false};
    latest_->state = move.to;
    latest_->reason = move.reason;
    return RoundMoved{serial, true};
  }

  RoundEvent carry_out(uint64_t serial, const FinalizeRound& finalize) {
    FinalizedRound round;
    round.key = finalize.round.key;
    return RoundFinalized{serial, round};
  }

  RoundEvent carry_out(uint64_t serial, const CommitRound& commit) {
    if (!is(commit.round.key, RoundState::finalizing)) return RoundCommitted{serial, conflict()};
    latest_->state = RoundState::done;
    job_.rounds_done = latest_->number;
    if (commit.completes_job) job_.state = JobState::completed;
    return RoundCommitted{serial, progress()};
  }

  RoundEvent carry_out(uint64_t serial, const FailJob&) {
    job_.state = JobState::failed;
    return JobFailed{serial, {}};
  }

  JobRecord job_;
  std::optional<RoundRecord> latest_;
  uint64_t accepted_ = 0;
};

}  // namespace coterie::test
