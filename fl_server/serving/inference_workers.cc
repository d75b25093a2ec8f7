#include "fl_server/serving/inference_workers.h"

#include <algorithm>

#include "base/os/clock.h"

namespace coterie {
namespace {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

Error queue_is_full() {
  return Error(ErrorCode::overloaded, "the workers have as many examples waiting as they may; come back later");
}

}  // namespace

InferenceWorkers::InferenceWorkers(size_t workers, BatcherSettings settings, ServingMetrics& metrics)
    : metrics_(metrics), rows_waiting_max_(settings.rows_waiting_max), batcher_(std::move(settings)) {
  for (size_t i = 0; i < workers; ++i) threads_.emplace_back([this, i] { work(i); });
}

void InferenceWorkers::submit(std::shared_ptr<ServedVersion> version, InferRequest request, Instant deadline,
                              Done done) {
  submit_within(rows_waiting_max_, std::move(version), std::move(request), deadline, std::move(done));
}

void InferenceWorkers::submit_if_quiet(std::shared_ptr<ServedVersion> version, InferRequest request, Instant deadline,
                                       Done done) {
  submit_within(rows_waiting_max_ / 2, std::move(version), std::move(request), deadline, std::move(done));
}

void InferenceWorkers::submit_within(uint64_t rows_waiting_max, std::shared_ptr<ServedVersion> version,
                                     InferRequest request, Instant deadline, Done done) {
  auto task = std::make_unique<Task>();
  task->output.resize(request.rows * version->interface().output.elements);
  task->inputs = std::move(request.inputs);
  task->came = std::chrono::steady_clock::now();
  const LaneId lane = version->lane();
  task->version = std::move(version);
  std::optional<TaskId> id;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_stopping_ && batcher_.rows_waiting() <= rows_waiting_max) id = batcher_.offer(lane, request.rows, deadline);
    if (id) {
      task->done = std::move(done);
      tasks_.emplace(*id, std::move(task));
      wakes = idle_ > 0;
    }
    metrics_.set_rows_waiting(batcher_.rows_waiting());
  }
  if (!id) return done(queue_is_full());
  if (wakes) wake_.notify_one();
}

// Under the lock.
std::vector<InferenceWorkers::Ended> InferenceWorkers::take_out(std::span<const EndedTask> ended) {
  std::vector<Ended> out;
  out.reserve(ended.size());
  for (const EndedTask& task : ended) out.push_back({std::move(tasks_.extract(task.task).mapped()), task.end});
  return out;
}

void InferenceWorkers::tell(std::vector<Ended> ended) {
  for (auto& [task, end] : ended) {
    if (end == TaskEnd::expired && !task->error)
      task->error = Error(ErrorCode::timed_out, "its time was over before a worker was free for it");
    if (!task->error) metrics_.request_computed(seconds_since(task->came));
    if (task->error) task->done(*std::move(task->error));
    else task->done(std::move(task->output));
  }
}

// One piece on its own: where a batch failed, this says whose fault it was.
void InferenceWorkers::compute_alone(size_t worker, Piece& piece) {
  Task& task = *piece.task;
  const ModelInterface& model = task.version->interface();
  std::vector<std::span<const float>> inputs;
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    const uint64_t size = model.inputs[i].elements;
    inputs.push_back(std::span<const float>(task.inputs[i]).subspan(piece.first_row * size, piece.rows * size));
  }
  const uint64_t size = model.output.elements;
  const std::span<float> output = std::span(task.output).subspan(piece.first_row * size, piece.rows * size);
  const Status ran = task.version->run(worker, inputs, piece.rows, output);
  if (!ran) piece.error = ran.error();
}

void InferenceWorkers::compute(size_t worker, std::span<Piece> pieces, uint64_t rows, Scratch& scratch) {
  if (pieces.size() == 1) return compute_alone(worker, pieces[0]);
  ServedVersion& version = *pieces[0].task->version;
  const ModelInterface& model = version.interface();
  std::vector<std::span<const float>> inputs;
  scratch.inputs.resize(std::max(scratch.inputs.size(), model.inputs.size()));
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const uint64_t size = model.inputs[i].elements;
    scratch.inputs[i].resize(rows * size);
    auto to = scratch.inputs[i].begin();
    for (const Piece& piece : pieces) {
      to = std::copy_n(piece.task->inputs[i].begin() + static_cast<ptrdiff_t>(piece.first_row * size),
                       piece.rows * size, to);
    }
    inputs.emplace_back(scratch.inputs[i]);
  }
  const uint64_t size = model.output.elements;
  scratch.output.resize(rows * size);
  if (!version.run(worker, inputs, rows, scratch.output)) {
    // An index outside of a table, for example: the others' rows are as good as they were.
    for (Piece& piece : pieces) compute_alone(worker, piece);
    return;
  }
  auto from = scratch.output.begin();
  for (const Piece& piece : pieces) {
    std::copy_n(from, piece.rows * size, piece.task->output.begin() + static_cast<ptrdiff_t>(piece.first_row * size));
    from += static_cast<ptrdiff_t>(piece.rows * size);
  }
}

void InferenceWorkers::work(size_t worker) {
  Scratch scratch;
  std::vector<EndedTask> ended;
  std::vector<Piece> pieces;
  std::unique_lock lock(mutex_);
  for (;;) {
    const RowBatch batch = batcher_.take(os::monotonic_now(), ended);
    std::vector<Ended> expired = take_out(ended);
    ended.clear();
    if (batch.pieces.empty() && expired.empty()) {
      if (is_stopping_) return;
      ++idle_;
      wake_.wait(lock);
      --idle_;
      continue;
    }
    // The tasks stay where they are until the batcher says that they have ended.
    pieces.clear();
    for (const BatchPiece& piece : batch.pieces)
      pieces.push_back({tasks_.at(piece.task).get(), piece.first_row, piece.rows, {}});
    const bool more = batcher_.rows_waiting() > 0 && idle_ > 0;
    lock.unlock();
    if (more) wake_.notify_one();
    tell(std::move(expired));
    if (!pieces.empty()) {
      const auto began = std::chrono::steady_clock::now();
      for (const Piece& piece : pieces) {
        if (piece.first_row == 0) metrics_.waited(std::chrono::duration<double>(began - piece.task->came).count());
      }
      compute(worker, pieces, batch.rows, scratch);
      metrics_.batch_computed(batch.rows, seconds_since(began));
    }
    lock.lock();
    if (pieces.empty()) continue;
    const auto failed = std::make_unique<bool[]>(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      failed[i] = pieces[i].error.has_value();
      if (failed[i] && !pieces[i].task->error) pieces[i].task->error = std::move(pieces[i].error);
    }
    batcher_.finish(batch, {failed.get(), pieces.size()}, ended);
    std::vector<Ended> whole = take_out(ended);
    ended.clear();
    lock.unlock();
    tell(std::move(whole));
    lock.lock();
  }
}

void InferenceWorkers::stop() {
  std::vector<Ended> given_up;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    std::vector<EndedTask> ended;
    batcher_.give_up(ended);
    given_up = take_out(ended);
  }
  wake_.notify_all();
  tell(std::move(given_up));
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace coterie
