#include "fl_server/net/behind_sockets.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

namespace coterie {

// A thread's io_context takes its tasks in order. What it finds ready is put behind what was posted.
Awaitable<void> call_behind_sockets(std::function<void()> then) {
  asio::post(co_await asio::this_coro::executor, std::move(then));
}

}  // namespace coterie
