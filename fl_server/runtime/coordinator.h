// Coordinator: the shell around the pure machines of a server process. One thread (the core) steps the check-in desk, the
// ingest machine and every job's round machine; effects go to the store's thread and the compute pool and come back as
// events. Nothing here decides anything.
//
// Threading: every public method may be called from any thread; callbacks run on the core's thread and must only hand
// the answer on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <variant>

#include "fl_server/core/ingest_machine.h"
#include "fl_server/core/round_cohorts.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/runtime/concurrent_sum.h"
#include "fl_server/runtime/coordinator_settings.h"
#include "fl_server/runtime/work_loop.h"
#include "fl_server/runtime/work_pool.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/round_store.h"
#include "fl_server/telemetry/metrics.h"
#include "proto/messages/update.h"
#include "scheduler/round/round_machine.h"
#include "scheduler/selection/checkin_desk.h"
#include "secure/crypto/mac.h"
#include "secure/crypto/signature.h"

namespace coterie {

// What the coordinator works on; outlives it.
struct CoordinatorParts {
  RoundStore& rounds;
  BlobStore& blobs;
  BlobStore& partials;
  const Finalizer& finalizer;
  const MacKey& ticket_key;
  const Signer& signer;
  Metrics& metrics;
};

using CheckinAnswer = std::variant<Assignment, RetryWindow>;

// An update's body in memory: the frame as it came, and the values inside it; or of a masked one its header and lanes.
struct UploadBody {
  std::shared_ptr<const void> storage;
  std::span<const float> values;
  uint32_t weight = 0;
  std::optional<MaskedInput> masked = {};
  AnyLanes lanes = {};
};

struct UploadAdmitted {
  UpdateRules rules;
  Digest model;
  std::optional<secagg::SessionParameters> session = {};  // what a masked update is due for; none: the update itself is due
};
struct UploadAccepted { Receipt receipt; };
struct UploadRefused { Error error; RetryWindow window; };
using UploadAnswer = std::variant<UploadAdmitted, UploadAccepted, UploadRefused>;

// What is going on now, for status pages.
struct CoordinatorStatus {
  struct Job {
    JobId job;
    std::optional<RoundRecord> round;
    uint64_t accepted = 0;
    uint32_t selected = 0;
  };
  std::vector<Job> jobs;
  std::map<Population, uint64_t> waiting;
  uint64_t bytes_in_flight = 0;
};

class Coordinator {
 public:
  Coordinator(CoordinatorSettings settings, CoordinatorParts parts);
  ~Coordinator();

  // Loads every job from the store and goes on where it stands.
  Status start();
  // Sends every waiting device away with a retry window, and so every later one.
  void dismiss_waiters();
  // Waits until no upload is on its way, at most `patience`; then stops all threads. Tasks under way finish.
  void stop(Millis patience);

  // ---- Device plane
  WaiterId check_in(const DeviceId& device, const Population& population, Millis hold,
                    std::function<void(CheckinAnswer)> answer);
  void cancel_check_in(WaiterId waiter);
  void ticket_undelivered(const RoundKey& key, const DeviceId& device);
  // What a device says about an earlier assignment: for metrics and the log.
  void plan_refused(const DeviceId& device, const Refusal& refusal);

  // Admitted: read the body, then call received() or lost(). Anything else ends the upload.
  UploadId offer(const RoundKey& key, const DeviceId& device, uint64_t bytes, std::function<void(UploadAnswer)> answer);
  void received(UploadId upload, UploadBody body, const RoundTotals& contribution,
                std::function<void(UploadAnswer)> answer);
  void lost(UploadId upload);

