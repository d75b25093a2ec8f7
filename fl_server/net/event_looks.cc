#include "fl_server/net/event_looks.h"

#include <algorithm>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <utility>

namespace coterie {

template <typename Handler>
struct EventLooks::WaiterOf final : Waiter {
  WaiterOf(EventMark& m, Handler h) : Waiter(m), handler(std::move(h)) {}
  void go_on() override { std::move(handler)(); }
  Handler handler;
};

Awaitable<void> EventLooks::wait(EventMark& mark) {
  const auto initiate = [](auto handler, EventLooks* looks, EventMark* whose) {
    looks->add(std::make_unique<WaiterOf<decltype(handler)>>(*whose, std::move(handler)));
  };
  using Token = asio::use_awaitable_t<asio::io_context::executor_type>;
  const Token token;
  return asio::async_initiate<const Token, void()>(initiate, token, this, &mark);
}

// A look may have passed over the mark while the stream did something else than to wait.
void EventLooks::add(std::unique_ptr<Waiter> waiter) {
  if (waiter->mark.is_set_) *is_any_set_ = true;
  waiting_.push_back(std::move(waiter));
}

void EventLooks::look(Instant now, Millis rest) {
  if (now < looked_ + rest || !is_any_set_->exchange(false)) return;
  const auto is_quiet = [](const auto& waiter) { return !waiter->mark.is_set_; };
  const auto marked = std::stable_partition(waiting_.begin(), waiting_.end(), is_quiet);
  if (marked == waiting_.end()) return;
  looked_ = now;
  std::move(marked, waiting_.end(), std::back_inserter(marked_));
  waiting_.erase(marked, waiting_.end());
  if (!std::exchange(goes_on_, true)) asio::post(executor_, [this] { go_on(); });
}

void EventLooks::go_on() {
  for (size_t i = 0; i < kStreamsAtOnce && !marked_.empty(); ++i) {
    const std::unique_ptr<Waiter> first = std::move(marked_.front());
    marked_.pop_front();
    first->go_on();
  }
  goes_on_ = !marked_.empty();
  if (goes_on_) asio::post(executor_, [this] { go_on(); });
}

}  // namespace coterie
