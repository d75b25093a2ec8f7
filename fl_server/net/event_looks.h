// EventLooks: the streams of events of a network thread look for events together, one behind the other.
//
// Whoever has something for a stream marks the stream, from any thread, and nothing else is done: no task is posted and
// no timer is set. The thread wakes several times in 100 ms anyway and lets all that are marked go on.
//
// Belongs to the thread of its io_context, but for EventMark::set().
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "base/time.h"
#include "fl_server/net/turns.h"

namespace coterie {

// EventMark: whether there may be something for a stream. Whoever sets it may keep it for longer than stream and thread
// live.
class EventMark {
 public:
  // Thread-safe; does not block.
  void set() {
    if (!is_set_.exchange(true)) *is_any_set_ = true;
  }
  // On the thread, before looking: whatever happens from here on sets it again.
  void clear() { is_set_ = false; }

 private:
  friend class EventLooks;
  using Flag = std::atomic<bool>;
  explicit EventMark(std::shared_ptr<Flag> is_any_set) : is_any_set_(std::move(is_any_set)) {}
  Flag is_set_{false};
  const std::shared_ptr<Flag> is_any_set_;  // of all that the thread has
};

class EventLooks {
 public:
  // So many streams go on in one go; then the sockets are looked at again.
  static constexpr size_t kStreamsAtOnce = 32;

  // `context` outlives it.
  explicit EventLooks(asio::io_context& context) : executor_(context.get_executor()) {}

  // For a stream of this thread.
  std::shared_ptr<EventMark> make_mark() { return std::shared_ptr<EventMark>(new EventMark(is_any_set_)); }
  // Suspends until the look behind a set(), which may have been before. `mark` outlives the call.
  Awaitable<void> wait(EventMark& mark);
  // Lets all that wait and are marked go on, behind what the thread does now; none if the last look that let any go on
  // is less than `rest` ago.
  void look(Instant now, Millis rest);

 private:
  struct Waiter {
    explicit Waiter(EventMark& m) : mark(m) {}
    virtual ~Waiter() = default;
    virtual void go_on() = 0;
    EventMark& mark;
  };
  template <typename Handler>
  struct WaiterOf;

  void add(std::unique_ptr<Waiter> waiter);
  void go_on();

  asio::io_context::executor_type executor_;
  const std::shared_ptr<EventMark::Flag> is_any_set_ = std::make_shared<EventMark::Flag>(false);
  std::vector<std::unique_ptr<Waiter>> waiting_;
  std::deque<std::unique_ptr<Waiter>> marked_;  // they go on next
  bool goes_on_ = false;                        // go_on() is posted
  Instant looked_ = Instant::min();
};

}  // namespace coterie
