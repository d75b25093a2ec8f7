#include "fl_server/serving/inference_workers.h"

#include <algorithm>

#include "base/os/clock.h"
#include "fl_server/serving/at_once.h"
#include "fl_server/serving/output_places.h"
#include "fl_server/serving/serving_steps.h"

namespace coterie {
namespace {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

Error queue_is_full() {
  return Error(ErrorCode::overloaded, "the workers have as many examples waiting as they may; come back later");
}

Error time_is_over() { return Error(ErrorCode::timed_out, "its time was over before a worker was free for it"); }

}  // namespace

InferenceWorkers::InferenceWorkers(size_t workers, BatcherSettings settings, ServingMetrics& metrics,
                                   uint64_t prepared_bytes_max)
    : metrics_(metrics),
      rows_waiting_max_(settings.rows_waiting_max),
      prepared_bytes_max_(prepared_bytes_max),
      batcher_(std::move(settings)) {
  for (size_t seat = workers; seat > 0; --seat) free_seats_.push_back(seat - 1);
  for (size_t i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
}

void InferenceWorkers::submit(std::shared_ptr<ServedVersion> version, InferRequest request, Instant deadline,
                              Done done) {
  submit_within(rows_waiting_max_, std::move(version), std::move(request), deadline, std::move(done));
}

void InferenceWorkers::submit_if_quiet(std::shared_ptr<ServedVersion> version, InferRequest request, Instant deadline,
                                       Done done) {
  submit_within(rows_waiting_max_ / 2, std::move(version), std::move(request), deadline, std::move(done));
}

// What a few bytes of a picture become is bounded before they are decoded.
Status InferenceWorkers::take_share(Task& task) {
  uint64_t bytes = 0;
  for (const TensorInterface& input : task.version->interface().inputs)
    bytes += task.rows * input.elements * sizeof(float);
  if (bytes > prepared_bytes_max_) {
    return Error(ErrorCode::too_large, "its " + std::to_string(task.rows) + " examples become " +
                                           std::to_string(bytes) + " bytes, at most " +
                                           std::to_string(prepared_bytes_max_) + ": send several requests");
  }
  for (const TensorValues& values : task.sent) {
    bytes += values.words.size() * sizeof(float) + values.doubles.size() * sizeof(double) + values.pixels.size();
    for (const std::string& text : values.texts) bytes += sizeof(text) + text.size();
  }
  task.share = std::make_unique<Share>(&prepared_bytes_, bytes);
  // An empty budget takes any request that may come at all.
  const uint64_t before = prepared_bytes_.fetch_add(bytes);
  if (before > 0 && before + bytes > prepared_bytes_max_) return queue_is_full();
  return {};
}

void InferenceWorkers::submit_within(uint64_t rows_waiting_max, std::shared_ptr<ServedVersion> version,
                                     InferRequest request, Instant deadline, Done done) {
  auto task = std::make_unique<Task>();
  task->rows = request.rows;
  task->deadline = deadline;
  task->rows_waiting_max = rows_waiting_max;
  task->came = std::chrono::steady_clock::now();
  task->version = std::move(version);
  task->done = std::move(done);
  if (task->version->steps() && task->version->steps()->prepares()) {
    task->sent = std::move(request.inputs);
    if (const Status taken = take_share(*task); !taken) return task->done(taken.error());
  } else {
    for (TensorValues& values : request.inputs) task->inputs.push_back(std::move(values.words));
  }
  offer(std::move(task));
}

void InferenceWorkers::offer(std::unique_ptr<Task> task) {
  const LaneId lane = task->is_prepared() ? task->version->lane() : task->version->steps_lane();
  if (task->is_prepared()) task->output.resize(task->rows * answer_elements(task->version->interface()));
  std::optional<TaskId> id;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_stopping_ && batcher_.rows_waiting() <= task->rows_waiting_max)
      id = batcher_.offer(lane, task->rows, task->deadline);
    if (id) {
      tasks_.emplace(*id, std::move(task));
      wakes = idle_ > 0 && !free_seats_.empty();  // otherwise whoever leaves a seat looks for it
    }
    metrics_.set_rows_waiting(batcher_.rows_waiting());
  }
  if (!id) return task->done(queue_is_full());
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
    if (end == TaskEnd::expired && !task->error) task->error = time_is_over();
    if (!task->error && !task->is_prepared()) {
      // The second half: in the model's lane, behind what came there before.
      task->sent.clear();
      offer(std::move(task));
      continue;
    }
    if (!task->error) metrics_.request_computed(seconds_since(task->came));
    if (task->error) task->done(*std::move(task->error));
    else task->done(std::move(task->output));
  }
}

