#include "tools/mlflow/mlflow_run.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/os/clock.h"
#include "base/os/file.h"

namespace coterie {

MlflowRun::MlflowRun(MlflowServer server, std::string name, MlflowParams params, Say say)
    : name_(std::move(name)),
      say_(std::move(say)),
      began_(os::wall_now()),
      client_(std::move(server), cancelled_),
      params_(std::move(params)),
      thread_([this] { run(); }) {}

MlflowRun::~MlflowRun() {
  std::unique_lock lock(mutex_);
  is_ending_ = true;
  wake_.notify_all();
  const auto is_over = [this] { return is_told_ || is_refused_; };
  idle_.wait_for(lock, files_.empty() ? kEndMax : kEndMax + kEndOfFilesMax, is_over);
  const size_t left = waiting_.size();
  const bool was_told = is_told_;
  cancelled_ = true;
  wake_.notify_all();
  lock.unlock();
  thread_.join();
  if (!was_told && !has_said_) {
    say_("MLflow did not answer in time: " + std::to_string(left) + " metrics were not sent. The run itself is whole.");
  }
}

void MlflowRun::take(WallTime time, uint64_t step, std::span<const Scalar> scalars) {
  const std::lock_guard lock(mutex_);
  if (is_refused_) return;
  for (const Scalar& scalar : scalars) waiting_.push_back({scalar.tag, scalar.value, time, step});
  while (waiting_.size() > kWaitingMax) {
    waiting_.pop_front();
    ++dropped_;
  }
  wake_.notify_all();
}

void MlflowRun::take_file(std::string path) {
  const std::lock_guard lock(mutex_);
  if (is_refused_ || files_.size() >= kFilesMax) return;
  files_.push_back(std::move(path));
  wake_.notify_all();
}

void MlflowRun::finished() {
  const std::lock_guard lock(mutex_);
  has_finished_ = true;
}

void MlflowRun::run() {
  std::unique_lock lock(mutex_);
  while (!cancelled_ && !is_told_ && !is_refused_) {
    if (waits_for_retry_) {
      waits_for_retry_ = false;
      wake_.wait_for(lock, is_ending_ ? kRetryAtEndAfter : kRetryAfter, [this] { return cancelled_.load(); });
      continue;
    }
    if (!send_some(lock)) wake_.wait(lock);
  }
  idle_.notify_all();
}

bool MlflowRun::send_some(std::unique_lock<std::mutex>& lock) {
  if (!run_) {
    lock.unlock();
    Result<MlflowClient::Run> made = client_.create_run(name_, began_);
    lock.lock();
    if (made) run_ = std::move(*made);
    else failed(made.error());
    return true;
  }
  if (!params_.empty() || !waiting_.empty()) {
    const auto params = static_cast<ptrdiff_t>(std::min(params_.size(), kMlflowParamsMax));
    const auto metrics =
        static_cast<ptrdiff_t>(std::min(waiting_.size(), kMlflowBatchMax - static_cast<size_t>(params)));
    const MlflowParams some(params_.begin(), params_.begin() + params);
    const std::vector<MlflowMetric> sent(waiting_.begin(), waiting_.begin() + metrics);
    const uint64_t dropped_before = dropped_;
    lock.unlock();
    const Status logged = client_.log_batch(run_->id, sent, some);
    lock.lock();
    if (!logged) {
      failed(logged.error());
      return true;
    }
    params_.erase(params_.begin(), params_.begin() + params);
    // Some of what was sent may have gone for want of room meanwhile.
    const auto gone = static_cast<ptrdiff_t>(std::min<uint64_t>(dropped_ - dropped_before, sent.size()));
    waiting_.erase(waiting_.begin(), waiting_.begin() + (metrics - gone));
    return true;
  }
  if (!files_.empty()) {
    send_file(lock);
    return true;
  }
  if (!is_ending_) return false;
  const MlflowEnd how = has_finished_ ? MlflowEnd::finished : MlflowEnd::failed;
  lock.unlock();
  const Status updated = client_.update_run(run_->id, how, os::wall_now());
  lock.lock();
  if (updated) is_told_ = true;
  else failed(updated.error());
  return true;
}

// A file that cannot be sent is left out, and the run goes on: its metrics are worth more.
void MlflowRun::send_file(std::unique_lock<std::mutex>& lock) {
  const std::string path = files_.front(), name = path.substr(path.rfind('/') + 1);
  lock.unlock();
  Status sent = Error(ErrorCode::invalid_argument, "this server takes no files (mlflow server --serve-artifacts)");
  if (run_->artifact_path) {
    const Result<Bytes> bytes = os::read_file(path, kFileBytesMax);
    sent = bytes ? client_.put_file(*run_->artifact_path, name, *bytes) : Status(bytes.error());
  }
  lock.lock();
  const bool may_pass = !sent && sent.error().code() == ErrorCode::unavailable;
  if (may_pass && ++file_failures_ < kFileFailuresMax) {
    waits_for_retry_ = true;
    return;
  }
  // What took none of this one after so many tries is not asked for the others.
  if (may_pass) files_.clear();
  else files_.pop_front();
  file_failures_ = 0;
  if (!sent) say_once("MLflow: " + name + " was not sent: " + sent.error().message() + ". The run goes on.");
}

void MlflowRun::say_once(const std::string& sentence) {
  if (!std::exchange(has_said_, true) && !cancelled_) say_(sentence);
}

// What will not pass ends the sending; what may is tried again.
void MlflowRun::failed(const Error& error) {
  const bool may_pass = error.code() == ErrorCode::unavailable;
  waits_for_retry_ = may_pass;
  is_refused_ = !may_pass || (is_ending_ && ++failures_at_end_ >= kFailuresAtEndMax);
  if (is_refused_) {
    waiting_.clear();
    files_.clear();
  }
  say_once("MLflow: " + error.message() +
           (may_pass ? ". The run goes on, and it is tried again." : ". The run goes on, and nothing more is sent."));
}

Result<std::shared_ptr<ScalarSink>> start_mlflow(const std::string& url, std::string name, MlflowParams params) {
  if (url.empty()) return std::shared_ptr<ScalarSink>();
  COT_ASSIGN(MlflowServer server, mlflow_server(url));
  return std::shared_ptr<ScalarSink>(
      std::make_shared<MlflowRun>(std::move(server), std::move(name), std::move(params),
                                  [](const std::string& sentence) { std::fprintf(stderr, "%s\n", sentence.c_str()); }));
}

}  // namespace coterie
