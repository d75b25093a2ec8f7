// DevicePlane: a node that talks to devices: the shell around its round intake (round_intake.h), the threads that its
// machines step on, and the door to what else it has: the waiting room (check-ins) and the upload desk (updates). The
// scheduler says which rounds there are (RoundBoard). Nothing here decides anything.
//
// Threading: every public method may be called from any thread; callbacks run on the core's thread and must only hand
// the answer on.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "fl_server/core/round_intake.h"
#include "fl_server/runtime/fleet_link.h"
#include "fl_server/runtime/upload_slot.h"
#include "fl_server/runtime/work_loops.h"
#include "fl_server/settings/device_plane_settings.h"
#include "fl_server/store/accept_store.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/ledger_store.h"
#include "fl_server/telemetry/metrics.h"
#include "proto/messages/update.h"
#include "secure/crypto/mac.h"
#include "secure/identity/ticket.h"

namespace coterie {

class GateStore;
class RoundProbe;
struct ToldGates;
class UploadDesk;
class WaitingRoom;

// What the device plane works on; outlives it.
struct DevicePlaneParts {
  AcceptStore& accepts;
  GateStore& gates;
  LedgerStore& ledger;
  BlobStore& partials;
  const MacKey& ticket_key;
  Metrics& metrics;
  RoundProbe* probe = nullptr;  // null: nobody hears what takes how long
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
  // Before the check-in that it comes with.
  void plan_refused(const DeviceId& device, const Refusal& refusal);
  // A device fetches what has this name: perhaps the plan or the model of its round.
  void fetched(const DeviceId& device, const Digest& name);

  // What LedgerStore::prove_log says; `answer` is called on the store's thread.
  void prove_log(const Population& population, uint64_t before, uint64_t size,
                 std::function<void(Result<LogProof>)> answer);

  // Runs `task` on the store's thread, in turn.
  void on_store(std::function<void()> task) { loops_.store.post(std::move(task)); }

  // ---- Uploads
  // `slot` is answered (UploadSlot): admitted, or decided at once. After an admission: received() or lost(), as
  // UploadSlot::deliver and abandon say. They change nothing of an upload that is decided by then.
  // `handed`: as the upload's ticket has it.
  UploadId offer(const RoundKey& key, const DeviceId& device, uint64_t bytes, std::optional<HandedModel> handed,
                 std::shared_ptr<UploadSlot> slot);
  void received(UploadId upload, UploadBody body, const RoundTotals& contribution);
  void lost(UploadId upload);
  // Its body was not taken, before it was received.
  void body_refused(const RoundKey& key, const DeviceId& device, ErrorCode code);

  uint64_t bytes_in_flight() const;

  // ---- For who decides which requests are answered at all
  // How long the oldest task waits for its turn: of the core, and of the store's thread.
  Millis core_delay() const { return loops_.core.delay(); }
  Millis store_delay() const { return loops_.store.delay(); }
  // How many devices are steered here (CheckinDesk::steered), as of a moment ago.
  uint64_t devices_steered() const;

 private:
  // All below run on the core thread.
  void step(const IntakeEvent& event);
  void perform(const AskAccepted& effect);
  void perform(const TakeUp& effect);
  void perform(const GiveUp& effect);
  void perform(const LookForRounds&);
  void perform(const StepIngest& effect);
  void keep(const ToldGates& told);
  void on_deadline();
  std::optional<Instant> next_deadline() const;

  const DevicePlaneSettings settings_;
  const std::string life_;  // of this node, which no other has
  const DevicePlaneParts parts_;
  RefreshRounds refresh_;
  std::atomic<uint64_t> next_id_{1};  // of waiters and uploads

  WorkLoops loops_;
  std::unique_ptr<WaitingRoom> room_;
  std::unique_ptr<UploadDesk> uploads_;
  std::optional<RoundIntake> intake_;  // once started
};

}  // namespace coterie
