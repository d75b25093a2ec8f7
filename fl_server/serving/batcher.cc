#include "fl_server/serving/batcher.h"

#include <algorithm>

namespace coterie {
namespace {

constexpr const char* kIsKept = "a task that waits is kept";
constexpr const char* kHasLane = "a task that waits has a lane";

}  // namespace

Batcher::Batcher(BatcherSettings settings) : settings_(std::move(settings)) {
  COT_ASSERT(!settings_.batch_sizes.empty() && settings_.batch_sizes.front() == 1);
  COT_ASSERT(std::ranges::is_sorted(settings_.batch_sizes));
}

std::optional<TaskId> Batcher::offer(LaneId lane, uint64_t rows, Instant deadline) {
  COT_ASSERT(rows >= 1);
  // A request that is larger than all the room there is would never come in: it may when nothing waits.
  if (rows_waiting_ > 0 && rows > settings_.rows_waiting_max - std::min(rows_waiting_, settings_.rows_waiting_max))
    return std::nullopt;
  const TaskId id(next_id_++);
  tasks_.emplace(id, Task{.lane = lane, .rows = rows, .deadline = deadline});
  Lane& queue = lanes_[lane];
  queue.queue.push_back(id);
  queue.rows += rows;
  rows_waiting_ += rows;
  next_deadline_ = std::min(next_deadline_, deadline);
  check_if_due();
  return id;
}

void Batcher::check_if_due() {
  if (step_check_.is_due(tasks_.size())) check();
}

bool Batcher::end_if_done(TaskId id, const Task& task, std::vector<EndedTask>& ended) {
  if (task.waiting() > 0 || task.rows_back < task.rows_taken) return false;
  ended.push_back({id, task.end});
  tasks_.erase(id);
  return true;
}

// Whoever calls takes it out of its lane's queue.
void Batcher::drop_waiting(TaskId id, Task& task, TaskEnd end, std::vector<EndedTask>& ended) {
  const uint64_t rows = task.waiting();
  must_find(lanes_, task.lane, kHasLane).rows -= rows;
  rows_waiting_ -= rows;
  task.rows_dropped += rows;
  if (task.end == TaskEnd::whole) task.end = end;
  end_if_done(id, task, ended);
}

void Batcher::drop_expired(Instant now, std::vector<EndedTask>& ended) {
  if (now < next_deadline_) return;
  next_deadline_ = Instant::max();
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    std::deque<TaskId>& queue = lane->second.queue;
    std::erase_if(queue, [&](TaskId id) {
      Task& task = must_find(tasks_, id, kIsKept);
      if (task.deadline > now) {
        next_deadline_ = std::min(next_deadline_, task.deadline);
        return false;
      }
      drop_waiting(id, task, TaskEnd::expired, ended);
      return true;
    });
    lane = queue.empty() ? lanes_.erase(lane) : std::next(lane);
  }
}

RowBatch Batcher::take(Instant now, std::vector<EndedTask>& ended) {
  drop_expired(now, ended);
  RowBatch batch = take_oldest();
  COT_INVARIANT(batch.pieces.empty() == (batch.rows == 0), "a batch has the rows of its pieces");
  check_if_due();
  return batch;
}

RowBatch Batcher::take_oldest() {
  if (lanes_.empty()) return {};
  const auto oldest = [](const auto& a, const auto& b) { return a.second.queue.front() < b.second.queue.front(); };
  const auto chosen = std::ranges::min_element(lanes_, oldest);
  Lane& lane = chosen->second;
  const auto larger = std::ranges::upper_bound(settings_.batch_sizes, lane.rows);
  RowBatch batch{.lane = chosen->first, .pieces = {}, .rows = *std::prev(larger)};
  for (uint64_t left = batch.rows; left > 0;) {
    const TaskId id = lane.queue.front();
    Task& task = must_find(tasks_, id, kIsKept);
    const uint64_t rows = std::min(left, task.waiting());
    batch.pieces.push_back({id, task.rows_taken, rows});
    task.rows_taken += rows;
    left -= rows;
    if (task.waiting() == 0) lane.queue.pop_front();
  }
  lane.rows -= batch.rows;
  rows_waiting_ -= batch.rows;
  if (lane.queue.empty()) lanes_.erase(chosen);
  return batch;
}

void Batcher::finish(const RowBatch& batch, std::span<const bool> piece_failed, std::vector<EndedTask>& ended) {
  COT_ASSERT(piece_failed.size() == batch.pieces.size());
  for (size_t i = 0; i < batch.pieces.size(); ++i) {
    const BatchPiece& piece = batch.pieces[i];
    Task& task = must_find(tasks_, piece.task, "a task is kept until its last piece is back");
    COT_INVARIANT(task.rows_back + piece.rows <= task.rows_taken, "a batch comes back once");
    task.rows_back += piece.rows;
    if (piece_failed[i] && task.waiting() > 0) {
      // Its answer is an error already, so the rest of it is computed for nobody.
      const auto lane = lanes_.find(task.lane);
      COT_INVARIANT(lane != lanes_.end(), kHasLane);
      std::erase(lane->second.queue, piece.task);
      task.end = TaskEnd::failed;
      drop_waiting(piece.task, task, TaskEnd::failed, ended);
      if (lane->second.queue.empty()) lanes_.erase(lane);
      continue;
    }
    if (piece_failed[i]) task.end = TaskEnd::failed;
    end_if_done(piece.task, task, ended);
  }
  check_if_due();
}

void Batcher::give_up(std::vector<EndedTask>& ended) {
  drop_expired(Instant::max(), ended);
  COT_INVARIANT(rows_waiting_ == 0, "nobody waits whom the batcher has given up");
  check_if_due();
}

void Batcher::check() const {
  uint64_t in_lanes = 0;
  size_t queued = 0;
  for (const auto& [id, lane] : lanes_) {
    COT_INVARIANT(!lane.queue.empty(), "a lane has tasks");
    COT_INVARIANT(std::ranges::is_sorted(lane.queue), "a lane's tasks are in the order they came in");
    uint64_t rows = 0;
    for (const TaskId task_id : lane.queue) {
      const Task& task = must_find(tasks_, task_id, kIsKept);
      COT_INVARIANT(task.lane == id, "a task waits in its own lane");
      COT_INVARIANT(task.waiting() > 0, "a task that waits has rows that wait");
      COT_INVARIANT(task.deadline >= next_deadline_, "no deadline comes before the next one that is looked for");
      rows += task.waiting();
      ++queued;
    }
    COT_INVARIANT(rows == lane.rows, "a lane's rows are those of its tasks");
    in_lanes += rows;
  }
  COT_INVARIANT(in_lanes == rows_waiting_, "the rows that wait are those of the lanes");
  size_t waiting = 0;
  for (const auto& [id, task] : tasks_) {
    COT_INVARIANT(task.rows_taken + task.rows_dropped <= task.rows,
                  "no more rows were taken or dropped than a task has");
    COT_INVARIANT(task.rows_back <= task.rows_taken, "no more rows came back than were taken");
    COT_INVARIANT(task.waiting() > 0 || task.rows_back < task.rows_taken, "a task is kept until it has ended");
    COT_INVARIANT(task.rows_dropped == 0 || task.end != TaskEnd::whole,
                  "a task that lost rows does not count as whole");
    waiting += task.waiting() > 0;
  }
  COT_INVARIANT(waiting == queued, "a task that waits does so once");
}

}  // namespace coterie
