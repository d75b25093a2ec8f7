#include "vertical/link/tls_link.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/os/clock.h"
#include "secure/tls/socket_bio.h"
#include "vertical/link/tls_context.h"

namespace coterie::vertical {
namespace {

constexpr Millis kCancelCheckEvery{200};

Error unavailable(const std::string& what) { return Error(ErrorCode::unavailable, "link: " + what); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Status poll_for(int fd, short events, const LinkPatience& patience) {
  const Instant until = os::monotonic_now() + patience.time;
  for (;;) {
    if (patience.cancel != nullptr && patience.cancel->load()) return Error(ErrorCode::cancelled, "interrupted");
    const Millis left = until - os::monotonic_now();
    if (left.count() <= 0) {
      return Error(ErrorCode::timed_out,
                   "link: nothing came from the other party for " + std::to_string(patience.time.count()) + " ms");
    }
    pollfd entry{fd, events, 0};
    // Woken now and then to look at `cancel`: a signal may come on another thread.
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min(left, kCancelCheckEvery).count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return unavailable(std::string("poll: ") + std::strerror(errno));
  }
}

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

class TlsStream final : public ByteStream {
 public:
  TlsStream(Descriptor fd, const LinkPatience& patience) : fd_(std::move(fd)), patience_(patience) {}
  ~TlsStream() override {
    if (ssl_ && is_open_) SSL_shutdown(ssl_.get());
  }

  Status handshake(const TlsContext& context, const TlsIdentity& identity, bool accepts) {
    // Messages alternate, and Nagle's algorithm would hold each small one back for the acknowledgement of the one
    // before.
    const int on = 1;
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ssl_.reset(SSL_new(context.get()));
    BIO* const bio = make_socket_bio(fd_.get());
    if (!ssl_ || bio == nullptr) {
      BIO_free(bio);
      return tls_error("cannot make a TLS connection");
    }
    SSL_set_bio(ssl_.get(), bio, bio);
    if (SSL_set1_host(ssl_.get(), identity.peer_name.c_str()) != 1) return tls_error("cannot expect a peer's name");
    for (;;) {
      ERR_clear_error();
      const int result = accepts ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get());
      if (result == 1) break;
      if (const long verified = SSL_get_verify_result(ssl_.get()); verified != X509_V_OK) {
        return Error(ErrorCode::unauthenticated, "link: the peer's certificate is not the one of " +
                                                     identity.peer_name + ": " +
                                                     X509_verify_cert_error_string(verified));
      }
      COT_TRY(wait_for(result));
    }
    is_open_ = true;
    return {};
  }

  Status write_all(ByteView bytes) override {
    while (!bytes.empty()) {
      ERR_clear_error();
      size_t count = 0;
      const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
      if (result == 1) {
        bytes = bytes.subspan(count);
      } else {
        COT_TRY(wait_for(result));
      }
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
    for (;;) {
      ERR_clear_error();
      size_t count = 0;
      const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
      if (result == 1) return count;
      COT_TRY(wait_for(result));
    }
  }

 private:
  Status wait_for(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ: return poll_for(fd_.get(), POLLIN, patience_);
      case SSL_ERROR_WANT_WRITE: return poll_for(fd_.get(), POLLOUT, patience_);
      case SSL_ERROR_ZERO_RETURN: is_open_ = false; return unavailable("the other party has ended the connection");
      default: break;
    }
    is_open_ = false;
    const char* reason = ERR_reason_error_string(ERR_peek_last_error());
    return unavailable("the connection to the other party is lost" +
                       (reason == nullptr ? std::string() : std::string(": ") + reason));
  }

  Descriptor fd_;
  LinkPatience patience_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  bool is_open_ = false;
};

Result<std::unique_ptr<ByteStream>> secured(Descriptor fd, const SSL_METHOD* method, const TlsIdentity& identity,
                                            const LinkPatience& patience, bool accepts) {
  COT_ASSIGN(const TlsContext context, make_tls_context(method, identity));
  auto stream = std::make_unique<TlsStream>(std::move(fd), patience);
  COT_TRY(stream->handshake(context, identity, accepts));
  return std::unique_ptr<ByteStream>(std::move(stream));
}

struct Addresses {
  addrinfo* first = nullptr;
  ~Addresses() {
    if (first != nullptr) freeaddrinfo(first);
  }
};

Status resolve(const std::string& host, uint16_t port, int flags, Addresses& addresses) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  const int resolved = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &addresses.first);
  if (resolved != 0) return unavailable("cannot find " + host + ": " + gai_strerror(resolved));
  return {};
}

Descriptor open_socket(const addrinfo& address) {
  return Descriptor(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

Result<PartyListener> PartyListener::open(const std::string& host, uint16_t port) {
  Addresses addresses;
  COT_TRY(resolve(host, port, AI_PASSIVE | AI_NUMERICHOST, addresses));
  const addrinfo& address = *addresses.first;
  Descriptor fd = open_socket(address);
  const int on = 1;
  if (fd.get() >= 0) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (fd.get() < 0 || ::bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0 || ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return unavailable("cannot listen on " + host + ":" + std::to_string(port) + ": " + std::strerror(errno));
  }
  const in_port_t bound_port = bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
  return PartyListener(fd.release(), ntohs(bound_port));
}

PartyListener::PartyListener(PartyListener&& other) noexcept : fd_(std::exchange(other.fd_, -1)), port_(other.port_) {}

PartyListener::~PartyListener() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::unique_ptr<ByteStream>> PartyListener::accept(const TlsIdentity& identity,
                                                          const LinkPatience& patience) const {
  for (;;) {
    COT_TRY(poll_for(fd_, POLLIN, patience));
    Descriptor fd(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    // Whoever gave up before we took the connection is nobody.
    if (fd.get() >= 0) return secured(std::move(fd), TLS_server_method(), identity, patience, true);
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
      return unavailable(std::string("accept: ") + std::strerror(errno));
    }
  }
}

Result<std::unique_ptr<ByteStream>> dial_party(const std::string& host, uint16_t port, const TlsIdentity& identity,
                                               const LinkPatience& patience) {
  Addresses addresses;
  COT_TRY(resolve(host, port, 0, addresses));
  std::string reason = "no address";
  for (const addrinfo* address = addresses.first; address != nullptr; address = address->ai_next) {
    Descriptor fd = open_socket(*address);
    if (fd.get() < 0) continue;
    int error = 0;
    if (::connect(fd.get(), address->ai_addr, address->ai_addrlen) != 0) {
      error = errno;
      // The socket does not block, so that the patience holds for connecting, too.
      if (error == EINPROGRESS) {
        COT_TRY(poll_for(fd.get(), POLLOUT, patience));
        socklen_t size = sizeof error;
        getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      }
    }
    if (error == 0) return secured(std::move(fd), TLS_client_method(), identity, patience, false);
    reason = std::strerror(error);
  }
  return unavailable("cannot connect to " + host + ":" + std::to_string(port) + ": " + reason);
}

}  // namespace coterie::vertical
