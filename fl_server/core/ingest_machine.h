// IngestMachine: one node's path from "a device offers an update" to "it is counted, exactly once". Pure.
//
//   offered --> queued --> receiving --> ready --> adding --> added --> committing --> accepted (receipt)
//                 |            |           |         |          |            |
//                 +------------+-----------+---------+----------+------------+--> refused (typed error, retry window)
//
// Updates are added to the open batch's sum; a batch is flushed as a whole: its sum becomes a durable blob (a partial
// sum), then one store transaction makes "these devices are accepted" and "this partial counts" true together, guarded
// by the round's state. Only then are the devices answered. So
//   * an acknowledged update is in a committed partial: it is never lost;
//   * a device has one accept row per attempt: it is never counted twice, whatever is retried or duplicated;
//   * a batch whose commit is in doubt is committed again under the same id, which the store knows.
// A batch that meets a device accepted elsewhere meanwhile (conflict) is given up: that device gets its receipt, the
// others, who were promised nothing, are asked to send again.
//
// One sum buffer a round: while a batch's lanes are being copied out (spilled), further updates wait ready in memory,
// within the byte budget that was reserved before their first byte was read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "fl_server/core/flush_budget.h"
#include "fl_server/records/batch.h"
#include "proto/messages/checkin.h"
#include "scheduler/round/round_notice.h"