// Each row on its own: a picture that is none is the affair of its own request.
void InferenceWorkers::prepare(Piece& piece) {
  Task& task = *piece.task;
  const std::vector<TensorInterface>& inputs = task.version->interface().inputs;
  std::call_once(task.has_room, [&] {
    task.inputs.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) task.inputs[i].resize(task.rows * inputs[i].elements);
  });
  std::vector<std::span<float>> to(inputs.size());
  for (uint64_t row = piece.first_row; row < piece.first_row + piece.rows; ++row) {
    // A picture may take a second, and a piece has many: the model would refuse what is late anyway.
    if (os::monotonic_now() >= task.deadline) {
      piece.error = time_is_over();
      return;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint64_t size = inputs[i].elements;
      to[i] = std::span(task.inputs[i]).subspan(row * size, size);
    }
    const Status prepared = task.version->steps()->prepare(task.sent, row, to);
    if (prepared) continue;
    piece.error = prepared.error().with_context("example " + std::to_string(row + 1));
    return;
  }
}

// One piece on its own: where a batch failed, this says whose fault it was.
void InferenceWorkers::compute_alone(size_t seat, Piece& piece) {
  Task& task = *piece.task;
  const ModelInterface& model = task.version->interface();
  std::vector<std::span<const float>> inputs;
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    const uint64_t size = model.inputs[i].elements;
    inputs.push_back(std::span<const float>(task.inputs[i]).subspan(piece.first_row * size, piece.rows * size));
  }
  const OutputPlaces<float> outputs(model, task.output, task.rows, piece.first_row, piece.rows);
  const Status ran = task.version->run(seat, inputs, piece.rows, outputs.spans());
  if (!ran) piece.error = ran.error();
}

void InferenceWorkers::compute(size_t seat, std::span<Piece> pieces, uint64_t rows, Scratch& scratch) {
  if (pieces.size() == 1) return compute_alone(seat, pieces[0]);
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
  scratch.output.resize(rows * answer_elements(model));
  const OutputPlaces<float> computed(model, scratch.output, rows);
  if (!version.run(seat, inputs, rows, computed.spans())) {
    // An index outside of a table, for example: the others' rows are as good as they were.
    for (Piece& piece : pieces) compute_alone(seat, piece);
    return;
  }
  uint64_t row = 0;
  for (const Piece& piece : pieces) {
    const OutputPlaces<float> from(model, scratch.output, rows, row, piece.rows);
    const OutputPlaces<float> to(model, piece.task->output, piece.task->rows, piece.first_row, piece.rows);
    for (size_t i = 0; i < from.size(); ++i) std::ranges::copy(from[i], to[i].begin());
    row += piece.rows;
  }
}

// None where somebody waits for it, or nobody is to have one any more.
std::optional<size_t> InferenceWorkers::take_seat() {
  const std::lock_guard lock(mutex_);
  if (is_stopping_ || free_seats_.empty() || batcher_.rows_waiting() > 0) return std::nullopt;
  const size_t seat = free_seats_.back();
  free_seats_.pop_back();
  return seat;
}

void InferenceWorkers::leave_seat(size_t seat) {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    free_seats_.push_back(seat);
    wakes = batcher_.rows_waiting() > 0 && idle_ > 0;
  }
  if (wakes) wake_.notify_one();
}

