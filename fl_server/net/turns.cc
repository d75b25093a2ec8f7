#include "fl_server/net/turns.h"

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
  WaiterOf(RequestTurns& r, Handler h) : Waiter(r), handler(std::move(h)) {}
  void go_on() override { std::move(handler)(); }
  Handler handler;
};

bool Turns::take_at_once(RequestTurns& request) {
  if (!order_.is_in_time() || !order_.empty()) return false;
  if (request.taken++ == 0) request.came = os::monotonic_now();
  return true;
}

// Not a coroutine of its own: one frame less for every wait.
Awaitable<void> Turns::take(RequestTurns& request, std::optional<Work> line) {
  request.line = line;
  const auto initiate = [](auto handler, Turns* turns, RequestTurns* whose) {
    turns->add(std::make_unique<WaiterOf<decltype(handler)>>(*whose, std::move(handler)));
  };
  using Token = asio::use_awaitable_t<asio::io_context::executor_type>;
  const Token token;
  return asio::async_initiate<const Token, void()>(initiate, token, this, &request);
}

// Not at once: those whose sockets are ready, too, are heard first.
void Turns::add(std::unique_ptr<Waiter> waiter) {
  const Instant now = os::monotonic_now();
  RequestTurns& request = waiter->request;
  if (request.taken == 0) request.came = now;
  order_.add(request, now, std::move(waiter));
  if (std::exchange(gives_, true)) return;
  asio::post(executor_, [this] { give_all(); });
}

void Turns::give(std::unique_ptr<Waiter> waiter) {
  ++waiter->request.taken;
  waiter->request.line.reset();
  waiter->go_on();
}

void Turns::give_all() {
  const Instant began = os::monotonic_now(), until = began + kSlice;
  if (auto forgotten = order_.take_forgotten(began)) give(std::move(*forgotten));
  while (!order_.empty() && os::monotonic_now() < until) give(order_.take());
  gives_ = !order_.empty();
  if (gives_) asio::post(executor_, [this] { give_all(); });
}

}  // namespace coterie
