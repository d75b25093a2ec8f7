// UploadDesk: the shell around a node's ingest machine (ingest_machine.h): one upload's path from its offer to its
// receipt. It keeps whose connection waits for which answer; what becomes of batches is BatchSums'.
//
// Threading: the core's thread, but for what says otherwise.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "fl_server/core/ingest_machine.h"
#include "fl_server/runtime/batch_sums.h"
#include "fl_server/runtime/fleet_link.h"
#include "fl_server/runtime/upload_slot.h"
#include "fl_server/telemetry/round_probe.h"
#include "scheduler/selection/told_gates.h"
#include "secure/crypto/mac.h"
#include "secure/identity/ticket.h"

namespace coterie {

class UploadDesk {
 public:
  struct Calls {
    std::function<void(const NoteAccepted&)> accepted;                           // a device's update is durable
    std::function<void(const RoundKey&, const DeviceId&, GateCode code)> met{};  // what becomes of one before
  };

  // `ticket_key` and all of `parts` outlive this.
  UploadDesk(const IngestLimits& limits, std::string life, const MacKey& ticket_key, BatchSums::Parts parts,
             Calls calls);
  // Connections may end after this: none of them tells it of a loss any more.
  ~UploadDesk();
  // Before anything else; `events` outlives this.
  void start(NodeEvents& events) { events_ = &events; }

  // ---- Rounds, and what comes of time
  void publish(const RoundNotice& notice, const std::vector<DeviceId>& accepted);
  void withdraw(const RoundKey& key);
  void step(const IngestEvent& event);
  std::optional<Instant> next_deadline() const { return machine_.next_deadline(); }

  // ---- An upload: entered, and then offered by step(). `bytes`: of its body. `handed`: as its ticket has it.
  struct Offered {
    RoundKey key;
    DeviceId device;
    uint64_t bytes = 0;
    std::optional<HandedModel> handed = {};
    std::shared_ptr<UploadSlot> slot;
  };
  void enter(UploadId upload, Offered offered);
  // They change nothing of an upload that is decided by then.
  void received(UploadId upload, UploadBody body, const RoundTotals& contribution);
  void lost(UploadId upload);

  // ---- Any thread
  uint64_t bytes_in_flight() const { return bytes_in_flight_; }
  // Until no upload is on its way, at most so long.
  void wait_until_idle(Millis patience);

 private:
  struct Upload {
    Offered offered;
    UploadBody body = {};
    uint64_t versions_late = 0;  // once it is admitted
  };
  struct Round {  // that is served
    RoundNotice notice;
    AttemptTerms terms;
  };

  void perform(const LookUpAccepted& effect);
  void perform(const AdmitUpload& effect);
  void perform(const RefuseUpload& effect);
  void perform(const AcceptUpload& effect);
  void perform(const AddUpdate& effect);
  void perform(const ReleaseBody& effect);
  void perform(const SpillBatch& effect) { sums_.spill(effect); }
  void perform(const CommitBatch& effect) { sums_.commit(effect); }
  void perform(const DropBatch& effect) { sums_.drop(effect.batch); }
  void perform(const ReportAccepted& effect) { events_->updates_accepted(effect.key, effect.total); }
  void perform(const NoteAccepted& effect);
  void decide(UploadId upload, UploadDecision decision);
  void tell_idle();
  void tell_probe(const Offered& offered, DeviceStep step) const;
  Upload* find(UploadId upload);  // null: it is decided

  const MacKey& ticket_key_;
  const BatchSums::Parts parts_;
  const Calls calls_;
  NodeEvents* events_ = nullptr;

  IngestMachine machine_;
  BatchSums sums_;
  std::map<RoundKey, Round> rounds_;
  std::unordered_map<UploadId, Upload> uploads_;  // that are not decided

  std::atomic<uint64_t> bytes_in_flight_{0};
  std::mutex idle_mutex_;
  std::condition_variable idle_changed_;
  bool idle_ = true;
};

}  // namespace coterie
