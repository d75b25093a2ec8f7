// CohortKeeper: keeps the sessions of secure aggregation of the rounds that this process leads, and has sums made into
// models: the shell around what decides about both (live_attempts.h).
//
// Threading: what is CohortOwner's, on any thread; the rest on the core's. Callbacks run on the core's thread and must
// only hand the answer on.
#pragma once

#include <functional>
#include <map>

#include "fl_server/core/live_attempts.h"
#include "fl_server/runtime/fleet_link.h"
#include "fl_server/runtime/round_scheduler_parts.h"
#include "fl_server/runtime/work_loops.h"

namespace coterie {

class CohortKeeper final : public CohortOwner {
 public:
  struct Calls {                               // on the core
    std::function<void(const TellJob&)> tell;  // must not step a round's machine in this call
    std::function<void(const TellNodesDue&)> tell_nodes;
  };
  // All but `calls` outlive this.
  CohortKeeper(const RoundSchedulerSettings& settings, const RoundSchedulerParts& parts, WorkLoops& loops, Calls calls)
      : settings_(settings), parts_(parts), loops_(loops), calls_(std::move(calls)) {}

  void step(const LiveEvent& event);
  // AttemptServed.
  void serve(const ServePublished& served);
  std::optional<Instant> next_deadline() const { return attempts_.next_deadline(); }

  void cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key, CohortMessage message,
                      std::function<void(Status)> answer) override;
  void cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                  std::function<void(Result<CohortReply>)> answer) override;
  void cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                            std::function<void(Status)> answer) override;

 private:
  using Taken = std::function<void(Status)>;
  using Asked = std::function<void(Result<CohortReply>)>;

  void perform(AnswerTaken& effect);
  void perform(AnswerAsked& effect);
  void perform(const TellNodesDue& effect) { calls_.tell_nodes(effect); }
  void perform(const TellJob& effect) { calls_.tell(effect); }
  void perform(const ListRows& effect);
  void perform(const ListForSum& effect);
  void perform(const FinalizeNow& effect);
  void perform(const NoteNotBegun& effect);
  void perform(const NoteFailed& effect);
  void perform(const NoteUnknownInput& effect);
  Result<std::vector<DeviceId>> survivors_of(const ListForSum& asked) const;
  void count_dropped(const RoundCohorts& cohorts) const;

  const RoundSchedulerSettings settings_;
  const RoundSchedulerParts parts_;
  WorkLoops& loops_;
  const Calls calls_;
  LiveAttempts attempts_;
  std::map<CohortCall, Taken> taken_;  // whom attempts answer
  std::map<CohortCall, Asked> asked_;
  uint64_t last_call_ = 0;
};

}  // namespace coterie
