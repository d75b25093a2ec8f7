// Turns: a network thread's requests, one piece of work at a time in the order that TurnOrder decides. Whoever can go on, as their
// socket is ready, asks for a turn instead.
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

  // Suspends until it is this request's turn, which lasts until it suspends again. `request` outlives the call.
  Awaitable<void> take(RequestTurns& request);
  // The same, in the line of such work; with nobody before it, at once.
  Awaitable<void> stand_in_line(RequestTurns& request, Work line);
  // TurnOrder::delay
  Millis delay(Instant now) const { return order_.delay(now); }

 private:
  struct Waiter {
    virtual ~Waiter() = default;
    virtual void go_on() = 0;
  };
  template <typename Handler>
  struct WaiterOf;

  void add(const RequestTurns& request, std::unique_ptr<Waiter> waiter);
  void give();

  asio::io_context::executor_type executor_;
  TurnOrder<std::unique_ptr<Waiter>> order_;
  bool gives_ = false;  // give() is under way, or posted
};

}  // namespace coterie
