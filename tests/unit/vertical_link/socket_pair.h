// A link over a socket pair, without TLS, and the bare other end: for frames that no link would send.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <span>

#include "base/assert.h"
#include "vertical/link/link.h"

namespace coterie::vertical::test {

class SocketStream final : public ByteStream {
 public:
  explicit SocketStream(int fd) : fd_(fd) {}
  ~SocketStream() override { ::close(fd_); }
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  Status write_all(ByteView bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return Error(ErrorCode::unavailable, "gone");
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
  }
  Status read_exact(std::span<uint8_t> into) override {
    while (!into.empty()) {
      COT_ASSIGN(const size_t count, read_some(into));
      into = into.subspan(count);
    }
    return {};
  }
  Result<size_t> read_some(std::span<uint8_t> into) override {
    const ssize_t count = ::recv(fd_, into.data(), into.size(), 0);
    if (count <= 0) return Error(ErrorCode::unavailable, "gone");
    return static_cast<size_t>(count);
  }
  // Both directions end; what the other end has received stays readable there.
  void shut() { ::shutdown(fd_, SHUT_RDWR); }

 private:
  int fd_;
};

struct StreamPair {
  std::unique_ptr<SocketStream> left, right;

  StreamPair() {
    int fds[2];
    COT_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    left = std::make_unique<SocketStream>(fds[0]);
    right = std::make_unique<SocketStream>(fds[1]);
  }
};

}  // namespace coterie::vertical::test
