#include "fl_server/net/bound_port.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace coterie {

Result<BoundPort> bind_port(const std::string& address, uint16_t port, PortUse use) {
  const std::string where = address + ":" + std::to_string(port);
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0)
    return Error(ErrorCode::invalid_argument, "cannot listen on " + where + ": not a numeric address");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  const auto failed = [&] {
    return Error(ErrorCode::unavailable, "cannot listen on " + where + ": " + std::strerror(errno));
  };
  os::File socket(::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol), where);
  if (!socket.is_open()) return failed();
  const int yes = 1;
  // Connections of a program before that are not forgotten yet are no reason to fail.
  if (::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) return failed();
  if (::bind(socket.fd(), found->ai_addr, found->ai_addrlen) != 0) return failed();
  // Only now: a port that another program shares with its own processes is none for this one to share.
  if (use == PortUse::reserved && ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) != 0)
    return failed();
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return failed();
  const in_port_t chosen = bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                                       : reinterpret_cast<const sockaddr_in&>(bound).sin_port;
  return BoundPort{std::move(socket), ntohs(chosen)};
}

}  // namespace coterie
