// Turns: a network thread's requests, one piece of work at a time in the order that TurnOrder decides. Whoever can go
// on, as their socket is ready, asks for a turn instead.
//
// Belongs to the thread of its io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>

#include "fl_server/core/turn_order.h"

namespace coterie {

namespace asio = boost::asio;
template <typename T>
using Awaitable = asio::awaitable<T, asio::io_context::executor_type>;

class Turns {
 public:
  // `context` outlives it.
  explicit Turns(asio::io_context& context) : executor_(context.get_executor()) {}

  // TurnOrder::observe
  void observe(Millis late, Instant now) { order_.observe(late, now); }
  // Whether it is this request's turn already; otherwise take() is to be waited for.
  bool take_at_once(RequestTurns& request);
  // Suspends until it is this request's turn, which lasts until it suspends again. `line`: what it stands for, if that
  // is known and it is not begun. `request` outlives the call.
  Awaitable<void> take(RequestTurns& request, std::optional<Work> line = {});
  // Whether anybody waits.
  bool empty() const { return order_.empty(); }
  // TurnOrder::delay
  Millis delay(Instant now) const { return order_.delay(now); }

 private:
  struct Waiter {
    explicit Waiter(RequestTurns& r) : request(r) {}
    virtual ~Waiter() = default;
    virtual void go_on() = 0;
    RequestTurns& request;
  };
  template <typename Handler>
  struct WaiterOf;

  void add(std::unique_ptr<Waiter> waiter);
  void give(std::unique_ptr<Waiter> waiter);
  void give_all();

  asio::io_context::executor_type executor_;
  TurnOrder<std::unique_ptr<Waiter>> order_;
  bool gives_ = false;  // give_all() is under way, or posted
};

}  // namespace coterie