  // ---- Secure aggregation (coordinator_cohorts.cc). `key` is that of the device's ticket.
  void cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key, CohortMessage message,
                      std::function<void(Status)> answer);
  // Held until there is an answer, at most so long.
  void cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                  std::function<void(Result<CohortReply>)> answer);
  // A masked update with this header has come, its lanes fit: whether it is welcome.
  void cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                          std::function<void(Status)> answer);

  // ---- Admin plane
  void job_created(const JobId& job);
  void job_state_changed(const JobId& job, JobState state);
  CoordinatorStatus status() const;

 private:
  struct Upload {
    RoundKey key;
    DeviceId device;
    std::function<void(UploadAnswer)> answer;  // to be called once; none while the body is on its way
    UploadBody body;
    uint64_t bytes = 0;
    std::optional<UploadAnswer> decided = {};  // while the body was on its way
  };
  struct LiveRound {  // a round this node serves
    RoundView view;
    std::optional<secagg::SessionParameters> session;  // of its updates' masks
    uint64_t lane_count = 0;               // of its sum
    std::optional<Assignment> assignment;  // signed once, the ticket differs by device
    std::shared_ptr<ConcurrentSum> sum;
    uint32_t issued = 0;
    Instant opened;
  };
  struct LiveBatch {
    std::shared_ptr<ConcurrentSum> sum;
    PartialRecord partial;  // its id is empty until the batch is spilled
    Instant began;
  };

  // A round's cohorts, which aggregate securely. Shared with the task that opens their sum.
  struct LiveCohorts {
    RoundCohorts machine;
    secagg::SessionParameters parameters;
    std::map<DeviceId, MaskedInput> inputs;  // whose lanes are being added, or are accepted
    struct Finalize {
      JobId job;
      uint64_t serial;
      FinalizeRound request;
    };
    std::optional<Finalize> finalize;        // asked for, not begun
    std::optional<uint32_t> told_due = {};
    bool told_expected = false;

    struct Question {
      DeviceId device;
      CohortQuestion what;
      Instant until;
      std::function<void(Result<CohortReply>)> answer;
    };
    std::vector<Question> held;              // in order of arrival, and so of `until`
    uint32_t held_at = 0;                    // the progress at which none of them had an answer
  };

  // All below run on the core thread.
  void step_ingest(const IngestEvent& event);
  void step_round(const JobId& job, const RoundEvent& event);
  void run(DeskEffects effects);
  void run(IngestEffects effects);
  void run(const JobId& job, RoundEffects effects);
  void perform(DeskEffect& effect);
  void perform(IngestEffect& effect);
  void give_ticket(const GiveTicket& effect);
  void answer(UploadId upload, UploadAnswer answer);
  void add_update(UploadId upload, BatchId batch);
  void spill(const SpillBatch& effect);
  void commit(const CommitBatch& effect);
  void drop(BatchId batch);

  void begin_cohorts(const RoundView& view, bool has_accepted);
  void masked_update_accepted(const RoundKey& key, const DeviceId& device);
  void after_cohorts(const RoundKey& key);
  void answer_held(LiveCohorts& cohorts);
  void end_cohorts(const RoundKey& key);
  Result<std::vector<DeviceId>> survivors_of(const RoundKey& key, SecurityLevel level) const;
  void freeze_cohorts(const RoundView& view);
  void finalize_cohorts(const JobId& job, uint64_t serial, const FinalizeRound& finalize);
  void finalize(const JobId& job, uint64_t serial, const FinalizeRound& finalize, std::shared_ptr<LiveCohorts> cohorts);
  static std::optional<secagg::SessionParameters> session_of(const RoundView& view);  // none: without masks
  void count_dropped(const RoundCohorts& cohorts) const;

  void add_machine(const JobId& job);
  void publish(const RoundView& view);
  Status make_plan(RoundView& view);
  void serve(const RoundView& view, std::vector<DeviceId> accepted);
  void withdraw(const RoundKey& key);
  void ask(const JobId& job, uint64_t serial, const RoundRequest& request);
  template <typename Answer, typename Work>
  void ask_store(const JobId& job, uint64_t serial, Work work);
  void after_commit(const CommitRound& request, const JobProgress& progress);
  void clean_up_partials();
  Status remove_orphans(const std::vector<JobRecord>& jobs);
  void on_deadline();
  std::optional<Instant> next_deadline() const;
  void refresh_status();

  CoordinatorSettings settings_;
  CoordinatorParts parts_;
  std::string incarnation_;

  CheckinDesk desk_;
  IngestMachine ingest_;
  std::map<JobId, RoundMachine> machines_;
  std::map<Population, uint64_t> waiting_;
  std::map<RoundKey, LiveRound> rounds_;
  std::map<RoundKey, std::shared_ptr<LiveCohorts>> cohorts_;
  std::map<RoundKey, RoundView> unserved_;  // published, but the store did not say yet who is accepted
  std::unordered_map<WaiterId, std::function<void(CheckinAnswer)>> waiters_;
  std::unordered_map<UploadId, Upload> uploads_;
  std::map<BatchId, LiveBatch> batches_;
  std::shared_ptr<ConcurrentSum> spare_sum_;  // the last round's buffer: its pages are there already

  std::atomic<uint64_t> next_id_{1};
  mutable std::mutex status_mutex_;
  std::condition_variable idle_changed_;
  CoordinatorStatus status_;
  bool idle_ = true;
  bool draining_ = false;  // core thread

  WorkPool pool_;
  WorkLoop store_;
  WorkLoop core_;
};

}  // namespace coterie
