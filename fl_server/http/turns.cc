#include "fl_server/http/turns.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/os/clock.h"

namespace coterie {
namespace {

constexpr Millis kSlice{1};  // then the sockets are looked at again: somebody older may be ready

}  // namespace

template <typename Handler>
struct Turns::WaiterOf final : Waiter {
  explicit WaiterOf(Handler h) : handler(std::move(h)) {}
  void go_on() override { std::move(handler)(); }
  Handler handler;
};

Awaitable<void> Turns::take(RequestTurns& request) {
  if (request.taken == 0) request.came = os::monotonic_now();
  const auto initiate = [](auto handler, Turns* turns, const RequestTurns* whose) {
    turns->add(*whose, std::make_unique<WaiterOf<decltype(handler)>>(std::move(handler)));
  };
  const asio::use_awaitable_t<asio::io_context::executor_type> token;
  co_await asio::async_initiate<decltype(token), void()>(initiate, token, this, &request);
  ++request.taken;
}

Awaitable<void> Turns::stand_in_line(RequestTurns& request, Work line) {
  if (order_.empty()) co_return;
  request.line = line;
  co_await take(request);
  request.line.reset();
}

// Not at once: those whose sockets are ready, too, are heard first.
void Turns::add(const RequestTurns& request, std::unique_ptr<Waiter> waiter) {
  order_.add(request, os::monotonic_now(), std::move(waiter));
  if (std::exchange(gives_, true)) return;
  asio::post(executor_, [this] { give(); });
}

void Turns::give() {
  const Instant began = os::monotonic_now(), until = began + kSlice;
  if (auto forgotten = order_.take_forgotten(began)) (*forgotten)->go_on();
  while (!order_.empty() && os::monotonic_now() < until) {
    order_.take()->go_on();
  }
  gives_ = !order_.empty();
  if (gives_) asio::post(executor_, [this] { give(); });
}

}  // namespace coterie
