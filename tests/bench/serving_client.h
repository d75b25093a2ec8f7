// A client of few instructions: one connection in the clear on loopback, a request and its answer at a time.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace coterie::bench {

class ServingClient {
 public:
  explicit ServingClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) die("cannot connect");
  }
  ServingClient(ServingClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), received_(std::move(other.received_)) {}
  ServingClient& operator=(ServingClient&&) = delete;
  ~ServingClient() {
    if (socket_ >= 0) ::close(socket_);
  }

  void send(std::string_view request) {
    if (::send(socket_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
      die("cannot send");
  }
  // The body of an answer 200; the process ends at anything else. Good until the next read.
  std::string_view read_body() {
    received_.clear();
    for (;;) {
      char piece[4096];
      const ssize_t count = ::recv(socket_, piece, sizeof(piece), 0);
      if (count <= 0) die("the server has closed the connection");
      received_.append(piece, static_cast<size_t>(count));
      const size_t end = received_.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      if (!received_.starts_with("HTTP/1.1 200")) die(received_);
      const size_t length = received_.find("Content-Length: ");
      size_t bytes = 0;
      std::from_chars(received_.data() + length + 16, received_.data() + end, bytes);
      if (received_.size() >= end + 4 + bytes) return std::string_view(received_).substr(end + 4, bytes);
    }
  }

 private:
  [[noreturn]] static void die(const std::string& what) {
    std::fprintf(stderr, "serving client: %s\n", what.c_str());
    std::_Exit(1);
  }

  int socket_;
  std::string received_;
};

}  // namespace coterie::bench
