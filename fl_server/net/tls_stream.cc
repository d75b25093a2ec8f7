#include "fl_server/net/tls_stream.h"

#include <openssl/err.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "secure/tls/socket_bio.h"

namespace coterie {
namespace {

constexpr auto kWait = asio::as_tuple(asio::use_awaitable_t<asio::io_context::executor_type>());

Error connection_lost() { return Error(ErrorCode::unavailable, "the connection is lost"); }

}  // namespace

TlsStream::TlsStream(Socket socket, SSL_CTX* context, Turns& turns)
    : socket_(std::move(socket)), ssl_(SSL_new(context)), turns_(turns) {
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);  // answers are written whole: nothing to wait for
  BIO* const bio = make_socket_bio(socket_.native_handle());
  // One BIO for both directions takes one reference. Where memory was short, handshake() says so.
  if (ssl_ && bio != nullptr) SSL_set_bio(ssl_.get(), bio, bio);
  else BIO_free(bio);
}

// OpenSSL may want to read in order to write, and the other way round. A turn ends with every wait, so another one is
// taken behind it.
Awaitable<Status> TlsStream::wait_for(int ssl_result) {
  const int reason = SSL_get_error(ssl_.get(), ssl_result);
  if (reason == SSL_ERROR_WANT_READ) {
    const auto [error] = co_await socket_.async_wait(Socket::wait_read, kWait);
    if (error) co_return connection_lost();
    if (!turns_.take_at_once(request_)) co_await turns_.take(request_);
    co_return Status();
  }
  if (reason == SSL_ERROR_WANT_WRITE) {
    const auto [error] = co_await socket_.async_wait(Socket::wait_write, kWait);
    if (error) co_return connection_lost();
    if (!turns_.take_at_once(request_)) co_await turns_.take(request_);
    co_return Status();
  }
  ERR_clear_error();
  co_return connection_lost();
}

Awaitable<Status> TlsStream::handshake() {
  if (!ssl_ || SSL_get_rbio(ssl_.get()) == nullptr) co_return connection_lost();  // no memory for it
  // Who connects and says nothing has cost no turn.
  const auto [error] = co_await socket_.async_wait(Socket::wait_read, kWait);
  if (error) co_return connection_lost();
  if (!turns_.take_at_once(request_)) co_await turns_.take(request_, Work::newcomer);
  for (;;) {
    ERR_clear_error();  // here and below: the queue is the thread's, and SSL_get_error looks at what others left in it
    const int result = SSL_accept(ssl_.get());
    if (result == 1) co_return Status();
    Status waited = co_await wait_for(result);
    if (!waited) co_return waited;
  }
}

Awaitable<Result<size_t>> TlsStream::read_some(std::span<uint8_t> into) {
  for (;;) {
    ERR_clear_error();
    size_t count = 0;
    const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
    if (result == 1) {
      has_begun_ = true;
      if (request_.taken == 0 && !turns_.take_at_once(request_)) co_await turns_.take(request_);
      co_return count;
    }
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) co_return size_t{0};
    if (!has_begun_) request_ = {};  // it was nothing of the request, and may have been long ago
    Status waited = co_await wait_for(result);
    if (!waited) co_return waited.error();
  }
}

void TlsStream::begin_request() {
  request_ = {};
  has_begun_ = false;
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
    ERR_clear_error();
    size_t count = 0;
    const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
    if (result == 1) {
      bytes = bytes.subspan(count);
      continue;
    }
    Status waited = co_await wait_for(result);
    if (!waited) co_return waited;
  }
  co_return Status();
}

Awaitable<void> TlsStream::close_gently(size_t bytes_max) {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());  // says that nothing follows, and does not wait for the peer to say the same
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
  // A byte that is there belongs to the next request, so it is only looked at.
  uint8_t byte = 0;
  size_t count = 0;
  ERR_clear_error();
  const int result = SSL_peek_ex(ssl_.get(), &byte, 1, &count);
  if (result == 1) return false;
  const int reason = SSL_get_error(ssl_.get(), result);
  ERR_clear_error();
  return reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE;
}

void TlsStream::abort() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace coterie
