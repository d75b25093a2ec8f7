// The ingest machine in a world of random answers: bodies that come or break, additions that fail, disks that refuse,
// a store that loses answers and to which other nodes commit, rounds that close. Beside it a model that knows what is
// in the sum and what the store has; whatever the machine does is checked against it.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "fl_server/core/ingest_machine.h"

namespace coterie {
namespace {

constexpr uint64_t kDevices = 14;

class World {
 public:
  explicit World(uint64_t seed) : prng_(seed), limits_(random_limits()), machine_(limits_) {}

  void run(int steps) {
    publish_next_round();
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      random_step();
      check();
    }
    wind_up();
  }

  uint64_t accepted() const { return accepted_answers_; }
  uint64_t refused() const { return refused_answers_; }
  uint64_t conflicts() const { return conflicts_; }

 private:
  struct Upload {
    RoundKey key;
    DeviceId device;
    bool lost = false;
    int answers = 0;
  };
  struct Sum {                      // the one buffer of a lane
    std::vector<DeviceId> members;  // whose updates are in it
    int adding = 0;
    bool spilling = false;
  };
  struct Batch {
    RoundKey key;
    std::vector<DeviceId> spilled;
    bool is_spilled = false;
    bool committed = false;  // in the store, whether or not the machine was told
  };

