// Sockets for tests that stand between two ends: on 127.0.0.1, or a file of the file system.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"

namespace coterie::chaos {

// Where a socket is: a path of the file system, or a port of 127.0.0.1 (0: the system chooses).
struct Endpoint {
  std::string path = {};
  uint16_t port = 0;
};

// Owns a socket. Move-only.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() { close(); }

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close();
  // Closes it so that the other end sees a reset; on a file's socket an end.
  void reset();

 private:
  int fd_ = -1;
};

// Takes a port, the system's choice for 0, which `at` gets. Nobody listens there until listen_at() does.
Result<Socket> hold_port(Endpoint& at);
// Accepts without waiting. With port 0, `at` gets the one that the system chose.
Result<Socket> listen_at(Endpoint& at);
Result<Socket> connect_to(const Endpoint& at);
// Nothing is held back to be sent in larger pieces.
void send_at_once(const Socket& socket);
// Bytes that the other end's system has not confirmed yet.
int unconfirmed(const Socket& socket);

}  // namespace coterie::chaos
