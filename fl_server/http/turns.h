// Turns: a network thread's requests, one piece of work at a time in the order that TurnOrder decides. Whoever can go on, as their
// socket is ready, asks for a turn instead. A thread that is in time for everything has no need of an order, and gives turns at
// once: asking for one costs a twentieth of the smallest request.
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

  // How late the thread is for everything. Several times in 100 ms.
  void observe(Millis late, Instant now);
  // Whether it is this request's turn already; otherwise take() is to be waited for.
  bool take_at_once(RequestTurns& request);
  // Suspends until it is this request's turn, which lasts until it suspends again. `request` outlives the call.
  Awaitable<void> take(RequestTurns& request);
  // The same, in the line of such work; with nobody before it, at once.
  Awaitable<void> stand_in_line(RequestTurns& request, Work line);
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
  bool is_in_time_ = true;
  Instant in_time_from_{};  // if nothing is late until then
};

}  // namespace coterie
