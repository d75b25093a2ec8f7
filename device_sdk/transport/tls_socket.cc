#include "device_sdk/transport/tls_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/os/clock.h"
#include "secure/tls/socket_bio.h"

namespace coterie {
namespace {

constexpr Millis kCancelCheckEvery{200};

Error unavailable(const std::string& what) { return Error(ErrorCode::unavailable, what); }

bool is_numeric_address(const std::string& host) {
  uint8_t bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

// Waits until `fd` is ready for `events`, the time is over, or somebody cancels.
Status poll_for(int fd, short events, Millis patience, const std::atomic<bool>* cancel) {
  const Instant until = os::monotonic_now() + patience;
  for (;;) {
    if (cancel != nullptr && cancel->load()) return Error(ErrorCode::cancelled, "cancelled by the app");
    const Millis left = until - os::monotonic_now();
    if (left.count() <= 0) return Error(ErrorCode::timed_out, "the server did not answer in time");
    const Millis slice = cancel == nullptr ? left : std::min(left, kCancelCheckEvery);
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(slice.count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return unavailable(std::string("poll: ") + std::strerror(errno));
  }
}

struct AddressList {
  addrinfo* first = nullptr;
  ~AddressList() {
    if (first != nullptr) freeaddrinfo(first);
  }
};

Result<int> connect_tcp(const std::string& host, uint16_t port, Millis patience, const std::atomic<bool>* cancel) {
  AddressList addresses;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  const int resolved = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &addresses.first);
  if (resolved != 0) return unavailable("cannot find " + host + ": " + gai_strerror(resolved));
  std::string reason = "no address";
  for (const addrinfo* address = addresses.first; address != nullptr; address = address->ai_next) {
    const int fd = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    if (::connect(fd, address->ai_addr, address->ai_addrlen) == 0) return fd;
    if (errno == EINPROGRESS) {
      const Status ready = poll_for(fd, POLLOUT, patience, cancel);
      int error = 0;
      socklen_t size = sizeof error;
      if (ready && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) return fd;
      reason = ready ? std::strerror(error) : ready.error().message();
      if (!ready && ready.error().code() == ErrorCode::cancelled) {
        ::close(fd);
        return ready.error();
      }
    } else {
      reason = std::strerror(errno);
    }
    ::close(fd);
  }
  return unavailable("cannot connect to " + host + ":" + std::to_string(port) + ": " + reason);
}

int keep_session(SSL* ssl, SSL_SESSION* session) {
  static_cast<TlsTrust*>(SSL_get_app_data(ssl))->remember(session);
  return 1;  // we own it now
}

}  // namespace

Result<std::shared_ptr<TlsTrust>> TlsTrust::make(const std::string& ca_pem) {
  std::shared_ptr<TlsTrust> trust(new TlsTrust());
  trust->context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const ctx = trust->context_.get();
  if (ctx == nullptr) return Error(ErrorCode::internal, "cannot make a TLS context");
  SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384");
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(ctx, 1);
  SSL_CTX_set_default_read_buffer_len(ctx, 64 * 1024);
  // TlsTrust keeps the newest session itself; the library's own cache would keep every one.
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(ctx, &keep_session);
  if (ca_pem.empty()) {
    if (SSL_CTX_set_default_verify_paths(ctx) != 1)
      return Error(ErrorCode::internal, "the system has no CA certificates");
    return trust;
  }
  BIO* bio = BIO_new_mem_buf(ca_pem.data(), static_cast<int>(ca_pem.size()));
  int certificates = 0;
  while (X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr)) {
    certificates += X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), certificate);
    X509_free(certificate);
  }
  BIO_free(bio);
  ERR_clear_error();
  if (certificates == 0) return Error(ErrorCode::invalid_argument, "the CA file holds no PEM certificate");
  return trust;
}

TlsTrust::~TlsTrust() { SSL_SESSION_free(session_); }

void TlsTrust::remember(SSL_SESSION* session) {
  SSL_SESSION_free(session_);
  session_ = session;
}

Result<std::unique_ptr<TlsSocket>> TlsSocket::connect(const std::string& host, uint16_t port,
                                                      std::shared_ptr<TlsTrust> trust, Millis patience,
                                                      const std::atomic<bool>* cancel) {
  COT_ASSIGN(const int fd, connect_tcp(host, port, patience, cancel));
  // A large request is written in pieces: Nagle's algorithm would hold the last one back for an acknowledgement.
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::unique_ptr<TlsSocket> socket(new TlsSocket(fd, std::move(trust), cancel));
  COT_TRY(socket->handshake(host, patience));
  return socket;
}

TlsSocket::~TlsSocket() {
  if (ssl_) SSL_shutdown(ssl_.get());
  ::close(fd_);
}

Status TlsSocket::handshake(const std::string& host, Millis patience) {
  ssl_.reset(SSL_new(trust_->context()));
  SSL* const ssl = ssl_.get();
  BIO* const bio = make_socket_bio(fd_);
  if (ssl == nullptr || bio == nullptr) {
    BIO_free(bio);
    return Error(ErrorCode::internal, "cannot make a TLS connection");
  }
  SSL_set_bio(ssl, bio, bio);
  SSL_set_app_data(ssl, trust_.get());
  // An address is no name: it must not be sent as one (RFC 6066 section 3), and certificates have a field of its own
  // for it.
  if (is_numeric_address(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl, host.c_str());
    SSL_set1_host(ssl, host.c_str());
  }
  if (trust_->session() != nullptr) SSL_set_session(ssl, trust_->session());
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(ssl);
    if (result == 1) return {};
    const long verified = SSL_get_verify_result(ssl);
    if (verified != X509_V_OK) {
      ssl_.reset();
      return Error(ErrorCode::unauthenticated,
                   "the server's certificate is not trusted: " + std::string(X509_verify_cert_error_string(verified)) +
                       "; check the CA file and the host name");
    }
    COT_TRY(wait_for(result, patience));
  }
}

Status TlsSocket::wait_for(int ssl_result, Millis patience) {
  switch (SSL_get_error(ssl_.get(), ssl_result)) {
    case SSL_ERROR_WANT_READ: return poll_for(fd_, POLLIN, patience, cancel_);
    case SSL_ERROR_WANT_WRITE: return poll_for(fd_, POLLOUT, patience, cancel_);
    case SSL_ERROR_SSL:
      if (const char* reason = ERR_reason_error_string(ERR_peek_last_error())) {
        return unavailable(std::string("the connection to the server is lost: ") + reason);
      }
      [[fallthrough]];
    default: return unavailable("the connection to the server is lost");
  }
}

Result<size_t> TlsSocket::read_some(std::span<uint8_t> into, Millis patience) {
  for (;;) {
    ERR_clear_error();
    size_t count = 0;
    const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
    if (result == 1) return count;
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) return size_t{0};
    COT_TRY(wait_for(result, patience));
  }
}

Status TlsSocket::write_all(ByteView bytes, Millis patience) {
  while (!bytes.empty()) {
    ERR_clear_error();
    size_t count = 0;
    const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
    if (result == 1) {
      bytes = bytes.subspan(count);
      continue;
    }
    COT_TRY(wait_for(result, patience));
  }
  return {};
}

bool TlsSocket::is_stale() {
  uint8_t byte = 0;
  size_t count = 0;
  ERR_clear_error();
  // Bytes that nobody asked for are as bad as an end: the next answer would begin with them.
  const int result = SSL_peek_ex(ssl_.get(), &byte, 1, &count);
  return result == 1 || SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ;
}

}  // namespace coterie
