// DevicePlane: the shell around the pure machines of a node that talks to devices: the check-in desk, the round intake
// and the ingest machine. One thread (the core) steps them; effects go to the store's thread and the compute pool and
// come back as events. Which rounds there are the scheduler says (RoundBoard). Nothing here decides anything.
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

#include "aggregation/accumulate/kept_updates.h"
#include "aggregation/accumulate/ring_sum.h"
#include "fl_server/core/attempt_terms.h"
#include "fl_server/core/ingest_machine.h"
#include "fl_server/core/round_intake.h"
#include "fl_server/runtime/fleet_link.h"
#include "fl_server/runtime/ticket_terms.h"
#include "fl_server/runtime/upload_slot.h"
#include "fl_server/runtime/work_loop.h"
#include "fl_server/runtime/work_pool.h"
#include "fl_server/settings/device_plane_settings.h"
#include "fl_server/store/accept_store.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/ledger_store.h"
#include "fl_server/telemetry/metrics.h"
#include "proto/messages/update.h"
#include "scheduler/selection/checkin_desk.h"
#include "secure/crypto/mac.h"

namespace coterie {

// What the device plane works on; outlives it.
struct DevicePlaneParts {
  AcceptStore& accepts;
  LedgerStore& ledger;
  BlobStore& partials;
  const MacKey& ticket_key;
  Metrics& metrics;
};

using CheckinAnswer = std::variant<Assignment, RetryWindow>;

class DevicePlane final : public RoundBoard {
 public:
  // `incarnation` names this life of this process.
  DevicePlane(DevicePlaneSettings settings, std::string incarnation, DevicePlaneParts parts);
  ~DevicePlane() override;

  // `events` is told what happens here; outlives this. Where rounds are heard of late, `refresh` hears of them now, and
  // calls back, on any thread, when serve() has been called for each; may be empty.
  using RefreshRounds = std::function<void(std::function<void()> done)>;
  void start(NodeEvents& events, RefreshRounds refresh = {});
  // Sends every waiting device away with a retry window, and so every later one.
  void dismiss_waiters();
  // Waits until no upload is on its way, at most `patience`; then stops all threads. Tasks under way finish.
  void stop(Millis patience);

  // ---- From the scheduler
  void serve(const RoundNotice& round) override;
  void withdraw(const RoundKey& key) override;
  void updates_due(const RoundKey& key, uint64_t total) override;

  // Has events say tickets_lacking() for each round, and devices_steered() for each population.
  void count_lacking();
  // CheckinDesk::fleet_knows.
  void fleet_knows(std::map<Population, uint64_t> populations, uint32_t nodes);

  // ---- Check-ins
  // `known`: of plans, by the device. `held`: of an update that a later round of its job may count.
  WaiterId check_in(const DeviceId& device, const Population& population, Millis hold, PlanFeatures known,
                    std::optional<HeldUpdate> held, std::function<void(CheckinAnswer)> answer);
  void cancel_check_in(WaiterId waiter);
  void ticket_undelivered(const RoundKey& key, const DeviceId& device);
  // What a device says about an earlier assignment, or of what held it back without one: for metrics and the log.
  void plan_refused(const DeviceId& device, const Refusal& refusal);

  // What LedgerStore::prove_log says; `answer` is called on the store's thread.
  void prove_log(const Population& population, uint64_t before, uint64_t size,
                 std::function<void(Result<LogProof>)> answer);

  // Runs `task` on the store's thread, in turn.
  void on_store(std::function<void()> task) { store_.post(std::move(task)); }

  // ---- Uploads
  // `slot` is answered (UploadSlot): admitted, or decided at once. After an admission: received() or lost(), as
  // UploadSlot::deliver and abandon say. Of an upload that is decided by then they change nothing.
  // `handed`: as the upload's ticket has it.
  UploadId offer(const RoundKey& key, const DeviceId& device, uint64_t bytes, std::optional<HandedModel> handed,
                 std::shared_ptr<UploadSlot> slot);
  void received(UploadId upload, UploadBody body, const RoundTotals& contribution);
  void lost(UploadId upload);

  uint64_t bytes_in_flight() const { return bytes_in_flight_; }

  // ---- For who decides which requests are answered at all
  // How long the oldest task waits for its turn: of the core, and of the store's thread.
  Millis core_delay() const { return core_.delay(); }
  Millis store_delay() const { return store_.delay(); }
  // How many devices are steered here (CheckinDesk::steered), as of a moment ago.
  uint64_t devices_steered() const { return devices_steered_; }

 private:
  struct Upload {
    RoundKey key;
    DeviceId device;
    std::shared_ptr<UploadSlot> slot;
    UploadBody body;
    uint64_t bytes = 0;
    std::optional<HandedModel> handed = {};
    uint64_t versions_late = 0;  // once it is admitted
  };
  struct LiveRound {  // one that the intake serves
    RoundNotice notice;
    AttemptTerms terms;
    std::shared_ptr<Accumulator> sum;  // of the open batch: a RingSum, or where the round keeps them its updates
  };
  struct LiveBatch {
    std::shared_ptr<Accumulator> sum;
    PartialRecord partial;  // its id is empty until the batch is spilled
    Instant began;
  };

  // All below run on the core thread.
  void step_ingest(const IngestEvent& event);
  void run(DeskEffects effects);
  void note_outcomes();
  void run(IngestEffects effects);
  void perform(DeskEffect& effect);
  void perform(IngestEffect& effect);
  void give_ticket(const GiveTicket& effect);
  void looked_up(const LookUpAccepted& asked, const Result<UpdateFate>& fate);
  void count_waste(const RefuseUpload& refused);
  void decide(UploadId upload, UploadDecision decision);
  void add_update(UploadId upload, BatchId batch);
  std::shared_ptr<Accumulator> make_sum(const LiveRound& round);
  void spill(const SpillBatch& effect);
  void commit(const CommitBatch& effect);
  void drop(BatchId batch);
  void step_intake(const IntakeEvent& event);
  void perform(const IntakeEffect& effect);
  void ask_who_is_accepted(const RoundKey& key);
  void take_up(const TakeUp& effect);
  void give_up(const RoundKey& key);
  void on_deadline();
  std::optional<Instant> next_deadline() const;

  DevicePlaneSettings settings_;
  DevicePlaneParts parts_;
  const std::string incarnation_;
  NodeEvents* events_ = nullptr;
  RefreshRounds refresh_;

  CheckinDesk desk_;
  CheckinCounts counted_ = {};         // of the desk's, as the metrics have them
  std::optional<RoundIntake> intake_;  // once started
  IngestMachine ingest_;
  std::map<Population, uint64_t> waiting_;
  std::map<RoundKey, LiveRound> rounds_;
  std::unordered_map<WaiterId, std::function<void(CheckinAnswer)>> waiters_;
  std::unordered_map<UploadId, Upload> uploads_;  // that are not decided
  std::map<BatchId, LiveBatch> batches_;
  std::shared_ptr<RingSum> spare_sum_;  // the last round's buffer: its pages are there already

  std::atomic<uint64_t> next_id_{1};
  std::atomic<uint64_t> bytes_in_flight_{0};
  std::atomic<uint64_t> devices_steered_{0};
  std::mutex idle_mutex_;
  std::condition_variable idle_changed_;
  bool idle_ = true;
  bool draining_ = false;  // core thread

  WorkPool pool_;
  WorkLoop store_;
  WorkLoop core_;
};

}  // namespace coterie
