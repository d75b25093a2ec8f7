#include "vertical/coordinator/coordinator_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include "secure/tls/socket_bio.h"

namespace coterie::vertical {
namespace {

constexpr int kNamesMax = 16;  // of a certificate; further ones are nobody's

std::vector<std::string> dns_names(const X509* certificate) {
  std::vector<std::string> names;
  auto* const all = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  if (all == nullptr) return names;
  for (int i = 0; i < sk_GENERAL_NAME_num(all) && i < kNamesMax; ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all, i);
    if (name->type != GEN_DNS) continue;
    const int size = ASN1_STRING_length(name->d.dNSName);
    if (size <= 0 || size > static_cast<int>(kPartyNameBytesMax)) continue;
    names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                       static_cast<size_t>(size));
  }
  GENERAL_NAMES_free(all);
  return names;
}

void read_key(const X509* certificate, PeerIdentity& peer) {
  const EVP_PKEY* const key = X509_get0_pubkey(certificate);
  if (key == nullptr) return;
  std::array<uint8_t, 65> bytes;
  size_t size = bytes.size();
  char group[32];
  size_t group_size = 0;
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519) {
    if (EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) != 1) return;
    peer.algorithm = KeyAlgorithm::ed25519;
  } else if (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
             EVP_PKEY_get_group_name(key, group, sizeof group, &group_size) == 1 &&
             std::string_view(group, group_size) == SN_X9_62_prime256v1) {
    if (EVP_PKEY_get_octet_string_param(key, "encoded-pub-key", bytes.data(), bytes.size(), &size) != 1) return;
    peer.algorithm = KeyAlgorithm::p256;
  } else {
    return;
  }
  peer.public_key.assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
}

}  // namespace

std::unique_ptr<CoordinatorConnection> CoordinatorConnection::accept(SSL_CTX* context, int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A party may compute for an hour without a byte. Probes tell that from a machine that died and would hold its place.
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  SSL* const ssl = SSL_new(context);
  BIO* const bio = make_socket_bio(fd);
  if (ssl == nullptr || bio == nullptr) {
    SSL_free(ssl);
    BIO_free(bio);
    ::close(fd);
    return nullptr;
  }
  SSL_set_bio(ssl, bio, bio);
  SSL_set_accept_state(ssl);
  return std::unique_ptr<CoordinatorConnection>(new CoordinatorConnection(fd, ssl));
}

CoordinatorConnection::~CoordinatorConnection() {
  ERR_clear_error();
  if (is_secure_ && !is_broken_) SSL_shutdown(ssl_.get());
  ssl_.reset();
  ::close(fd_);
}

Progress CoordinatorConnection::receive_request() {
  if (!is_secure_) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result != 1) return blocked_or_ended(result);
    is_secure_ = true;
  }
  while (!kind_) {
    size_t count = 0;
    const Progress progress = read(std::span(header_).subspan(header_bytes_), count);
    if (progress != Progress::moved) return progress;
    header_bytes_ += count;
    if (header_bytes_ < header_.size()) continue;
    const Result<RequestHeader> header = read_request_header(header_);
    // Not dropped here: the machine refuses a request that does not decode, and says so.
    if (!header) return Progress::moved;
    kind_ = header->kind;
    payload_.resize(header->length);
  }
  while (payload_bytes_ < payload_.size()) {
    size_t count = 0;
    const Progress progress = read(std::span(payload_).subspan(payload_bytes_), count);
    if (progress != Progress::moved) return progress;
    payload_bytes_ += count;
  }
  if (Result<Request> request = read_request(*kind_, payload_)) request_ = std::move(*request);
  payload_ = Bytes();
  return Progress::moved;
}

PeerIdentity CoordinatorConnection::peer() const {
  PeerIdentity peer;
  if (const X509* const certificate = SSL_get0_peer_certificate(ssl_.get()); certificate != nullptr) {
    peer.names = dns_names(certificate);
    read_key(certificate, peer);
  }
  return peer;
}

Progress CoordinatorConnection::read(std::span<uint8_t> into, size_t& count) {
  ERR_clear_error();
  const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
  return result == 1 ? Progress::moved : blocked_or_ended(result);
}

Progress CoordinatorConnection::write(ByteView bytes, size_t& count) {
  ERR_clear_error();
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
  return result == 1 ? Progress::moved : blocked_or_ended(result);
}

bool CoordinatorConnection::write_whole(ByteView bytes) {
  size_t count = 0;
  return write(bytes, count) == Progress::moved && count == bytes.size();
}

Progress CoordinatorConnection::blocked_or_ended(int result) {
  const int error = SSL_get_error(ssl_.get(), result);
  wants_out_ = error == SSL_ERROR_WANT_WRITE;
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return Progress::blocked;
  // After such an error libssl must not be called for this connection again, not even to say goodbye.
  if (error != SSL_ERROR_ZERO_RETURN) is_broken_ = true;
  return Progress::ended;
}

}  // namespace coterie::vertical
