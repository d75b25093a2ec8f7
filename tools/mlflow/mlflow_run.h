// MlflowRun: a run that a tracking server of MLflow hears of as it goes: parameters, metrics by step, the files that it
// left, and how it ended.
//
// It is sent on a thread of its own. A training never waits for it and never fails by it: what cannot be sent is kept
// for the next try, the oldest goes beyond kWaitingMax, and that something is wrong is said once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tools/mlflow/mlflow_client.h"
#include "tools/tensorboard/scalar_sink.h"

namespace coterie {

class MlflowRun final : public ScalarSink {
 public:
  static constexpr size_t kWaitingMax = 100'000;  // metrics
  static constexpr Millis kRetryAfter{2'000};
  static constexpr size_t kFilesMax = 16;
  static constexpr uint32_t kFileFailuresMax = 3;      // tries of one, behind which no file is sent any more
  static constexpr uint64_t kFileBytesMax = 64 << 20;  // a larger one is not sent
  // How long the end of the run waits for what is left, and after how many failures by then it does not any more. Files
  // have a minute besides.
  static constexpr Millis kEndMax{10'000}, kEndOfFilesMax{60'000}, kRetryAtEndAfter{500};
  static constexpr uint32_t kFailuresAtEndMax = 3;

  // `say`: a sentence for a person, at most once; on any thread.
  using Say = std::function<void(const std::string& sentence)>;
  MlflowRun(MlflowServer server, std::string name, MlflowParams params, Say say);
  // Sends what is left.
  ~MlflowRun() override;

  void take(WallTime time, uint64_t step, std::span<const Scalar> scalars) override;
  void take_file(std::string path) override;
  void finished() override;

 private:
  void run();
  // One question or none; false: there is nothing to do.
  bool send_some(std::unique_lock<std::mutex>& lock);
  void send_file(std::unique_lock<std::mutex>& lock);
  void failed(const Error& error);
  void say_once(const std::string& sentence);

  const std::string name_;
  const Say say_;
  const WallTime began_;
  std::atomic<bool> cancelled_{false};
  MlflowClient client_;

  std::mutex mutex_;  // of all below
  std::condition_variable wake_, idle_;
  std::deque<MlflowMetric> waiting_;
  MlflowParams params_;            // not sent yet
  std::deque<std::string> files_;  // paths, not sent yet
  std::optional<MlflowClient::Run> run_;
  bool has_finished_ = false, is_ending_ = false, is_told_ = false, has_said_ = false, is_refused_ = false;
  bool waits_for_retry_ = false;
  uint64_t dropped_ = 0;
  uint32_t failures_at_end_ = 0, file_failures_ = 0;
  std::thread thread_;  // last: it uses all of the above
};

// Null for an empty `url`. invalid_argument: mlflow_server. What goes wrong is said on standard error.
Result<std::shared_ptr<ScalarSink>> start_mlflow(const std::string& url, std::string name, MlflowParams params);

}  // namespace coterie
