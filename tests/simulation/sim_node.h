// SimNode: a server node's shell around the real check-in desk and ingest machine, on virtual time. It dies without
// warning and comes back knowing nothing.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <variant>

#include "fl_server/core/ingest_machine.h"
#include "proto/messages/update.h"
#include "scheduler/selection/checkin_desk.h"
#include "tests/simulation/world.h"

namespace coterie::simulation {

using CheckinAnswer = std::variant<Assignment, RetryWindow, Error>;
struct UploadAnswer {
  std::optional<Receipt> receipt;
  std::optional<Error> error;
  RetryWindow window;
};

class SimNode {
 public:
  SimNode(World& world, uint32_t index) : world_(world), index_(index) { boot(); }

  bool alive() const { return alive_; }
  void crash();

  // ---- Requests, as they arrive from the network
  void check_in(const DeviceId& device, Millis hold, std::function<void(CheckinAnswer)> reply);
  void upload(const DeviceId& device, const Bytes& ticket, std::function<void(UploadAnswer)> reply);
  // The round as the scheduler published it; views may come late and out of order.
  void publish(const RoundView& view);
  void withdraw(const RoundKey& key);

  uint64_t waiting() const { return alive_ ? desk_->waiting(Population("default")) : 0; }

 private:
  struct Batch {
    std::vector<uint64_t> lanes;
    PartialRecord partial;
  };
  struct Upload {
    uint32_t device;
    std::function<void(UploadAnswer)> reply;
  };

  void boot();
  void step(const IngestEvent& event);
  void run(DeskEffects effects);
  void perform(IngestEffect& effect);
  void serve(const RoundView& view, const std::vector<DeviceId>& accepted);
  void give_ticket(const GiveTicket& effect);
  void add(const AddUpdate& effect);
  void spill(const SpillBatch& effect);
  void commit(const CommitBatch& effect);
  void answer(UploadId upload, UploadAnswer answer);
  void arm();
  // Wraps an event so that it happens only if the node has not died in between.
  std::function<void()> alive_guard(std::function<void()> event);

  World& world_;
  uint32_t index_;
  bool alive_ = false;
  uint64_t incarnation_ = 0;
  std::optional<CheckinDesk> desk_;
  std::optional<IngestMachine> ingest_;
  std::optional<RoundView> view_;                      // the newest
  std::optional<Assignment> assignment_;
  std::map<WaiterId, std::function<void(CheckinAnswer)>> waiters_;
  std::map<UploadId, Upload> uploads_;
  std::map<RoundKey, std::vector<uint64_t>> sums_;     // the sum buffer of each round
  std::map<BatchId, Batch> batches_;
  std::optional<Instant> armed_;
  uint64_t next_id_ = 1;
};

}  // namespace coterie::simulation
