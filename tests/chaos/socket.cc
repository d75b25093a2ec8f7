#include "tests/chaos/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace coterie::chaos {
namespace {

constexpr int kWaitingMax = 64;  // of those who want to connect

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Error failed(const char* what, const Endpoint& at) {
  const std::string where = at.path.empty() ? "127.0.0.1:" + std::to_string(at.port) : at.path;
  return Error(ErrorCode::unavailable, std::string("test: cannot ") + what + " " + where + ": " + std::strerror(errno));
}

Result<Address> address_of(const Endpoint& at) {
  Address address;
  if (at.path.empty()) {
    auto& tcp = reinterpret_cast<sockaddr_in&>(address.storage);
    tcp.sin_family = AF_INET;
    tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    tcp.sin_port = htons(at.port);
    address.size = sizeof tcp;
    return address;
  }
  auto& file = reinterpret_cast<sockaddr_un&>(address.storage);
  if (at.path.size() >= sizeof file.sun_path) {
    return Error(ErrorCode::invalid_argument, "test: a socket's path has at most " +
                                                  std::to_string(sizeof file.sun_path - 1) +
                                                  " bytes, this one more: " + at.path);
  }
  file.sun_family = AF_UNIX;
  std::memcpy(file.sun_path, at.path.data(), at.path.size());
  address.size = sizeof file;
  return address;
}

}  // namespace

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Socket::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (fd_ >= 0) ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

namespace {

Result<Socket> bind_at(Endpoint& at) {
  COT_ASSIGN(Address address, address_of(at));
  Socket socket(::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // as long as one of them listens at most
  if (::bind(socket.fd(), address.get(), address.size) != 0) return failed("bind to", at);
  if (at.path.empty()) {
    if (::getsockname(socket.fd(), address.get(), &address.size) != 0) return failed("bind to", at);
    at.port = ntohs(reinterpret_cast<const sockaddr_in&>(address.storage).sin_port);
  }
  return socket;
}

}  // namespace

Result<Socket> hold_port(Endpoint& at) { return bind_at(at); }

Result<Socket> listen_at(Endpoint& at) {
  COT_ASSIGN(Socket socket, bind_at(at));
  if (::listen(socket.fd(), kWaitingMax) != 0) return failed("listen at", at);
  return socket;
}

Result<Socket> connect_to(const Endpoint& at) {
  COT_ASSIGN(const Address address, address_of(at));
  Socket socket(::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.fd(), address.get(), address.size) != 0) return failed("connect to", at);
  return socket;
}

void send_at_once(const Socket& socket) {
  const int on = 1;
  ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // a file's socket has no such option
}

int unconfirmed(const Socket& socket) {
  int bytes = 0, domain = 0;
  socklen_t size = sizeof domain;
  ::getsockopt(socket.fd(), SOL_SOCKET, SO_DOMAIN, &domain, &size);
  if (domain == AF_UNIX) return 0;  // it counts what the other end has not read
  return ::ioctl(socket.fd(), TIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

}  // namespace coterie::chaos
