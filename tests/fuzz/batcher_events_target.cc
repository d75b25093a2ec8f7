// Any order of requests, free workers, failures and times that a serving plane may bring its batcher: its invariants
// hold after each step, no row is computed twice, and in the end each request has ended once.
#include <map>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "fl_server/serving/batcher.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

class Driver {
 public:
  explicit Driver(test::EventBytes bytes) : bytes_(bytes) {}

  void run() {
    while (!bytes_.is_over()) choose();
    std::vector<EndedTask> ended;
    if (bytes_.one_in(2)) batcher_.give_up(ended);
    take_ended(ended);
    while (batcher_.rows_waiting() > 0) compute();
    while (!computing_.empty()) finish();
    COT_ASSERT(batcher_.tasks() == 0 && left_.empty());
  }

 private:
  static BatcherSettings settings() { return {.batch_sizes = {1, 2, 5, 8}, .rows_waiting_max = 30}; }

  void choose() {
    switch (bytes_.below(8)) {
      case 0:
      case 1:
      case 2: return offer();
      case 3:
      case 4: return compute();
      case 5:
      case 6:
        if (!computing_.empty()) finish();
        return;
      default: now_ += Millis(bytes_.next()); return;
    }
  }

  void offer() {
    const uint64_t rows = 1 + bytes_.below(40);
    const uint64_t waiting = batcher_.rows_waiting();
    const auto task = batcher_.offer(LaneId(bytes_.below(3)), rows, now_ + Millis(int64_t{bytes_.next()} * 4));
    batcher_.check();
    COT_ASSERT(task.has_value() == (waiting == 0 || waiting + rows <= settings().rows_waiting_max));
    if (task) COT_ASSERT(left_.emplace(*task, rows).second);
  }

  void compute() {
    std::vector<EndedTask> ended;
    RowBatch batch = batcher_.take(now_, ended);
    batcher_.check();
    take_ended(ended);
    uint64_t rows = 0;
    for (const BatchPiece& piece : batch.pieces) {
      uint64_t& next = taken_[piece.task];
      COT_ASSERT(piece.rows > 0 && piece.first_row == next && left_.contains(piece.task));
      next += piece.rows;
      rows += piece.rows;
      COT_ASSERT(next <= left_[piece.task]);
    }
    COT_ASSERT(rows == batch.rows);
    if (rows > 0) computing_.push_back(std::move(batch));
  }

  void finish() {
    const size_t which = bytes_.below(computing_.size());
    const RowBatch batch = std::move(computing_[which]);
    computing_.erase(computing_.begin() + static_cast<ptrdiff_t>(which));
    const auto failed = std::make_unique<bool[]>(batch.pieces.size());
    for (size_t i = 0; i < batch.pieces.size(); ++i) failed[i] = bytes_.one_in(4);
    std::vector<EndedTask> ended;
    batcher_.finish(batch, {failed.get(), batch.pieces.size()}, ended);
    batcher_.check();
    take_ended(ended);
  }

  void take_ended(const std::vector<EndedTask>& ended) {
    for (const EndedTask& task : ended) {
      const auto rows = left_.extract(task.task);
      COT_ASSERT(!rows.empty());  // once
      if (task.end == TaskEnd::whole) COT_ASSERT(taken_[task.task] == rows.mapped());
    }
  }

  test::EventBytes bytes_;
  Batcher batcher_{settings()};
  Instant now_{};
  std::map<TaskId, uint64_t> left_;   // that have not ended: their rows
  std::map<TaskId, uint64_t> taken_;  // rows, of each task
  std::vector<RowBatch> computing_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(test::EventBytes(data, size)).run();
  return 0;
}
