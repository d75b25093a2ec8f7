// CoordinatorConnection: one party's connection at the coordinator: its socket, its TLS, the request it sends. It never
// blocks. Private to the server.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "vertical/coordinator/coordinator_machine.h"

namespace coterie::vertical {

// What a step of a connection came to.
enum class Progress : uint8_t { moved, blocked, ended };

class CoordinatorConnection {
 public:
  // Takes `fd`, which is non-blocking. Null if there is no memory for its TLS.
  static std::unique_ptr<CoordinatorConnection> accept(SSL_CTX* context, int fd);
  CoordinatorConnection(const CoordinatorConnection&) = delete;
  CoordinatorConnection& operator=(const CoordinatorConnection&) = delete;
  ~CoordinatorConnection();

  int fd() const { return fd_; }
  // Handshake, then header, then payload. moved: the request is whole, or these bytes are none.
  Progress receive_request();
  const std::optional<Request>& request() const { return request_; }
  PeerIdentity peer() const;

  // At most into.size() bytes; `count` is set where it moved.
  Progress read(std::span<uint8_t> into, size_t& count);
  Progress write(ByteView bytes, size_t& count);
  // An answer, which fits into the socket's empty buffer.
  bool write_whole(ByteView bytes);
  // For poll(): the last step was blocked because the socket takes no more.
  bool wants_out() const { return wants_out_; }

 private:
  CoordinatorConnection(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {}
  Progress blocked_or_ended(int result);

  struct FreeConnection {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  int fd_;
  std::unique_ptr<SSL, FreeConnection> ssl_;
  bool is_secure_ = false, is_broken_ = false, wants_out_ = false;
  std::array<uint8_t, kCoordinatorHeaderBytes> header_{};
  size_t header_bytes_ = 0;
  std::optional<RequestKind> kind_;
  Bytes payload_;
  size_t payload_bytes_ = 0;
  std::optional<Request> request_;
};

}  // namespace coterie::vertical
