#include "tests/unit/device_sdk/transport/tls_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "secure/tls/socket_bio.h"

namespace coterie::test {
namespace {

SSL_CTX* make_context(const TlsServer::Settings& settings) {
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_max_proto_version(context, settings.version_max);
  BIO* const certificate_bio = BIO_new_mem_buf(settings.certificate.certificate.data(), -1);
  X509* const certificate = PEM_read_bio_X509(certificate_bio, nullptr, nullptr, nullptr);
  BIO* const key_bio = BIO_new_mem_buf(settings.certificate.private_key.data(), -1);
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(key_bio, nullptr, nullptr, nullptr);
  COT_ASSERT(SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1);
  EVP_PKEY_free(key);
  X509_free(certificate);
  BIO_free(key_bio);
  BIO_free(certificate_bio);
  return context;
}

}  // namespace

bool ServerConnection::fill() {
  char piece[16 * 1024];
  const int count = SSL_read(ssl_, piece, sizeof piece);
  if (count > 0) buffered_.append(piece, static_cast<size_t>(count));
  return count > 0;
}

std::string ServerConnection::read_head() {
  size_t end;
  while ((end = buffered_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return {};
  }
  const std::string head = buffered_.substr(0, end + 4);
  buffered_.erase(0, end + 4);
  return head;
}

std::string ServerConnection::read_body(size_t bytes) {
  while (buffered_.size() < bytes && fill()) continue;
  const std::string body = buffered_.substr(0, bytes);
  buffered_.erase(0, body.size());
  return body;
}

void ServerConnection::write(std::string_view text) { SSL_write(ssl_, text.data(), static_cast<int>(text.size())); }

void ServerConnection::drain() {
  while (fill()) buffered_.clear();
}

void ServerConnection::cut() {
  SSL_set_quiet_shutdown(ssl_, 1);
  ::shutdown(fd_, SHUT_RDWR);
}

TlsServer::TlsServer(const Settings& settings, std::vector<Script> scripts)
    : context_(make_context(settings)), scripts_(std::move(scripts)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  COT_ASSERT(::bind(listener_, generic, size) == 0 && ::listen(listener_, 16) == 0);
  COT_ASSERT(::getsockname(listener_, generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

TlsServer::~TlsServer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    if (current_ >= 0) ::shutdown(current_, SHUT_RDWR);
  }
  thread_.join();
  ::close(listener_);
  SSL_CTX_free(context_);
}

void TlsServer::serve() {
  for (size_t index = 0;; ++index) {
    const int fd = ::accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    ++connections_;
    const int on = 1;  // what is written is there at once
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    {
      const std::lock_guard lock(mutex_);
      if (!ending_) current_ = fd;
    }
    if (index < scripts_.size()) serve_one(fd, index);
    const std::lock_guard lock(mutex_);
    current_ = -1;
    ::close(fd);
  }
}

void TlsServer::serve_one(int fd, size_t index) {
  SSL* const ssl = SSL_new(context_);
  BIO* const bio = make_socket_bio(fd);  // never raises SIGPIPE
  SSL_set_bio(ssl, bio, bio);
  if (SSL_accept(ssl) == 1) {
    ServerConnection connection(ssl, fd);
    scripts_[index](connection);
    SSL_shutdown(ssl);
  }
  ERR_clear_error();
  SSL_free(ssl);
}

}  // namespace coterie::test
