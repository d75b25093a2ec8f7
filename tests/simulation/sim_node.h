// SimNode: a server node on virtual time: the machines that ship (check-in desk, round intake, ingest, member of a
// fleet) with an event queue in the place of threads, and the world's store. It dies without warning and comes back
// knowing nothing.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <variant>

#include "device_sdk/client/participant_machine.h"
#include "fl_server/core/batch_records.h"
#include "fl_server/core/ingest_machine.h"
#include "fl_server/core/round_intake.h"
#include "proto/messages/update.h"
#include "scheduler/fleet/member_machine.h"
#include "scheduler/selection/checkin_desk.h"
#include "tests/simulation/asked_oracle.h"
#include "tests/simulation/sessions/server_port.h"
#include "tests/simulation/world.h"

namespace coterie::simulation {

using CheckinAnswer = std::variant<Assignment, RetryWindow, Error>;
struct UploadAnswer {
  std::optional<Receipt> receipt;
  std::optional<Error> error;
  RetryWindow window;
};
// What went wrong, of an answer without a receipt.
Failure failure_of(UploadAnswer answer);

class SimNode {
 public:
  SimNode(World& world, uint32_t index) : world_(world), index_(index) { boot(); }

  bool alive() const { return alive_; }
  void crash();

  // ---- Requests, as they arrive from the network
  // `held`: a ticket, of an update for a later round; empty: none.
  void check_in(const DeviceId& device, Millis hold, const Bytes& held, std::function<void(CheckinAnswer)> reply);
  // With or without masks.
  void upload(const DeviceId& device, const Bytes& ticket, const Training& training, std::optional<MaskedUpdate> masked,
              std::function<void(UploadAnswer)> reply);
  // A message or a question of a session, or both: passed on to whoever keeps the sessions.
  void exchange(const DeviceId& device, const Bytes& public_key, const Bytes& ticket, std::optional<CohortMessage> told,
                std::optional<CohortQuestion> asked, Reply reply);

  // ---- What befalls it
  void cut_off(Instant until) { reached_from_ = until; }
  // Its wall clock is off by this, until then.
  void set_clock(Millis off, Instant until) {
    clock_off_ = off;
    clock_off_until_ = until;
  }

 private:
  struct Batch {
    RoundKey key;
    std::vector<uint64_t> lanes;  // once they are copied out
  };
  struct Upload {
    RoundKey key;
    uint32_t device;
    Training training;
    bool may_join;
    std::optional<MaskedUpdate> masked;
    std::function<void(UploadAnswer)> reply;
  };

  void boot();
  void arm();
  void time_passed();
  // Wraps an event so that it happens only if the node has not died in between.
  std::function<void()> alive_guard(std::function<void()> event);
  // Asks the store; the answer comes only if the node has not died in between.
  template <typename T>
  void ask_store(std::function<T()> work, std::function<T(Error)> failure, std::function<void(T)> answer);

  void step(const MemberEvent& event);
  void step(const IntakeEvent& event);
  void step(IngestEvent event);
  void run(DeskEffects effects);
  void perform(const MemberEffect& effect);
  void perform(const IntakeEffect& effect);
  void perform(const IngestEffect& effect);

  void read_board(uint64_t known_revision);
  void say(const NodeReport& report);
  void count_lacking();
  void ask_who_is_accepted(const RoundKey& key);
  void take_up(const TakeUp& effect);
  void give_ticket(const GiveTicket& effect);
  void keep(const ToldGates& told);
  void look_up(const LookUpAccepted& effect);
  void receive_body(UploadId upload);
  void receive_masked(UploadId upload);
  void refuse_body(UploadId upload, const Error& error);
  void at_owner(std::function<void(SimScheduler&)> arrive, std::function<void(Error)> failure);
  void accept(const AcceptUpload& effect);
  void add(const AddUpdate& effect);
  void spill(const SpillBatch& effect);
  void write_partial(BatchId id);
  void commit(const CommitBatch& effect);
  void drop(BatchId id);
  void answer(UploadId upload, UploadAnswer answer);

  WallTime wall() const {
    return world_.queue().wall() + (world_.queue().now() < clock_off_until_ ? clock_off_ : Millis(0));
  }
  std::string life() const { return "node" + std::to_string(index_) + "/" + std::to_string(incarnation_); }

  World& world_;
  uint32_t index_;
  bool alive_ = false;
  uint64_t incarnation_ = 0;
  Instant reached_from_{};  // the store
  Millis clock_off_{0};
  Instant clock_off_until_{};

  std::optional<CheckinDesk> desk_;
  AskedOracle asked_;  // of this life
  std::optional<RoundIntake> intake_;
  std::optional<IngestMachine> ingest_;
  std::optional<MemberMachine> member_;
  std::string owner_;                       // of the sessions, as the board says
  std::map<RoundKey, RoundNotice> rounds_;  // that the intake serves
  uint32_t looks_ = 0;                      // of the intake at the board, not answered yet
  std::map<WaiterId, std::function<void(CheckinAnswer)>> waiters_;
  std::map<UploadId, Upload> uploads_;
  std::map<RoundKey, std::vector<uint64_t>> sums_;  // the sum buffer of each round
  std::map<BatchId, Batch> batches_;
  std::optional<BatchRecords> records_;  // of those
  std::optional<Instant> armed_;
  uint64_t next_id_ = 1;
};

}  // namespace coterie::simulation