  IngestLimits random_limits() {
    IngestLimits limits;
    limits.bytes_in_flight_max = 200 + prng_.below(800);
    limits.uploads_queued_max = 1 + static_cast<uint32_t>(prng_.below(8));
    limits.queued_max = Millis(static_cast<int64_t>(100 + prng_.below(1'000)));
    limits.batch_updates_max = 1 + static_cast<uint32_t>(prng_.below(6));
    limits.linger_min = Millis(static_cast<int64_t>(prng_.below(100)));
    limits.linger_max = Millis(static_cast<int64_t>(prng_.below(300)));
    return limits;
  }

  // ---- What may happen next

  void random_step() {
    const uint64_t choice = prng_.below(100);
    if (choice < 25) return offer();
    if (choice < 80 && !pending_.empty()) return perform_pending(prng_.below(pending_.size()));
    if (choice < 84) return other_node_accepts();
    if (choice < 86) return publish_next_round();
    if (choice < 88) return close_round();
    now_ += Millis(static_cast<int64_t>(prng_.below(80)));
    step(IngestTime{});
  }

  void perform_pending(size_t index) {
    const std::function<void()> event = std::move(pending_[index]);
    pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(index));
    event();
  }

  void offer() {
    const UploadId id(next_upload_++);
    RoundKey key = round_;
    if (prng_.chance(0.1) && round_.round.value() > 1) key.round = RoundId(round_.round.value() - 1);
    DeviceId device;
    device.bytes[0] = static_cast<uint8_t>(prng_.below(kDevices));
    uploads_[id] = {key, device};
    step(UploadOffered{id, key, device, 1 + prng_.below(limits_.bytes_in_flight_max + 20)});
  }

  void publish_next_round() {
    round_ = {RoundId(round_.round.value() + 1), Attempt(1)};
    collecting_.clear();  // a newer round of the job closes the older one, here and in the store
    collecting_.insert(round_);
    step(RoundPublished{notice(RoundState::collecting), {}});
  }

  void close_round() {
    collecting_.erase(round_);
    if (prng_.chance(0.5)) step(RoundPublished{notice(RoundState::frozen), {}});
    else step(RoundWithdrawn{round_});
  }

  RoundNotice notice(RoundState state) {
    RoundNotice notice;
    notice.job = JobId("j");
    notice.key = round_;
    notice.state = state;
    notice.goal_count = 1 + static_cast<uint32_t>(prng_.below(kDevices));
    notice.plan.update.fixed_point.contributors_max = 1 + static_cast<uint32_t>(prng_.below(2 * kDevices));
    return notice;
  }

  void other_node_accepts() {
    if (!collecting_.contains(round_)) return;
    DeviceId device;
    device.bytes[0] = static_cast<uint8_t>(prng_.below(kDevices));
    store_[round_].insert(device);
  }

  // ---- What the machine does

  void step(const IngestEvent& event) {
    for (const IngestEffect& effect : machine_.step(event, now_)) {
      std::visit([this](const auto& e) { perform(e); }, effect);
    }
  }

  void perform(const LookUpAccepted& e) {
    pending_.push_back([this, e] {
      if (prng_.chance(0.1))
        return step(AcceptedLookedUp{e.upload, e.key, e.device, Error(ErrorCode::unavailable, "")});
      step(AcceptedLookedUp{e.upload, e.key, e.device, store_[e.key].contains(e.device)});
    });
  }

  void perform(const AdmitUpload& e) {
    pending_.push_back([this, id = e.upload] {
      if (prng_.chance(0.85)) {
        step(UploadReceived{id, {.updates = 1, .weight = 1}});
        if (prng_.chance(0.1)) lose(id);
      } else {
        lose(id);
      }
    });
  }

  void lose(UploadId id) {
    uploads_[id].lost = true;
    step(UploadLost{id});
  }

  void perform(const RefuseUpload& e) {
    ++refused_answers_;
    answered(e.upload);
  }

  void perform(const AcceptUpload& e) {
    ++accepted_answers_;
    answered(e.upload);
    EXPECT_TRUE(store_[e.key].contains(e.device)) << "accepted before the store has it";
    EXPECT_EQ(uploads_[e.upload].device, e.device);
    EXPECT_EQ(uploads_[e.upload].key, e.key);
  }

  void answered(UploadId id) {
    ASSERT_TRUE(uploads_.contains(id));
    EXPECT_EQ(++uploads_[id].answers, 1) << "upload " << id.value() << " is answered again";
  }

  void perform(const AddUpdate& e) {
    const RoundKey key = uploads_[e.upload].key;
    Sum& sum = sums_[key];
    EXPECT_FALSE(sum.spilling) << "added to a sum that is being copied out";
    const auto [batch, fresh] = batches_.try_emplace(e.batch, Batch{.key = key});
    EXPECT_TRUE(!fresh || (sum.members.empty() && sum.adding == 0)) << "a new batch on a buffer that is not empty";
    EXPECT_EQ(batch->second.key, key);
    ++sum.adding;
    pending_.push_back([this, e, key] {
      Sum& target = sums_[key];
      --target.adding;
      if (prng_.chance(0.1)) return step(UpdateAdded{e.upload, Error(ErrorCode::malformed, "not a number")});
      target.members.push_back(uploads_[e.upload].device);
      step(UpdateAdded{e.upload, {}});
    });
  }

  void perform(const ReleaseBody&) {}

  void perform(const SpillBatch& e) {
    Sum& sum = sums_[e.key];
    Batch& batch = batches_.at(e.batch);
    EXPECT_EQ(sum.adding, 0) << "copied out while somebody adds";
    EXPECT_FALSE(sum.spilling);
    EXPECT_EQ(e.totals.updates, sum.members.size()) << "a bad update stayed in the batch, or a good one was lost";
    sum.spilling = true;
    batch.spilled = sum.members;
    batch.is_spilled = true;
    pending_.push_back([this, id = e.batch, key = e.key] {
      sums_[key] = {};
      if (prng_.chance(0.9)) step(BufferReleased{id});
      pending_.push_back([this, id] {
        if (prng_.chance(0.1)) return step(BatchSpilled{id, Error(ErrorCode::storage_full, "the disk is full")});
        step(BatchSpilled{id, {}});
      });
    });
  }

  void perform(const CommitBatch& e) {
    std::multiset<DeviceId> rows;
    for (const AcceptRow& row : e.rows) rows.insert(row.device);
    const std::vector<DeviceId>& spilled = batches_.at(e.batch).spilled;
    EXPECT_EQ(rows, std::multiset<DeviceId>(spilled.begin(), spilled.end())) << "the rows are not those in the sum";
    EXPECT_EQ(std::set<DeviceId>(rows.begin(), rows.end()).size(), rows.size()) << "a device twice in one sum";
    EXPECT_EQ(e.totals.updates, rows.size());
    pending_.push_back([this, e] { commit(e); });
  }

  // The store: atomic, idempotent by batch, guarded by the round's state. Its answer may be lost before or after.
  void commit(const CommitBatch& e) {
    const BatchUnknown unknown{Error(ErrorCode::unavailable, "the store is away")};
    if (prng_.chance(0.15)) return step(BatchAnswered{e.batch, unknown});
    BatchOutcome outcome = BatchDone{};
    std::set<DeviceId>& rows = store_[e.key];
    Batch& batch = batches_.at(e.batch);
    BatchConflict conflict;
    for (const AcceptRow& row : e.rows) {
      if (rows.contains(row.device)) conflict.accepted_before.push_back(row.device);
    }
    if (batch.committed) outcome = BatchDone{};
    else if (!collecting_.contains(e.key)) outcome = BatchClosed{};
    else if (!conflict.accepted_before.empty()) outcome = conflict;
    else if (prng_.chance(0.05)) outcome = BatchFailed{Error(ErrorCode::storage_full, "the disk is full")};
    conflicts_ += std::holds_alternative<BatchConflict>(outcome) ? 1 : 0;
    if (std::holds_alternative<BatchDone>(outcome) && !batch.committed) {
      batch.committed = true;
      for (const AcceptRow& row : e.rows) rows.insert(row.device);
    }
    if (prng_.chance(0.15)) return step(BatchAnswered{e.batch, unknown});  // done, but nobody heard it
    step(BatchAnswered{e.batch, outcome});
  }

  void perform(const DropBatch& e) {
    const Batch& batch = batches_.at(e.batch);
    EXPECT_FALSE(batch.committed) << "a batch that counts is forgotten";
    if (!batch.is_spilled) {
      EXPECT_EQ(sums_[batch.key].adding, 0) << "cleared while somebody adds";
      sums_[batch.key] = {};
    }
  }

  void perform(const ReportAccepted& e) { EXPECT_LE(e.total, store_[e.key].size()); }
  void perform(const NoteAccepted& e) { EXPECT_TRUE(store_[e.key].contains(e.device)); }

  // ---- What must always hold

  void check() {
    EXPECT_LE(machine_.bytes_in_flight(), limits_.bytes_in_flight_max);
    if (const auto wake = machine_.next_deadline(); wake && *wake <= now_) {
      step(IngestTime{});
      const auto next = machine_.next_deadline();
      EXPECT_TRUE(!next || *next > now_) << "a deadline that passes without effect would be a busy loop";
    }
  }

  // The round ends, every answer arrives: then nobody may be left waiting.
  void wind_up() {
    close_round();
    for (int i = 0; i < 100'000 && (!pending_.empty() || !machine_.idle()); ++i) {
      if (!pending_.empty()) {
        perform_pending(prng_.below(pending_.size()));
        continue;
      }
      const auto wake = machine_.next_deadline();
      ASSERT_TRUE(wake.has_value()) << "somebody waits, and nothing will ever happen";
      now_ = std::max(now_, *wake);
      step(IngestTime{});
    }
    EXPECT_TRUE(machine_.idle());
    EXPECT_EQ(machine_.bytes_in_flight(), 0u);
    EXPECT_EQ(machine_.next_deadline(), std::nullopt);
    for (const auto& [id, upload] : uploads_) {
      if (!upload.lost) EXPECT_EQ(upload.answers, 1) << "upload " << id.value();
    }
  }

  Prng prng_;
  IngestLimits limits_;
  IngestMachine machine_;
  Instant now_{};
  RoundKey round_{RoundId(0), Attempt(1)};
  std::set<RoundKey> collecting_;  // in the store
  std::map<RoundKey, std::set<DeviceId>> store_;
  std::map<UploadId, Upload> uploads_;
  std::map<RoundKey, Sum> sums_;
  std::map<BatchId, Batch> batches_;
  std::vector<std::function<void()>> pending_;
  uint64_t next_upload_ = 1;
  uint64_t accepted_answers_ = 0, refused_answers_ = 0, conflicts_ = 0;
};

TEST(IngestModel, HoldsItsPromisesInThousandsOfRandomSteps) {
  uint64_t accepted = 0, refused = 0, conflicts = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    World world(seed);
    world.run(600);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    accepted += world.accepted();
    refused += world.refused();
    conflicts += world.conflicts();
  }
  // The model would prove nothing if hardly anything happened.
  EXPECT_GT(accepted, 800u);
  EXPECT_GT(refused, 800u);
  EXPECT_GT(conflicts, 25u);
}

}  // namespace
}  // namespace coterie