// The seat of a thread that is no worker.
class InferenceWorkers::Seat {
 public:
  explicit Seat(InferenceWorkers& workers) : workers_(workers), number_(workers.take_seat()) {}
  ~Seat() {
    if (number_) workers_.leave_seat(*number_);
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  std::optional<size_t> number() const { return number_; }

 private:
  InferenceWorkers& workers_;
  const std::optional<size_t> number_;
};

std::optional<InferenceWorkers::Outcome> InferenceWorkers::compute_at_once(ServedVersion& version,
                                                                           const InferRequest& request,
                                                                           Instant deadline) {
  if (version.steps() && version.steps()->prepares()) return std::nullopt;
  if (os::monotonic_now() >= deadline) return std::nullopt;
  std::vector<std::span<const float>> inputs;
  for (const TensorValues& values : request.inputs) inputs.emplace_back(values.words);
  std::vector<float> output(request.rows * answer_elements(version.interface()));
  const OutputPlaces<float> outputs(version.interface(), output, request.rows);
  const auto began = std::chrono::steady_clock::now();
  Status ran;
  {
    const Seat seat(*this);
    if (!seat.number()) return std::nullopt;
    ran = version.run(*seat.number(), inputs, request.rows, outputs.spans());
  }
  const double seconds = seconds_since(began);
  metrics_.computed_at_once();
  metrics_.waited(0);
  metrics_.batch_computed(request.rows, seconds);
  if (!ran) return ran.error();
  metrics_.request_computed(seconds);
  return output;
}

void InferenceWorkers::work() {
  Scratch scratch;
  std::vector<EndedTask> ended;
  std::vector<Piece> pieces;
  std::unique_lock lock(mutex_);
  for (;;) {
    RowBatch batch;
    if (!free_seats_.empty()) batch = batcher_.take(os::monotonic_now(), ended);
    std::vector<Ended> expired = take_out(ended);
    ended.clear();
    if (batch.pieces.empty() && expired.empty()) {
      if (is_stopping_) return;
      ++idle_;
      wake_.wait(lock);
      --idle_;
      continue;
    }
    metrics_.set_rows_waiting(batcher_.rows_waiting());
    // The tasks stay where they are until the batcher says that they have ended.
    pieces.clear();
    for (const BatchPiece& piece : batch.pieces)
      pieces.push_back({tasks_.at(piece.task).get(), piece.first_row, piece.rows, {}});
    size_t seat = 0;  // of a batch that is empty none
    if (!pieces.empty()) {
      seat = free_seats_.back();
      free_seats_.pop_back();
    }
    const bool more = batcher_.rows_waiting() > 0 && idle_ > 0 && !free_seats_.empty();
    lock.unlock();
    if (more) wake_.notify_one();
    tell(std::move(expired));
    if (!pieces.empty()) {
      const auto began = std::chrono::steady_clock::now();
      for (const Piece& piece : pieces) {
        const bool comes_first = piece.first_row == 0 && !(piece.task->share && piece.task->is_prepared());
        if (comes_first) metrics_.waited(std::chrono::duration<double>(began - piece.task->came).count());
      }
      if (pieces[0].task->is_prepared()) {
        compute(seat, pieces, batch.rows, scratch);
        metrics_.batch_computed(batch.rows, seconds_since(began));
        // Rows among which some are wrong end early, or are computed twice: neither is what good ones cost.
        if (std::ranges::none_of(pieces, [](const Piece& piece) { return piece.error.has_value(); }))
          pieces[0].task->version->cost().observe(batch.rows, std::chrono::steady_clock::now() - began);
      } else {
        for (Piece& piece : pieces) prepare(piece);
        metrics_.rows_prepared(seconds_since(began));
      }
    }
    lock.lock();
    if (pieces.empty()) continue;
    free_seats_.push_back(seat);
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
    metrics_.set_rows_waiting(0);
    given_up = take_out(ended);
  }
  wake_.notify_all();
  tell(std::move(given_up));
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace coterie