namespace coterie {

using UploadId = StrongId<struct UploadTag, uint64_t>;  // one PUT request
using BatchId = StrongId<struct BatchTag, uint64_t>;    // 1, 2, ... of this incarnation of the node

struct IngestLimits {
  uint64_t bytes_in_flight_max = 1ull << 30;  // of update bodies that are received or wait to be added
  uint32_t uploads_queued_max = 10'000;       // offers that wait for bytes
  Millis queued_max{30'000};
  uint32_t batch_updates_max = 256;
  uint64_t kept_batch_bytes_max = 64ull << 20;  // of a batch that keeps its updates, unless it has one alone
  // How long a batch waits for others once the credit for flushes is used up (flush_budget.h).
  Millis linger_min{10};
  Millis linger_max{2'000};
};

// ---- Events
// clang-format off
struct UploadOffered { UploadId upload; RoundKey key; DeviceId device; uint64_t bytes; };
// is_over: the attempt takes no more, which its device is told for certain (ticket_expired).
struct AcceptedLookedUp {
  UploadId upload; RoundKey key; DeviceId device; Result<bool> accepted; bool is_over = false;
};
struct UploadReceived { UploadId upload; RoundTotals contribution; };  // decoded and checked against the plan
struct UploadLost { UploadId upload; };                                // connection gone or body refused by the shell
struct UpdateAdded { UploadId upload; Status added; };                 // an error: the sum is as before
struct BufferReleased { BatchId batch; };                              // the lanes are copied out
struct BatchSpilled { BatchId batch; Status durable; };                // the blob is durable
struct BatchAnswered { BatchId batch; BatchOutcome outcome; };
struct RoundPublished { RoundNotice notice; std::vector<DeviceId> accepted; };  // accepted: rows already in the store
// No more than so many devices will be accepted in all: with the last of them a batch waits for nobody. In the goal's
// place.
struct UpdatesDue { RoundKey key; uint64_t total; };
struct RoundWithdrawn { RoundKey key; };
struct IngestTime {};
// clang-format on
using IngestEvent =
    std::variant<UploadOffered, AcceptedLookedUp, UploadReceived, UploadLost, UpdateAdded, BufferReleased, BatchSpilled,
                 BatchAnswered, RoundPublished, UpdatesDue, RoundWithdrawn, IngestTime>;

// ---- Effects
// clang-format off
struct LookUpAccepted { UploadId upload; RoundKey key; DeviceId device; };  // in the store
struct AdmitUpload { UploadId upload; };                              // read the body
struct RefuseUpload { UploadId upload; Error error; RetryWindow window; };
struct AcceptUpload { UploadId upload; RoundKey key; DeviceId device; };  // answer with the receipt
struct AddUpdate { UploadId upload; BatchId batch; };                 // into the sum; answer UpdateAdded
struct ReleaseBody { UploadId upload; };                              // not needed: joined an update already in a batch
struct SpillBatch { BatchId batch; RoundKey key; RoundTotals totals; };   // answer BufferReleased, then BatchSpilled
struct CommitBatch { BatchId batch; RoundKey key; RoundTotals totals; std::vector<AcceptRow> rows; };
struct DropBatch { BatchId batch; };                                  // forget sum and blob
struct ReportAccepted { RoundKey key; uint64_t total; };
struct NoteAccepted { RoundKey key; DeviceId device; RoundTotals contribution; };  // counted now: for the check-in desk
// clang-format on
using IngestEffect = std::variant<LookUpAccepted, AdmitUpload, RefuseUpload, AcceptUpload, AddUpdate, ReleaseBody,
                                  SpillBatch, CommitBatch, DropBatch, ReportAccepted, NoteAccepted>;
using IngestEffects = std::vector<IngestEffect>;

class IngestMachine {
 public:
  explicit IngestMachine(IngestLimits limits)
      : limits_(limits), flushes_(limits.linger_min, std::max(limits.linger_min, limits.linger_max)) {}

  IngestEffects step(const IngestEvent& event, Instant now);
  std::optional<Instant> next_deadline() const;

  uint64_t bytes_in_flight() const { return bytes_in_flight_; }
  bool idle() const { return uploads_.empty() && batches_.empty(); }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  friend struct IngestTamperer;  // a test that breaks an invariant

  enum class Stage : uint8_t { queued, receiving, ready, adding, added };
  struct Upload {
    RoundKey key;
    DeviceId device;
    uint64_t bytes = 0;
    bool reserved = false;  // its bytes are part of bytes_in_flight_
    Stage stage = Stage::queued;
    RoundTotals contribution;
    Instant queued_until;
  };
  struct Member {
    DeviceId device;
    std::vector<UploadId> uploads;  // the one that is in the sum, and those that joined it
    RoundTotals contribution;
  };
  enum class BatchStage : uint8_t { open, sealed, spilling, committing };
  struct Batch {
    RoundKey key;
    BatchStage stage = BatchStage::open;
    std::vector<Member> members;
    uint32_t adding = 0;
    Instant opened;
    Instant spill_began;
    Millis charged{0};  // to flushes_, when it was spilled
    std::optional<Instant> retry_at;
    uint32_t retries = 0;
  };
  struct Lane {  // one attempt of a round; outlives its round until its last upload and batch are answered
    RoundNotice notice;
    bool closed = false;
    std::optional<uint64_t> due;  // UpdatesDue
    std::unordered_set<DeviceId> accepted;
    std::unordered_map<DeviceId, BatchId> in_batch;
    std::deque<UploadId> ready;
    std::optional<BatchId> buffer;  // the batch that has the sum buffer
    uint32_t arriving = 0;          // uploads queued or receiving
    uint32_t batch_updates_max = 1;
  };

  void handle(const UploadOffered& event);
  void handle(const AcceptedLookedUp& event);
  void handle(const UploadReceived& event);
  void handle(const UploadLost& event);
  void handle(const UpdateAdded& event);
  void handle(const BufferReleased& event);
  void handle(const BatchSpilled& event);
  void handle(const BatchAnswered& event);
  void handle(const RoundPublished& event);
  void handle(const UpdatesDue& event);
  void handle(const RoundWithdrawn& event);
  void handle(const IngestTime& event);

  Lane* open_lane(const RoundKey& key);
  void admit_queued();
  void place(UploadId id, Lane& lane);
  void place_ready(Lane& lane);
  void consider_seal(Lane& lane);
  void spill_if_quiet(BatchId id);
  void commit(BatchId id);
  void answer_members(BatchId id, const BatchOutcome& outcome);
  void accept_member(const RoundKey& key, Lane& lane, const Member& member);
  void refuse_member(const Member& member, const Error& error, RetryWindow window);
  void refuse(UploadId id, Error error, RetryWindow window);
  void move_to(Upload& upload, Stage stage);
  void release_bytes(Upload& upload);
  void forget(UploadId id);
  void close_lane(Lane& lane);
  void forget_finished_lanes();
  Instant flush_due(const Batch& batch) const;
  static bool is_full(const Lane& lane);
  uint32_t batch_updates_max(const RoundNotice& notice) const;
  Lane& lane_of(const RoundKey& key);
  Upload& upload_of(UploadId id);
  Batch& live_batch(BatchId id);
  void check_uploads() const;
  void check_batches() const;
  void check_lanes() const;

  IngestLimits limits_;
  Instant now_{};
  IngestEffects effects_;
  std::unordered_map<UploadId, Upload> uploads_;
  std::deque<UploadId> queue_;
  std::map<BatchId, Batch> batches_;
  std::map<RoundKey, Lane> lanes_;
  uint64_t bytes_in_flight_ = 0;
  uint64_t next_batch_ = 1;
  FlushBudget flushes_;  // of all lanes: they share a disk
  StepCheck step_check_;
};

}  // namespace coterie
