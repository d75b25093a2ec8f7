// Bell: wakes a coroutine that waits on a network thread, from any thread. However often it is rung before the
// coroutine looks, one task is posted, and none while the coroutine does something else than to wait.
//
// Shared by the coroutine and whoever rings: a bell that is rung after the coroutine's end does nothing.
#pragma once

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>

#include "base/time.h"
#include "fl_server/net/turns.h"

namespace coterie {

class Bell : public std::enable_shared_from_this<Bell> {
 public:
  using Executor = asio::io_context::executor_type;
  explicit Bell(const Executor& executor) : timer_(executor) {}

  // Thread-safe; does not block.
  void ring() {
    if (rung_.exchange(true) || !is_awaited_) return;
    asio::post(timer_.get_executor(), [self = shared_from_this()] { self->timer_.cancel(); });
  }

  // ---- On the coroutine's thread
  // From now on a ring counts again: call before looking at what it was rung for.
  void hush() { rung_ = false; }
  // Until it is rung, which may have been before; at most so long. May end early for nothing.
  Awaitable<void> wait(Millis patience) {
    is_awaited_ = true;  // before looking: of this and a ring, one sees the other
    if (!rung_) {
      // A ring from here on posts its task behind this one, and so finds the timer waiting.
      timer_.expires_after(patience);
      const auto [error] = co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable_t<Executor>()));
      (void)error;
    }
    is_awaited_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor> timer_;
  std::atomic<bool> rung_{false}, is_awaited_{false};
};

}  // namespace coterie
