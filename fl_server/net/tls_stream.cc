#include "fl_server/net/tls_stream.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>

#include "secure/tls/socket_bio.h"

namespace coterie {
namespace {

constexpr auto kWait = asio::as_tuple(asio::use_awaitable_t<asio::io_context::executor_type>());

bool may_be_tried_again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

Error connection_lost() { return Error(ErrorCode::unavailable, "the connection is lost"); }

}  // namespace

TlsStream::TlsStream(Socket socket, SSL_CTX* context, Turns& turns)
    : socket_(std::move(socket)),
      is_plain_(context == nullptr),
      ssl_(is_plain_ ? nullptr : SSL_new(context)),
      turns_(turns) {
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);  // answers are written whole: nothing to wait for
  if (is_plain_) return;
  BIO* const bio = make_socket_bio(socket_.native_handle());
  // One BIO for both directions takes one reference. Where memory was short, handshake() says so.
  if (ssl_ && bio != nullptr) SSL_set_bio(ssl_.get(), bio, bio);
  else BIO_free(bio);
}

// A turn ends with every wait, so another one is taken behind it.
Awaitable<Status> TlsStream::wait_until(Socket::wait_type ready) {
  const auto [error] = co_await socket_.async_wait(ready, kWait);
  if (error) co_return connection_lost();
  if (!turns_.take_at_once(request_)) co_await turns_.take(request_);
  co_return Status();
}

// OpenSSL may want to read in order to write, and the other way round.
TlsStream::Tried TlsStream::wanted_by_ssl(int ssl_result) {
  const int reason = SSL_get_error(ssl_.get(), ssl_result);
  if (reason == SSL_ERROR_ZERO_RETURN) return {.is_end = true};
  if (reason == SSL_ERROR_WANT_READ) return {.wait = Socket::wait_read};
  if (reason == SSL_ERROR_WANT_WRITE) return {.wait = Socket::wait_write};
  ERR_clear_error();
  return {.is_lost = true};
}

TlsStream::Tried TlsStream::try_read(std::span<uint8_t> into) {
  if (is_plain_) {
    const ssize_t count = ::recv(socket_.native_handle(), into.data(), into.size(), 0);
    if (count > 0) return {.count = static_cast<size_t>(count)};
    if (count == 0) return {.is_end = true};
    return may_be_tried_again() ? Tried{.wait = Socket::wait_read} : Tried{.is_lost = true};
  }
  ERR_clear_error();  // here and below: the queue is the thread's, and SSL_get_error looks at what others left in it
  Tried tried;
  const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &tried.count);
  return result == 1 ? tried : wanted_by_ssl(result);
}

TlsStream::Tried TlsStream::try_write(ByteView bytes) {
  if (is_plain_) {
    const ssize_t count = ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) return {.count = static_cast<size_t>(count)};
    return may_be_tried_again() ? Tried{.wait = Socket::wait_write} : Tried{.is_lost = true};
  }
  ERR_clear_error();
  Tried tried;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &tried.count);
  return result == 1 ? tried : wanted_by_ssl(result);
}

Awaitable<Status> TlsStream::handshake() {
  if (!is_plain_ && (!ssl_ || SSL_get_rbio(ssl_.get()) == nullptr)) co_return connection_lost();  // no memory for it
  // Who connects and says nothing has cost no turn.
  const auto [error] = co_await socket_.async_wait(Socket::wait_read, kWait);
  if (error) co_return connection_lost();
  if (!turns_.take_at_once(request_)) co_await turns_.take(request_, Work::newcomer);
  if (is_plain_) co_return Status();
  for (;;) {
    ERR_clear_error();
    const int result = SSL_accept(ssl_.get());
    if (result == 1) co_return Status();
    const Tried tried = wanted_by_ssl(result);
    if (!tried.wait) co_return connection_lost();
    Status waited = co_await wait_until(*tried.wait);
    if (!waited) co_return waited;
  }
}

Awaitable<Result<size_t>> TlsStream::read_some(std::span<uint8_t> into) {
  if (std::exchange(waits_first_, false)) {
    Status waited = co_await wait_until(Socket::wait_read);
    if (!waited) co_return waited.error();
  }
  for (;;) {
    const Tried tried = try_read(into);
    if (tried.count > 0) {
      has_begun_ = true;
      if (request_.taken == 0 && !turns_.take_at_once(request_)) co_await turns_.take(request_);
      co_return tried.count;
    }
    if (tried.is_end) co_return size_t{0};
    if (!has_begun_) request_ = {};  // it was nothing of the request, and may have been long ago
    if (!tried.wait) co_return connection_lost();
    Status waited = co_await wait_until(*tried.wait);
    if (!waited) co_return waited.error();
  }
}

void TlsStream::begin_request() {
  request_ = {};
  has_begun_ = false;
  // Who has just been answered is thinking: a read would come back with nothing, and is a call to the system. The first
  // request has come with the handshake, or has ended it.
  waits_first_ = std::exchange(has_had_request_, true) && (!ssl_ || SSL_has_pending(ssl_.get()) == 0);
}

Awaitable<void> TlsStream::take_turn() {
  has_begun_ = true;
  if (request_.taken == 0 && !turns_.take_at_once(request_)) co_await turns_.take(request_);
}

Awaitable<void> TlsStream::stand_in_line(Work line) {
  if (!turns_.empty()) co_await turns_.take(request_, line);
}

Awaitable<Status> TlsStream::read_exact(std::span<uint8_t> into) {
  while (!into.empty()) {
    Result<size_t> count = co_await read_some(into);
    if (!count) co_return count.error();
    if (*count == 0) co_return connection_lost();
    into = into.subspan(*count);
  }
  co_return Status();
}

Awaitable<Status> TlsStream::write_all(ByteView bytes) {
  while (!bytes.empty()) {
    const Tried tried = try_write(bytes);
    bytes = bytes.subspan(tried.count);
    if (tried.count > 0) continue;
    if (!tried.wait) co_return connection_lost();
    Status waited = co_await wait_until(*tried.wait);
    if (!waited) co_return waited;
  }
  co_return Status();
}

Awaitable<void> TlsStream::close_gently(size_t bytes_max) {
  ERR_clear_error();
  if (ssl_) SSL_shutdown(ssl_.get());  // says that nothing follows, and does not wait for the peer to say the same
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  // What still comes is thrown away, so nobody decrypts it.
  Bytes sink(16 * 1024);
  for (size_t read = 0; read < bytes_max;) {
    const auto [error] = co_await socket_.async_wait(Socket::wait_read, kWait);
    if (error) break;
    const size_t count = socket_.read_some(asio::buffer(sink.data(), sink.size()), ignored);
    if (ignored || count == 0) break;
    read += count;
  }
  socket_.close(ignored);
}

void TlsStream::when_readable(std::function<void()> then) {
  socket_.async_wait(Socket::wait_read, [then = std::move(then)](boost::system::error_code) { then(); });
}

bool TlsStream::peer_is_gone() {
  if (!socket_.is_open()) return true;  // its descriptor may be another's by now
  // A byte that is there belongs to the next request, so it is only looked at.
  uint8_t byte = 0;
  size_t count = 0;
  if (is_plain_) {
    const ssize_t seen = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return seen == 0 || (seen < 0 && !may_be_tried_again());
  }
  ERR_clear_error();
  const int result = SSL_peek_ex(ssl_.get(), &byte, 1, &count);
  if (result == 1) return false;
  const int reason = SSL_get_error(ssl_.get(), result);
  ERR_clear_error();
  return reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE;
}

void TlsStream::stop_waiting() {
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

void TlsStream::abort() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace coterie
