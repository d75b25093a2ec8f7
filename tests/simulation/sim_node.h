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

  // ---- What befalls it
  void cut_off(Instant until) { reached_from_ = until; }
  // Its wall clock is off by this, until then.
  void set_clock(Millis off, Instant until) {
    clock_off_ = off;
    clock_off_until_ = until;
  }

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
  void look_at_board(std::function<void()> then);
  void say();
  void tick();
  void apply(const FleetTables::Board& board);
  void publish(const RoundView& view);
  void ask_who_is_accepted();
  void withdraw(const RoundKey& key);
  WallTime wall() const {
    return world_.queue().wall() + (world_.queue().now() < clock_off_until_ ? clock_off_ : Millis(0));
  }
  std::string life() const { return "node" + std::to_string(index_) + "/" + std::to_string(incarnation_); }
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
  std::optional<RoundView> view_;  // the newest
  bool is_served_ = false;         // and the machines know of it
  uint64_t revision_ = 0;          // of the board
  NodeReport report_, said_;
  Instant said_at_{};
  Instant reached_from_{};  // the store
  Millis clock_off_{0};
  Instant clock_off_until_{};
  std::optional<Assignment> assignment_;
  std::map<WaiterId, std::function<void(CheckinAnswer)>> waiters_;
  std::map<UploadId, Upload> uploads_;
  std::map<RoundKey, std::vector<uint64_t>> sums_;  // the sum buffer of each round
  std::map<BatchId, Batch> batches_;
  std::optional<Instant> armed_;
  uint64_t next_id_ = 1;
};

}  // namespace coterie::simulation
