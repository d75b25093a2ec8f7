// InferenceWorkers: the shell of the Batcher: threads that compute what it gives them.
#pragma once

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
  // rows * the output's elements, all of one version.
  using Outcome = Result<std::vector<float>>;
  using Done = std::function<void(Outcome)>;

  // `metrics` outlives it.
  InferenceWorkers(size_t workers, BatcherSettings settings, ServingMetrics& metrics);
  ~InferenceWorkers() { stop(); }
  InferenceWorkers(const InferenceWorkers&) = delete;
  InferenceWorkers& operator=(const InferenceWorkers&) = delete;

  // Calls `done` once, on a worker's thread, or on the caller's if there is no room. Errors: overloaded (the queue is
  // full, or the workers stop), timed_out (the deadline passed first), and what ServedVersion::run says. Thread-safe.
  void submit(std::shared_ptr<ServedVersion> version, InferRequest request, Instant deadline, Done done);
  // The same for work that nobody waits for: overloaded already where half of the queue is taken.
  void submit_if_quiet(std::shared_ptr<ServedVersion> version, InferRequest request, Instant deadline, Done done);
  // Ends what waits as timed_out, and waits for what is under way.
  void stop();

 private:
  struct Task {
    std::shared_ptr<ServedVersion> version;
    std::vector<std::vector<float>> inputs;
    std::vector<float> output;
    Done done;
    std::chrono::steady_clock::time_point came;
    std::optional<Error> error;
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
  void work(size_t worker);
  static void compute(size_t worker, std::span<Piece> pieces, uint64_t rows, Scratch& scratch);
  static void compute_alone(size_t worker, Piece& piece);
  std::vector<Ended> take_out(std::span<const EndedTask> ended);
  void tell(std::vector<Ended> ended);

  ServingMetrics& metrics_;
  const uint64_t rows_waiting_max_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Batcher batcher_;                                          // guarded, as the next
  std::unordered_map<TaskId, std::unique_ptr<Task>> tasks_;  // as the batcher's
  size_t idle_ = 0;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace coterie
