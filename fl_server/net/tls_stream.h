// TlsStream: a TLS connection on a non-blocking socket. OpenSSL reads and writes the descriptor itself; Asio only tells
// when to try again, and Turns, who goes first. (Asio's own ssl::stream keeps two 17 KB buffers and copies every byte
// twice more.)
//
// Without a context it is the plain socket: for listeners on loopback that somebody asked for aloud (ADR 88).
//
// Belongs to one thread. Every operation returns a Status instead of throwing; after an error only abort() and the
// destructor may be called.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/net/turns.h"

namespace coterie {

using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

class TlsStream {
 public:
  // `turns` is the thread's, and outlives the stream. `context` may be null: no TLS.
  TlsStream(Socket socket, SSL_CTX* context, Turns& turns);

  // Stands in line with newcomers: whose it is, nobody knows yet.
  Awaitable<Status> handshake();
  // What is read from now on is another request: it has a turn once something of it has come.
  void begin_request();
  // The turn of a request that was read with the one before.
  Awaitable<void> take_turn();
  // Another turn, before anything is done for the request; the one it has, if nobody else waits.
  Awaitable<void> stand_in_line(Work line);
  // When the present request came.
  Instant came() const { return request_.came; }
  // At least one byte, or 0 at the end of the stream.
  Awaitable<Result<size_t>> read_some(std::span<uint8_t> into);
  Awaitable<Status> read_exact(std::span<uint8_t> into);
  Awaitable<Status> write_all(ByteView bytes);
  // Tells the peer that we are done, reads away what it still sends (at most bytes_max), and closes: otherwise a reset
  // could destroy the answer before the peer has read it.
  Awaitable<void> close_gently(size_t bytes_max);

  // Calls back once, on this thread, when there is something to read, or the end, or the stream was aborted; maybe when
  // the stream is gone.
  void when_readable(std::function<void()> then);
  // Whether the peer has gone; does not wait.
  bool peer_is_gone();
  // Ends every pending operation with an error.
  void abort();
  // Ends a read or write that waits for the socket with an error. Where it was a read, write_all() and close_gently()
  // may still be called.
  void stop_waiting();
  // Not aborted, nor closed by us.
  bool is_open() const { return socket_.is_open(); }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  Awaitable<Status> wait_until(Socket::wait_type ready);
  // One try, plain or not: at least one byte read or written, 0 at the end, or what to wait for, or neither.
  struct Tried {
    size_t count = 0;
    bool is_end = false;
    std::optional<Socket::wait_type> wait;
    bool is_lost = false;
  };
  Tried try_read(std::span<uint8_t> into);
  Tried try_write(ByteView bytes);
  Tried wanted_by_ssl(int ssl_result);

  Socket socket_;
  const bool is_plain_;
  std::unique_ptr<SSL, Free> ssl_;  // null: plain, or there was no memory for it
  Turns& turns_;
  RequestTurns request_;
  bool has_begun_ = true;         // something of the request was read
  bool has_had_request_ = false;  // begin_request() was called
  bool waits_first_ = false;      // the next read does, before it tries
};

}  // namespace coterie
