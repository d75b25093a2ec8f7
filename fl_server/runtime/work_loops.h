// WorkLoops: the threads of a shell: the core, on which its machines step; the store's; and the compute pool. Events go
// to the core as posted closures, and effects leave it the same way.
#pragma once

#include <functional>
#include <optional>

#include "fl_server/runtime/work_loop.h"
#include "fl_server/runtime/work_pool.h"

namespace coterie {

struct WorkLoops {
  WorkPool pool;
  WorkLoop store;
  WorkLoop core;

  // As WorkLoop::start, of the core.
  void start(size_t pool_threads, WorkLoop::Task on_deadline, std::function<std::optional<Instant>()> next_deadline) {
    pool.start(pool_threads);
    store.start();
    core.start(std::move(on_deadline), std::move(next_deadline));
  }
  // Tasks under way finish. The core is the last: the others answer to it.
  void stop() {
    pool.stop();
    store.stop();
    core.stop();
  }
};

}  // namespace coterie
