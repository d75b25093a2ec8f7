// RoundRequests: puts what round machines ask to the store, and brings its answers back; tells of what has come true
// there before anybody acts on it.
//
// Threading: the core's thread. Requests run on the store's thread.
#pragma once

#include <functional>

#include "fl_server/core/live_attempts.h"
#include "fl_server/runtime/round_scheduler_parts.h"
#include "fl_server/runtime/work_loops.h"
#include "scheduler/round/round_machine.h"

namespace coterie {

class RoundRequests {
 public:
  struct Calls {  // on the core
    std::function<void(const JobId&, const RoundEvent&)> answer;
    std::function<void(const FinalizeWanted&)> finalize;  // what is no request to the store
  };
  // `parts` and `loops` outlive this.
  RoundRequests(const RoundSchedulerParts& parts, WorkLoops& loops, Calls calls)
      : parts_(parts), loops_(loops), calls_(std::move(calls)) {}

  // `number`: of the job's round; 0: it has none.
  void ask(const JobId& job, uint64_t number, const AskRound& asked);
  // Removes partial sums of rounds that are over, some at a time.
  void clean_up_partials();
  // Canaries hear what they have not heard of their evaluation jobs.
  void feed_canaries();

 private:
  template <typename Answer, typename Work>
  void ask_store(const JobId& job, uint64_t serial, Work work);
  // `work`, told to the probe as a call for this attempt.
  template <typename Work>
  auto probed(const char* call, const RoundKey& key, Work work) const;
  void tell_opened(const JobId& job, const RoundRecord& round) const;
  void tell_committed(const CommitRound& request, const JobProgress& progress);

  const RoundSchedulerParts parts_;
  WorkLoops& loops_;
  const Calls calls_;
};

}  // namespace coterie
