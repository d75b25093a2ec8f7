// RoundScheduler: leads the rounds of all jobs: the shell around their round machines (RoundMachine). Each other
// subject of leading has a shell of its own: what machines ask the store (RoundRequests), how rounds are served
// (RoundPublisher), what comes of masked attempts and of sums (CohortKeeper). One thread (the core) steps them all;
// effects go to the store's thread and the compute pool and come back as events. Those who talk to devices hear of
// rounds from it (RoundBoard) and tell it what comes of them (NodeEvents).
//
// Threading: every public method may be called from any thread; callbacks run on the core's thread and must only hand
// the answer on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "fl_server/runtime/fleet_link.h"
#include "fl_server/runtime/round_scheduler_parts.h"
#include "fl_server/runtime/scheduler_status.h"
#include "fl_server/runtime/work_loops.h"
#include "scheduler/round/round_machine.h"

namespace coterie {

class CohortKeeper;
class RoundPublisher;
class RoundRequests;
struct TellJob;

class RoundScheduler final : public NodeEvents {
 public:
  RoundScheduler(RoundSchedulerSettings settings, RoundSchedulerParts parts);
  ~RoundScheduler() override;

  // Loads every job from the store and goes on where it stands. `board` outlives this.
  Status start(RoundBoard& board);
  // Calls back once every job is loaded, and the board has heard of each round that collects: at once, but for the
  // moments after a start.
  void when_settled(std::function<void()> done);
  // Answers every question of a device that is held with "not yet", and so every later one.
  void answer_all_held();
  // Stops all threads. Tasks under way finish.
  void stop();

  // ---- From nodes: of all of them together
  void pool_changed(const Population& population, uint64_t waiting) override;
  void nodes_changed(uint32_t nodes);
  void tickets_issued(const RoundKey& key, uint32_t total) override;
  void tickets_lacking(const RoundKey&, uint64_t) override {}  // whoever deals tickets to nodes looks at it
  void updates_accepted(const RoundKey& key, uint64_t total) override;
  void update_accepted(const RoundKey& key, const DeviceId& device) override;
  // More may have been accepted than update_accepted() was told of, if masks are to be taken off: the rows say.
  void look_at_accepted(const RoundKey& key);

  // Keeps the sessions of the rounds that it leads.
  CohortOwner& cohorts();

  // ---- Admin plane
  void job_created(const JobId& job);
  void job_state_changed(const JobId& job, JobState state);
  // It may name a job that has had rounds.
  void canary_opened();
  SchedulerStatus status() const { return status_.status(); }
  // StatusBoard::now_of.
  std::optional<JobNow> now_of(const JobId& job, const Population& population) const {
    return status_.now_of(job, population);
  }

 private:
  // All below run on the core thread.
  void step(const JobId& job, const RoundEvent& event);
  void run(const JobId& job, const RoundEffects& effects);
  void tell(const TellJob& told);
  template <typename Event>
  void hear(Event event);
  void consider_settled();
  void refresh_status();
  void on_deadline();
  std::optional<Instant> next_deadline() const;

  const RoundSchedulerSettings settings_;
  const RoundSchedulerParts parts_;
  RoundBoard* board_ = nullptr;

  WorkLoops loops_;
  std::map<JobId, RoundMachine> machines_;
  std::unique_ptr<CohortKeeper> cohorts_;
  std::unique_ptr<RoundPublisher> publisher_;
  std::unique_ptr<RoundRequests> requests_;
  StatusBoard status_;
  std::vector<std::function<void()>> on_settled_;
};

}  // namespace coterie
