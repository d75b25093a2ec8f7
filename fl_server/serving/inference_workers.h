// InferenceWorkers: the shell of the Batcher: threads that compute what it gives them. Where a version has steps before
// its model, a request is two tasks, one behind the other: its rows are prepared in a lane of their own, and then
// computed in the model's, in batches with rows of other requests.
//
// There are as many seats as workers, each with sessions of its own in every version. Whoever computes has one: a
// worker, or a thread that computes a request at once while a worker has nothing to do. So no more compute at a time
// than there are workers, and none of them waits for another's sessions.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "fl_server/serving/batcher.h"
#include "fl_server/serving/infer_request.h"
#include "fl_server/serving/served_version.h"
#include "fl_server/telemetry/serving_metrics.h"

namespace coterie {

class InferenceWorkers {
 public:
  // The rows of each output, as OutputPlaces has them; all of one version.
  using Outcome = Result<std::vector<float>>;
  using Done = std::function<void(Outcome)>;

  // What requests send whose rows are prepared here, and what it becomes: of all that wait together.
  static constexpr uint64_t kPreparedBytesMax = 1ull << 30;

  // `metrics` outlives it.
  InferenceWorkers(size_t workers, BatcherSettings settings, ServingMetrics& metrics,
                   uint64_t prepared_bytes_max = kPreparedBytesMax);
  ~InferenceWorkers() { stop(); }
  InferenceWorkers(const InferenceWorkers&) = delete;
  InferenceWorkers& operator=(const InferenceWorkers&) = delete;

  // Calls `done` once, on a worker's thread, or on the caller's if there is no room. Errors: overloaded (the queue is
  // full, or the workers stop), too_large (its rows alone become more than `prepared_bytes_max`), timed_out (the
  // deadline passed first), and what FittedSteps::prepare and ServedVersion::run say. Thread-safe.
  void submit(std::shared_ptr<ServedVersion> version, InferRequest request, Instant deadline, Done done);
  // Computes it now, on the caller's thread, if a seat is free, nothing waits, the deadline has not passed and the
  // version has no steps before its model. None: it is to be submitted. Errors: ServedVersion::run. Thread-safe.
  std::optional<Outcome> compute_at_once(ServedVersion& version, const InferRequest& request, Instant deadline);
  // The same as submit() for work that nobody waits for: overloaded already where half of the queue is taken.
  void submit_if_quiet(std::shared_ptr<ServedVersion> version, InferRequest request, Instant deadline, Done done);
  // Ends what waits as timed_out, and waits for what is under way on the workers. Nothing is computed at once any more.
  void stop();

 private:
  // Bytes of the budget, given back when it goes.
  struct Share {
    std::atomic<uint64_t>* of = nullptr;
    uint64_t bytes = 0;
    Share(std::atomic<uint64_t>* budget, uint64_t share) : of(budget), bytes(share) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { *of -= bytes; }
  };
  struct Task {
    std::shared_ptr<ServedVersion> version;
    uint64_t rows = 0;
    Instant deadline;
    uint64_t rows_waiting_max = 0;
    std::vector<TensorValues> sent;  // to be prepared; empty: the inputs are here
    std::once_flag has_room;         // for the inputs, once the first rows are prepared
    std::unique_ptr<Share> share;
    std::vector<std::vector<float>> inputs;
    std::vector<float> output;
    Done done;
    std::chrono::steady_clock::time_point came;
    std::optional<Error> error;
    bool is_prepared() const { return sent.empty(); }
  };
  struct Piece {
    Task* task;
    uint64_t first_row, rows;
    std::optional<Error> error;  // several workers may have pieces of one task
  };
  struct Scratch {
    std::vector<std::vector<float>> inputs;
    std::vector<float> output;
  };
  struct Ended {
    std::unique_ptr<Task> task;
    TaskEnd end;
  };

  void submit_within(uint64_t rows_waiting_max, std::shared_ptr<ServedVersion> version, InferRequest request,
                     Instant deadline, Done done);
  Status take_share(Task& task);
  void offer(std::unique_ptr<Task> task);
  void work();
  class Seat;
  std::optional<size_t> take_seat();
  void leave_seat(size_t seat);
  static void compute(size_t seat, std::span<Piece> pieces, uint64_t rows, Scratch& scratch);
  static void compute_alone(size_t seat, Piece& piece);
  static void prepare(Piece& piece);
  std::vector<Ended> take_out(std::span<const EndedTask> ended);
  void tell(std::vector<Ended> ended);

  ServingMetrics& metrics_;
  const uint64_t rows_waiting_max_, prepared_bytes_max_;
  std::atomic<uint64_t> prepared_bytes_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  Batcher batcher_;                                          // guarded, as the next
  std::unordered_map<TaskId, std::unique_ptr<Task>> tasks_;  // as the batcher's
  std::vector<size_t> free_seats_;
  size_t idle_ = 0;  // workers
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace coterie
