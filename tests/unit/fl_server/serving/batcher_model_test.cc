// Random schedules against a model: each row of each request is computed at most once, by one worker, in a batch of its
// own lane; exactly the rows of a whole request came back, and every request ends once.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "fl_server/serving/batcher.h"

namespace coterie {
namespace {

struct Asked {
  LaneId lane;
  uint64_t rows = 0;
  Instant deadline;
  std::set<uint64_t> taken, back;
  bool has_failed = false;
  bool has_ended = false;
};

class Schedule {
 public:
  explicit Schedule(uint64_t seed) : prng_(seed) {}

  void run() {
    for (int step = 0; step < 400; ++step) {
      switch (prng_.below(5)) {
        case 0:
        case 1: offer(); break;
        case 2: take(); break;
        case 3: finish(); break;
        case 4: now_ += Millis(static_cast<int64_t>(prng_.below(3))); break;
      }
      batcher_.check();
    }
    while (!working_.empty() || batcher_.rows_waiting() > 0) {
      while (!working_.empty()) finish();
      take();
      batcher_.check();
    }
    for (const auto& [id, asked] : asked_) EXPECT_TRUE(asked.has_ended) << id.value();
    EXPECT_EQ(batcher_.tasks(), 0u);
  }
  uint64_t whole = 0, failed = 0, expired = 0, refused = 0, split = 0;

 private:
  void offer() {
    Asked asked{.lane = LaneId(prng_.below(3)), .rows = 1 + prng_.below(prng_.below(4) == 0 ? 40 : 3)};
    asked.deadline = now_ + Millis(static_cast<int64_t>(prng_.below(30)));
    const uint64_t waiting = batcher_.rows_waiting();
    const auto id = batcher_.offer(asked.lane, asked.rows, asked.deadline);
    EXPECT_EQ(id.has_value(), waiting == 0 || waiting + asked.rows <= kWaitingMax);
    refused += !id;
    if (id) asked_.emplace(*id, asked);
  }

  void take() {
    if (working_.size() == kWorkers) return;
    RowBatch batch = batcher_.take(now_, ended_);
    note_ended();
    if (batch.pieces.empty()) {
      EXPECT_EQ(batcher_.rows_waiting(), 0u);
      return;
    }
    EXPECT_TRUE(kSizes.contains(batch.rows));
    uint64_t rows = 0;
    for (const BatchPiece& piece : batch.pieces) {
      Asked& asked = asked_.at(piece.task);
      EXPECT_EQ(asked.lane, batch.lane);
      EXPECT_GT(asked.deadline, now_);
      split += piece.rows < asked.rows;
      rows += piece.rows;
      for (uint64_t row = piece.first_row; row < piece.first_row + piece.rows; ++row) {
        EXPECT_LT(row, asked.rows);
        EXPECT_TRUE(asked.taken.insert(row).second) << "a row is computed twice";
      }
    }
    EXPECT_EQ(rows, batch.rows);
    working_.push_back(std::move(batch));
  }

  void finish() {
    if (working_.empty()) return;
    const size_t i = prng_.below(working_.size());
    const RowBatch batch = std::move(working_[i]);
    working_.erase(working_.begin() + static_cast<ptrdiff_t>(i));
    const auto failures = std::make_unique<bool[]>(batch.pieces.size());
    for (size_t p = 0; p < batch.pieces.size(); ++p) {
      Asked& asked = asked_.at(batch.pieces[p].task);
      failures[p] = prng_.below(20) == 0;
      asked.has_failed = asked.has_failed || failures[p];
      for (uint64_t row = 0; row < batch.pieces[p].rows; ++row) asked.back.insert(batch.pieces[p].first_row + row);
    }
    batcher_.finish(batch, {failures.get(), batch.pieces.size()}, ended_);
    note_ended();
  }

  void note_ended() {
    for (const EndedTask& task : ended_) {
      Asked& asked = asked_.at(task.task);
      EXPECT_FALSE(asked.has_ended) << "ended twice";
      asked.has_ended = true;
      EXPECT_EQ(asked.taken, asked.back) << "ended while a worker has rows of it";
      switch (task.end) {
        case TaskEnd::whole:
          ++whole;
          EXPECT_EQ(asked.back.size(), asked.rows);
          EXPECT_FALSE(asked.has_failed);
          break;
        case TaskEnd::failed:
          ++failed;
          EXPECT_TRUE(asked.has_failed);
          break;
        case TaskEnd::expired:
          ++expired;
          EXPECT_LE(asked.deadline, now_);
          EXPECT_LT(asked.back.size(), asked.rows);
          break;
      }
    }
    ended_.clear();
  }

  static constexpr uint64_t kWaitingMax = 64;
  static constexpr size_t kWorkers = 3;
  inline static const std::set<uint64_t> kSizes{1, 2, 4, 8};

  Prng prng_;
  Instant now_{Millis(0)};
  Batcher batcher_{{.batch_sizes = {1, 2, 4, 8}, .rows_waiting_max = kWaitingMax}};
  std::map<TaskId, Asked> asked_;
  std::vector<RowBatch> working_;
  std::vector<EndedTask> ended_;
};

TEST(BatcherModel, NRowsGoBackToWhoeverSentThem) {
  uint64_t whole = 0, failed = 0, expired = 0, refused = 0, split = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed);
    schedule.run();
    if (HasFailure()) return;
    whole += schedule.whole;
    failed += schedule.failed;
    expired += schedule.expired;
    refused += schedule.refused;
    split += schedule.split;
  }
  // The schedules reach what they are for.
  EXPECT_GT(whole, 1000u);
  EXPECT_GT(failed, 100u);
  EXPECT_GT(expired, 100u);
  EXPECT_GT(refused, 100u);
  EXPECT_GT(split, 1000u);
}

}  // namespace
}  // namespace coterie
