#include "fl_server/net/connection.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <new>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/net/event_looks.h"
#include "fl_server/net/event_pace.h"
#include "fl_server/net/request_head.h"

namespace coterie {
namespace {

constexpr size_t kReadBytes = 4 * 1024;
constexpr size_t kBlobPieceBytes = 256 * 1024;
constexpr size_t kLingerBytesMax = 4 * 1024 * 1024;
constexpr Millis kLingerMax{2'000};
// Many clients send a whole body before they look for an answer. Whoever is known hears why it is too large.
constexpr size_t kKnownLingerBytesMax = 256 * 1024 * 1024;
constexpr Millis kKnownLingerMax{10'000};
constexpr int kOurFault = 500;
constexpr auto kWait = asio::as_tuple(asio::use_awaitable_t<asio::io_context::executor_type>());

// Counts one up until end(), or its own.
class Counted {
 public:
  explicit Counted(std::atomic<uint32_t>& count) : count_(&count) { ++count; }
  ~Counted() { end(); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  void end() {
    if (count_ != nullptr) --*std::exchange(count_, nullptr);
  }

 private:
  std::atomic<uint32_t>* count_;
};

// While it moves to larger memory a body takes both.
bool grow(RequestBody& body, uint64_t size, uint64_t whole) {
  if (!body.share.resize(body.bytes.size() + size, whole)) return false;
  try {
    body.bytes.reserve(size);
  } catch (const std::bad_alloc&) {
    return false;
  }
  body.bytes.resize(size);
  return body.share.resize(size, whole);
}

int status_of_head_error(const Error& error) {
  return error.code() == ErrorCode::too_large ? 431 : traits(error.code()).http_status;
}

}  // namespace

// No wait in here has a timer of its own: the thread's sweep closes a connection that is past its deadline, and what
// waits for its socket wakes with an error.
void Connection::extend_deadline(Millis patience) { deadline_ = os::monotonic_now() + patience; }

void Connection::sender_is_known() {
  if (!std::exchange(is_known_, true)) context_.door.known(context_.id);
}

void Connection::end_handshake() {
  if (std::exchange(shakes_hands_, false)) --context_.handshakes;
}

// `handshakes` was counted up by whoever accepted the connection.
Awaitable<void> Connection::run() {
  const HttpLimits& limits = context_.settings.limits;
  shakes_hands_ = true;
  began_ = os::monotonic_now();
  extend_deadline(limits.handshake_max);
  Status alive = co_await stream_.handshake();
  end_handshake();
  bool go_on = alive.has_value();
  while (go_on) {
    go_on = co_await serve_one();
  }
}

// Reads until buffer_ begins with a whole head of head_bytes.
Awaitable<Status> Connection::read_head(size_t& head_bytes) {
  const HttpLimits& limits = context_.settings.limits;
  // Who sends requests without waiting for answers has the next one in the buffer: such a connection is not idle, and a
  // server that drains does not close it.
  const Millis idle_max = is_known_ ? limits.idle_max : std::min(limits.idle_max, limits.stranger_idle_max);
  extend_deadline(buffer_.empty() ? idle_max : limits.head_max);
  idle_ = buffer_.empty();
  stream_.begin_request();
  for (;;) {
    head_bytes = find_head_end(buffer_);
    if (head_bytes > 0) {
      co_await stream_.take_turn();  // not taken yet, if nothing had to be read
      co_return Status();
    }
    if (buffer_.size() > kHeadBytesMax) {
      co_return Error(ErrorCode::too_large, "request: the head is over 16 KiB");
    }
    const size_t filled = buffer_.size();
    buffer_.resize(filled + kReadBytes);
    Result<size_t> count = co_await stream_.read_some(std::span(buffer_).subspan(filled));
    if (!count) co_return count.error();
    buffer_.resize(filled + *count);
    if (*count == 0) co_return Error(ErrorCode::cancelled, "the client has closed the connection");
    // The first bytes alone: a head that comes byte by byte is cut off when its time is over.
    if (idle_) extend_deadline(limits.head_max);
    idle_ = false;
  }
}

// One request and its answer; whether the connection may carry another.
Awaitable<bool> Connection::serve_one() {
  const HttpLimits& limits = context_.settings.limits;
  size_t head_bytes = 0;
  Status have_head = co_await read_head(head_bytes);
  // A head that is too large is answered. Every other error is the end of the connection, so nobody would hear.
  if (!have_head && have_head.error().code() != ErrorCode::too_large) co_return false;
  const Instant began = os::monotonic_now();
  Counted busy(context_.busy);  // a server that stops waits for requests, not for connections
  RoutedResponse routed{"unparsed", {}};
  HttpResponse& response = routed.response;
  Result<RequestHead> head =
      have_head ? parse_request_head(ByteView(buffer_).first(head_bytes)) : Result<RequestHead>(have_head.error());
  trace_ = make_trace(head ? &*head : nullptr);
  if (head) {
    head_ = std::move(*head);
    // What is left in the buffer is the beginning of the body, and perhaps of the next request.
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(head_bytes));
    body_left_ = head_.content_length.value_or(0);
    extend_deadline(limits.answer_max);
    try {
      routed = co_await context_.service.handle(*this);
    } catch (const std::bad_alloc&) {
      const Error none(ErrorCode::overloaded, "the server has no memory for this request; come back later");
      response = context_.service.refuse(none, traits(none.code()).http_status);
    }
    response.head_only = head_.method == "HEAD";
  } else {
    response = context_.service.refuse(head.error(), status_of_head_error(head.error()));
    response.close = true;  // where this request ends, and the next begins, nobody can say
  }
  pass_over_body();
  add_trace(response, trace_);
  log_answer(routed.route, response.status);
  // A body that is still to come would be read as the next request; a stream of events ends with its connection.
  response.close = response.close || response.events || !head_.keep_alive || body_left_ > 0 || context_.draining;
  const bool close = response.close;
  extend_deadline(limits.answer_max);
  Status written = co_await write_response(response);
  // Only now: the seconds are those until the client has taken the answer, or nearly all of it.
  context_.metrics.request_answered(context_.settings.plane, routed.route, response.status,
                                    std::chrono::duration<double>(os::monotonic_now() - began).count());
  busy.end();
  if (!written) co_return false;
  if (close) {
    // A socket that is closed with unread bytes sends a reset, which may overtake the answer.
    extend_deadline(is_known_ ? kKnownLingerMax : kLingerMax);
    co_await stream_.close_gently(is_known_ ? kKnownLingerBytesMax : kLingerBytesMax);
    co_return false;
  }
  if (buffer_.empty()) buffer_.shrink_to_fit();  // thousands of connections wait like this
  co_return true;
}

// A body that nobody wanted to read, and that has come already, is no reason to close: a new handshake costs more than
// it.
void Connection::pass_over_body() {
  if (body_left_ == 0 || body_left_ > buffer_.size() || head_.expects_continue) return;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(body_left_));
  body_left_ = 0;
}

// By its route: never the client's own words.
void Connection::log_answer(std::string_view route, int status) const {
  const LogTrace trace(trace_.trace_id());
  log(status == kOurFault ? LogLevel::error : LogLevel::debug, "request_answered",
      {{"plane", context_.settings.plane}, {"route", route}, {"status", status}});
}

Awaitable<Result<RequestBody>> Connection::read_body(uint64_t bytes_max) {
  const uint64_t whole = body_left_;
  if (whole > bytes_max) {
    co_return Error(ErrorCode::too_large, "the body has " + std::to_string(whole) + " bytes, at most " +
                                              std::to_string(bytes_max) + " are taken here");
  }
  Status begun = co_await begin_body();
  if (!begun) co_return begun.error();
  RequestBody body{{}, BodyBudget::Share(context_.bodies)};
  while (body.bytes.size() < whole) {
    const size_t have = body.bytes.size();
    const uint64_t size = next_body_step(have, whole);
    if (!grow(body, size, whole)) {
      context_.metrics.request_refused("bodies");
      co_return Error(ErrorCode::overloaded,
                      "other requests' bodies have the memory that there is for them; come back later");
    }
    Status read = co_await read_piece(std::span(body.bytes).subspan(have));
    if (!read) co_return read.error();
  }
  extend_deadline(context_.settings.limits.answer_max);
  co_return std::move(body);
}

Awaitable<Status> Connection::read_body_into(std::span<uint8_t> into) {
  COT_ASSERT(into.size() == body_left_);
  Status begun = co_await begin_body();
  if (!begun) co_return begun;
  Status read = co_await read_piece(into);
  if (!read) co_return read;
  extend_deadline(context_.settings.limits.answer_max);
  co_return Status();
}

// One deadline for the whole body, by its size: a client that trickles does not keep the body's memory for long.
Awaitable<Status> Connection::begin_body() {
  const HttpLimits& limits = context_.settings.limits;
  extend_deadline(limits.body_grace + Millis(body_left_ * 1000 / limits.body_bytes_per_second_min));
  is_late_ = false;
  // A client whose body has begun to come did not wait for this word.
  if (!head_.expects_continue || !buffer_.empty() || body_left_ == 0) co_return Status();
  const std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  Status told = co_await stream_.write_all(as_bytes(go_on));
  co_return told;
}

void Connection::end_late() {
  if (!reads_body_ || is_late_) return abort();
  is_late_ = true;
  extend_deadline(kLingerMax);
  stream_.stop_waiting();
}

// The next bytes of the body.
Awaitable<Status> Connection::read_piece(std::span<uint8_t> into) {
  const size_t early = std::min(buffer_.size(), into.size());
  std::copy_n(buffer_.begin(), early, into.begin());
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(early));
  body_left_ -= early;
  reads_body_ = true;
  Status read = co_await stream_.read_exact(into.subspan(early));
  reads_body_ = false;
  if (read) body_left_ -= into.size() - early;
  if (!read && is_late_) {
    co_return Error(ErrorCode::timed_out, "the body did not come in time: at least " +
                                              std::to_string(context_.settings.limits.body_bytes_per_second_min) +
                                              " bytes a second are expected");
  }
  co_return read;
}

Awaitable<Status> Connection::write_response(const HttpResponse& response) {
  const uint64_t size = response.blob ? response.blob->size : response.body.size();
  std::string text = response_head(response, size);
  // A short body travels in the head's record.
  const bool joined = !response.blob && !response.events && !response.head_only && response.body.size() <= 8 * 1024;
  if (joined) text.append(as_text(response.body));
  Status written = co_await stream_.write_all(as_bytes(text));
  if (!written || joined || response.head_only) co_return written;
  if (response.events) {
    Status told = co_await write_events(*response.events);
    co_return told;
  }
  if (response.blob) {
    Status streamed = co_await write_blob(*response.blob);
    co_return streamed;
  }
  Status rest = co_await stream_.write_all(response.body);
  co_return rest;
}

// From the store to the socket, piece by piece: a model never lies in memory. The client must keep a minimum pace.
Awaitable<Status> Connection::write_blob(const BlobRange& range) {
  const HttpLimits& limits = context_.settings.limits;
  Bytes piece(std::min<uint64_t>(kBlobPieceBytes, range.size));
  for (uint64_t at = 0; at < range.size;) {
    const size_t count = std::min<uint64_t>(piece.size(), range.size - at);
    const Status read = range.blob->read_at(range.offset + at, std::span(piece).first(count));
    if (!read) co_return read;
    extend_deadline(limits.body_grace + Millis(count * 1000 / limits.body_bytes_per_second_min));
    Status written = co_await stream_.write_all(ByteView(piece).first(count));
    if (!written) co_return written;
    at += count;
  }
  co_return Status();
}

// The time in the queue: how late this thread looks at its sockets, and how long ago this socket became ready.
Awaitable<Millis> Connection::stand_in_line(Work line) {
  co_await stream_.stand_in_line(line);
  const Instant now = os::monotonic_now();
  co_return context_.punctuality.late(now) + (now - stream_.came());
}

// Not while the server drains: it waits for every request that is under way.
Awaitable<void> Connection::rest(Millis time) {
  if (context_.draining) co_return;
  extend_deadline(time + context_.settings.limits.answer_max);
  auto executor = co_await asio::this_coro::executor;
  asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                             asio::io_context::executor_type>
      timer(executor);
  timer.expires_after(time);
  const auto [error] = co_await timer.async_wait(kWait);
  (void)error;
}

void Connection::tend_events(Instant now) {
  if (events_ && (context_.draining || now >= heartbeat_due_)) events_->set();
}

Awaitable<Status> Connection::write_events(EventSource& events) {
  const auto mark = context_.looks.make_mark();
  events_ = mark;  // for the sweep
  heartbeat_due_ = heartbeat_due(os::monotonic_now());
  events.when_ready([mark] { mark->set(); });
  // A client of a stream says nothing more: when its socket has something to read, that is its end. Until then nobody
  // asks the socket, which is a system call a look.
  const auto is_readable = std::make_shared<bool>(false);
  stream_.when_readable([mark, is_readable] {
    *is_readable = true;
    mark->set();
  });
  const Counted open(context_.streams);
  const HttpLimits& limits = context_.settings.limits;
  const Millis taken_within = std::min(kEventsTakenWithin, limits.answer_max);
  while (!context_.draining && stream_.is_open() && !(*is_readable && stream_.peer_is_gone())) {
    mark->clear();  // before looking: whatever happens from here on sets it again
    std::optional<std::string> text = events.next();
    if (!text) break;
    const Instant now = os::monotonic_now();
    if (text->empty() && now >= heartbeat_due_) *text = ":\n\n";
    if (!text->empty()) {
      // A client that takes nothing is cut off at this deadline; until then the log keeps what it has yet to hear.
      extend_deadline(taken_within);
      heartbeat_due_ = heartbeat_due(now);
      Status written = co_await stream_.write_all(as_bytes(*text));
      if (!written) co_return written;
    }
    if (events.has_more()) mark->set();
    extend_deadline(kEventsQuietMax + limits.answer_max);
    co_await context_.looks.wait(*mark);
  }
  co_return Status();
}

}  // namespace coterie
