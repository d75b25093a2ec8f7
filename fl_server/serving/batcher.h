// Batcher: which rows of which requests a worker computes next. Pure; one lock around it is the shell's.
//
// A worker that is free takes what there is, at once: nothing waits for company. While all of them compute, requests
// queue, and the next free worker takes the largest of the batch sizes that the rows of the oldest request's lane fill.
// A request of more rows is split; it ends when its last rows have come back. A lane is one version of one model: no
// batch has rows of two.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "base/ids.h"
#include "base/time.h"

namespace coterie {

using TaskId = StrongId<struct TaskTag, uint64_t>;
using LaneId = StrongId<struct LaneTag, uint64_t>;

struct BatcherSettings {
  std::vector<uint32_t> batch_sizes = {1};  // ascending, the first is 1
  uint64_t rows_waiting_max = 4096;
};

// Consecutive rows of one request.
struct BatchPiece {
  TaskId task;
  uint64_t first_row = 0;
  uint64_t rows = 0;
  friend bool operator==(const BatchPiece&, const BatchPiece&) = default;
};

struct RowBatch {
  LaneId lane;
  std::vector<BatchPiece> pieces;  // none: there is nothing to compute
  uint64_t rows = 0;               // of all pieces: one of the batch sizes
};

enum class TaskEnd : uint8_t {
  whole,    // all its rows were computed
  failed,   // some were, and a piece failed
  expired,  // its deadline passed before its last rows had a worker
};

struct EndedTask {
  TaskId task;
  TaskEnd end = TaskEnd::whole;
  friend bool operator==(const EndedTask&, const EndedTask&) = default;
};

class Batcher {
 public:
  explicit Batcher(BatcherSettings settings);

  // A request of so many rows (at least 1); none if there is no room for them: then it is refused, and may come again.
  std::optional<TaskId> offer(LaneId lane, uint64_t rows, Instant deadline);
  // A worker is free. `ended` gets those that expired: their rows are computed for nobody.
  RowBatch take(Instant now, std::vector<EndedTask>& ended);
  // A batch that take() gave has come back; `piece_failed` says of each of its pieces whether it failed.
  void finish(const RowBatch& batch, std::span<const bool> piece_failed, std::vector<EndedTask>& ended);
  // Nobody will take anything any more: all that wait end as expired.
  void give_up(std::vector<EndedTask>& ended);

  uint64_t rows_waiting() const { return rows_waiting_; }
  size_t tasks() const { return tasks_.size(); }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  struct Task {
    LaneId lane;
    uint64_t rows = 0;
    uint64_t rows_taken = 0;    // by workers, the first ones
    uint64_t rows_back = 0;     // of those
    uint64_t rows_dropped = 0;  // the last ones
    Instant deadline;
    TaskEnd end = TaskEnd::whole;
    uint64_t waiting() const { return rows - rows_taken - rows_dropped; }
  };
  struct Lane {
    std::deque<TaskId> queue;  // tasks that have waiting rows, the oldest in front
    uint64_t rows = 0;         // all that wait
  };

  void check_if_due();
  RowBatch take_oldest();
  void drop_waiting(TaskId id, Task& task, TaskEnd end, std::vector<EndedTask>& ended);
  bool end_if_done(TaskId id, const Task& task, std::vector<EndedTask>& ended);
  void drop_expired(Instant now, std::vector<EndedTask>& ended);

  BatcherSettings settings_;
  uint64_t next_id_ = 1;
  uint64_t rows_waiting_ = 0;
  Instant next_deadline_ = Instant::max();  // no waiting task has an earlier one
  std::unordered_map<TaskId, Task> tasks_;  // that have not ended
  std::map<LaneId, Lane> lanes_;            // that have waiting rows
  StepCheck step_check_;
};

}  // namespace coterie
