#include "fl_server/runtime/work_pool.h"

#include <algorithm>
#include <memory>

namespace coterie {
namespace {

// Outlives its caller: a helper may come to it when all is done.
struct Parts {
  size_t count = 0;
  const std::function<void(size_t)>* work = nullptr;  // only while a part is left
  std::mutex mutex;
  std::condition_variable all_done;
  size_t taken = 0, done = 0;

  void help() {
    std::unique_lock lock(mutex);
    while (taken < count) {
      const size_t part = taken++;
      lock.unlock();
      (*work)(part);
      lock.lock();
      if (++done == count) all_done.notify_all();
    }
  }
};

}  // namespace

void WorkPool::start(size_t threads) {
  thread_count_ = threads;
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

bool WorkPool::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

void WorkPool::run_parts(size_t parts, const std::function<void(size_t part)>& work) {
  const auto shared = std::make_shared<Parts>();
  shared->count = parts;
  shared->work = &work;
  const size_t helpers = std::min(parts, thread_count_);
  for (size_t i = 1; i < helpers; ++i) post([shared] { shared->help(); });
  shared->help();  // a caller that only waited could be the pool's last thread, and its helpers would never run
  std::unique_lock lock(shared->mutex);
  shared->all_done.wait(lock, [&] { return shared->done == parts; });
}

void WorkPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkPool::run() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !tasks_.empty() || stopping_; });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace coterie
