// RoundScheduler: the shell around the round machines of all jobs (RoundMachine), around what decides how their rounds
// are served (ServedRounds), and around the attempts that aggregate securely (AttemptMachine). One thread (the core)
// steps them; effects go to the store's thread and the compute pool and come back as events. Those who talk to devices
// hear of rounds from it (RoundBoard) and tell it what comes of them (NodeEvents).
//
// Threading: every public method may be called from any thread; callbacks run on the core's thread and must only hand
// the answer on.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "fl_server/core/attempt_machine.h"
#include "fl_server/core/clock_watch.h"
#include "fl_server/core/served_rounds.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/events/job_now.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/runtime/fleet_link.h"
#include "fl_server/runtime/revocations.h"
#include "fl_server/runtime/work_loop.h"
#include "fl_server/runtime/work_pool.h"
#include "fl_server/store/accept_store.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/ledger_store.h"
#include "fl_server/store/round_store.h"
#include "fl_server/telemetry/metrics.h"
#include "scheduler/round/round_machine.h"
#include "secure/crypto/signature.h"

namespace coterie {

struct RoundSchedulerSettings {
  Millis ticket_leeway{10'000};  // a ticket outlives its round's deadline by this
  size_t pool_threads = 2;
  // A partial sum that no row names is removed at start once it is so old: where other nodes write them while this one
  // starts, longer than a batch takes to be committed.
  Millis orphan_age_min{0};
  // Ed25519, of whoever certifies devices. Devices that trust it share with nobody in whose cohort there is a stranger:
  // at active and above such a device is not let in. Empty: whoever is enrolled is.
  Bytes authority_key;
  // Of that authority; null: none.
  std::shared_ptr<const Revocations> revocations;
};

// What the scheduler works on; outlives it.
struct RoundSchedulerParts {
  JobStore& jobs;
  RoundStore& rounds;
  AcceptStore& accepts;
  LedgerStore& ledger;
  BlobStore& blobs;
  BlobStore& partials;
  const Finalizer& finalizer;
  const Signer& signer;
  Metrics& metrics;
  EventHub& events;
};

// What is going on now, for status pages.
struct SchedulerStatus {
  struct Job {
    JobId job;
    std::optional<RoundRecord> round;
    uint64_t accepted = 0;
    uint32_t selected = 0;
  };
  std::vector<Job> jobs;
  std::map<Population, uint64_t> waiting;
  uint32_t nodes = 0;  // that talk to devices
};

class RoundScheduler final : public NodeEvents, public CohortOwner {
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

  // ---- Secure aggregation (round_scheduler_cohorts.cc)
  void cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key, CohortMessage message,
                      std::function<void(Status)> answer) override;
  void cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                  std::function<void(Result<CohortReply>)> answer) override;
  void cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                            std::function<void(Status)> answer) override;

  // ---- Admin plane
  void job_created(const JobId& job);
  void job_state_changed(const JobId& job, JobState state);
  SchedulerStatus status() const;
  // Nothing: no machine runs this job, or not yet.
  std::optional<JobNow> now_of(const JobId& job, const Population& population) const;

 private:
  struct LiveRound {
    RoundNotice notice;  // as it is served, or was published first
    Instant opened;
    uint32_t issued = 0;
    std::optional<Instant> deadline = {};  // of what is served; none: nothing is yet
  };

  // An attempt whose updates are behind masks.
  struct LiveAttempt {
    JobId job;
    SecurityLevel level;
    AttemptMachine machine;
    std::optional<FinalizeRound> finalize = {};  // asked for last
  };
  using Taken = std::function<void(Status)>;
  using Asked = std::function<void(Result<CohortReply>)>;

  // All below run on the core thread.
  void step_round(const JobId& job, const RoundEvent& event);
  void run(const JobId& job, RoundEffects effects);
  void consider_settled();
  void tell_pool(const JobId& job, const Population& population);

  void begin_cohorts(const RoundNotice& notice, const AttemptRules& rules, bool has_accepted);
  LiveAttempt& attempt_of(const RoundKey& key, const JobId& job, SecurityLevel level);
  void step_attempt(const RoundKey& key, const AttemptEvent& event);
  void run(const RoundKey& key, AttemptEffects effects);
  CohortCall expect(Taken answer);
  CohortCall expect(Asked answer);
  void end_cohorts(const RoundKey& key);
  void list_survivors(const RoundKey& key, SecurityLevel level, std::optional<uint64_t> serial);
  Result<std::vector<DeviceId>> survivors_of(const RoundKey& key, SecurityLevel level) const;
  void finalize_cohorts(const JobId& job, uint64_t serial, const FinalizeRound& finalize);
  void finalize(const JobId& job, uint64_t serial, const FinalizeRound& finalize, const std::optional<OpenSum>& sum);
  void count_dropped(const RoundCohorts& cohorts) const;

  void add_machine(const JobId& job);
  void publish(const PublishRound& round);
  void step_served(const ServingEvent& event);
  void ask_before_serving(const AskBeforeServing& asked);
  Result<ReadyRound> ready(const RoundNotice& notice) const;
  void serve(const ServePublished& served);
  bool sign(RoundNotice& notice, Instant deadline) const;
  void look_at_clock();
  void withdraw(const RoundKey& key);
  void ask(const JobId& job, uint64_t serial, const RoundRequest& request);
  template <typename Answer, typename Work>
  void ask_store(const JobId& job, uint64_t serial, Work work);
  void after_commit(const CommitRound& request, const JobProgress& progress);
  void tell_opened(const JobId& job, const RoundRecord& round);
  uint64_t number_of_round(const JobId& job) const;
  void clean_up_partials();
  void on_deadline();
  std::optional<Instant> next_deadline() const;
  void refresh_status();

  RoundSchedulerSettings settings_;
  RoundSchedulerParts parts_;
  RoundBoard* board_ = nullptr;

  std::map<JobId, RoundMachine> machines_;
  std::map<Population, uint64_t> waiting_;
  uint32_t nodes_ = 0;
  ServedRounds served_;
  std::map<RoundKey, LiveRound> rounds_;
  std::map<RoundKey, LiveAttempt> attempts_;
  std::map<CohortCall, Taken> taken_;  // whom attempts answer
  std::map<CohortCall, Asked> asked_;
  uint64_t last_call_ = 0;
  std::vector<std::function<void()>> on_settled_;
  bool draining_ = false;
  ClockWatch clock_{os::now()};
  Instant look_at_clock_{};

  mutable std::mutex status_mutex_;
  SchedulerStatus status_;

  WorkPool pool_;
  WorkLoop store_;
  WorkLoop core_;
};

}  // namespace coterie
