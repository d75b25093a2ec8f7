// TlsSocket: a blocking TLS 1.3 client connection in which nothing waits longer than it is told to.
#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

// The authorities we trust. Shared by the connections of a client; keeps TLS sessions for resumption.
class TlsTrust {
 public:
  // `ca_pem`: PEM certificates to trust and nothing else; empty: the system's.
  static Result<std::shared_ptr<TlsTrust>> make(const std::string& ca_pem);
  ~TlsTrust();

  SSL_CTX* context() const { return context_.get(); }
  void remember(SSL_SESSION* session);
  SSL_SESSION* session() const { return session_; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  TlsTrust() = default;
  std::unique_ptr<SSL_CTX, Free> context_;
  SSL_SESSION* session_ = nullptr;
};

class TlsSocket {
 public:
  // Connects and proves that the peer is `host` (a name or a numeric address). `cancel` may be null; it is looked at
  // several times a second.
  static Result<std::unique_ptr<TlsSocket>> connect(const std::string& host, uint16_t port,
                                                    std::shared_ptr<TlsTrust> trust, Millis patience,
                                                    const std::atomic<bool>* cancel);
  ~TlsSocket();

  // At least one byte, or 0 at the end of the stream.
  Result<size_t> read_some(std::span<uint8_t> into, Millis patience);
  Status write_all(ByteView bytes, Millis patience);
  // Whether the peer has closed this (idle) connection; does not wait.
  bool is_stale();

 private:
  TlsSocket(int fd, std::shared_ptr<TlsTrust> trust, const std::atomic<bool>* cancel)
      : fd_(fd), trust_(std::move(trust)), cancel_(cancel) {}
  Status handshake(const std::string& host, Millis patience);
  Status wait_for(int ssl_result, Millis patience);

  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  int fd_;
  std::shared_ptr<TlsTrust> trust_;
  const std::atomic<bool>* cancel_;
  std::unique_ptr<SSL, Free> ssl_;
};

}  // namespace coterie
