// Exchange: one request as its handler sees it: the head, the means to read the body, a deadline to move.
//
// A handler is a coroutine on the connection's thread. It must not block; long work goes through await_callback.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>

#include "base/time.h"
#include "fl_server/core/token_buckets.h"
#include "fl_server/net/body_budget.h"
#include "fl_server/net/http_types.h"
#include "fl_server/net/tls_stream.h"
#include "fl_server/net/trace_context.h"

namespace coterie {

// Where a request came from, and to.
struct Origin {
  CallerKey address{};      // of the peer; of IPv6 its /64, as one client has that many
  size_t thread = 0;        // the network thread that serves it
  bool is_trusted = false;  // of HttpLimits::trusted_addresses
};

// A whole body, and what it holds of the plane's budget: gone together.
struct RequestBody {
  Bytes bytes;
  BodyBudget::Share share;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Origin& origin() const = 0;
  // Lets those go before whose work is worth more, or was begun. Returns how long the request has waited here since it
  // came.
  virtual Awaitable<Millis> stand_in_line(Work line) = 0;
  virtual const RequestHead& head() const = 0;
  // What log lines that this request causes name it by: a LogTrace on each thread that works for it.
  virtual const TraceContext& trace() const = 0;
  // The whole body, its memory taken as its bytes come; too_large (before a byte is read) if it is over bytes_max;
  // overloaded if the plane's budget for bodies, or the process's memory, has no room for it; timed_out if it comes too
  // slowly: the client hears the answer to that, too.
  virtual Awaitable<Result<RequestBody>> read_body(uint64_t bytes_max) = 0;
  // Exactly the body, which must have into.size() bytes; timed_out likewise.
  virtual Awaitable<Status> read_body_into(std::span<uint8_t> into) = 0;
  // The client is given this long from now until the next step of the exchange.
  virtual void extend_deadline(Millis patience) = 0;
  // The sender has proved who it is: by a signature, a token or a certificate. From now on its connection may be idle
  // for as long as any, and is not closed to make room for strangers.
  virtual void sender_is_known() = 0;
  virtual bool peer_is_gone() = 0;
  // Lets so much time pass, for nothing: others have the thread.
  virtual Awaitable<void> rest(Millis time) = 0;
};

inline constexpr std::string_view kUnknownRoute = "unknown";

struct RoutedResponse {
  std::string_view route;  // the pattern that matched, for metrics and log: static text, never what the client sent
  HttpResponse response;
};

// What listens behind a port.
class HttpService {
 public:
  virtual ~HttpService() = default;
  // Never throws.
  virtual Awaitable<RoutedResponse> handle(Exchange& exchange) = 0;
  // The answer, in this plane's form and with this status, to a request that never reached a handler.
  virtual HttpResponse refuse(const Error& error, int status) = 0;
};

// Suspends the coroutine until the callback that `start` was given is called, on any thread, exactly once.
template <typename T>
Awaitable<T> await_callback(std::function<void(std::function<void(T)>)> start) {
  using Token = asio::use_awaitable_t<asio::io_context::executor_type>;
  const auto initiate = [](auto handler, std::function<void(std::function<void(T)>)> begin) {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    const auto executor = asio::get_associated_executor(*shared);
    begin([shared, executor](T value) {
      asio::post(executor, [shared, value = std::move(value)]() mutable { std::move (*shared)(std::move(value)); });
    });
  };
  Token token;
  T value = co_await asio::async_initiate<const Token, void(T)>(initiate, token, std::move(start));
  co_return value;
}

}  // namespace coterie
