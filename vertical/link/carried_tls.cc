// secure_inside(): OpenSSL on a BIO that reads and writes a ByteStream, and waits as that does.
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <utility>

#include "vertical/link/tls_context.h"
#include "vertical/link/tls_link.h"

namespace coterie::vertical {
namespace {

struct Carrier {
  std::unique_ptr<ByteStream> stream;
  Status status;  // its first error: the TLS above it says only that there was one
};

int write_carried(BIO* bio, const char* data, size_t size, size_t* written) {
  Carrier& carrier = *static_cast<Carrier*>(BIO_get_data(bio));
  if (carrier.status) {
    carrier.status = carrier.stream->write_all({reinterpret_cast<const uint8_t*>(data), size});
  }
  if (!carrier.status) return 0;
  *written = size;
  return 1;
}

int read_carried(BIO* bio, char* data, size_t size, size_t* read) {
  Carrier& carrier = *static_cast<Carrier*>(BIO_get_data(bio));
  if (!carrier.status || size == 0) return 0;
  const Result<size_t> count = carrier.stream->read_some({reinterpret_cast<uint8_t*>(data), size});
  if (!count) {
    carrier.status = count.error();
    return 0;
  }
  *read = *count;
  return 1;
}

long control_carried(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* carried_method() {
  static BIO_METHOD* const made = [] {
    BIO_METHOD* fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "coterie carried stream");
    BIO_meth_set_write_ex(fresh, &write_carried);
    BIO_meth_set_read_ex(fresh, &read_carried);
    BIO_meth_set_ctrl(fresh, &control_carried);
    return fresh;
  }();
  return made;
}

class CarriedTls final : public ByteStream {
 public:
  explicit CarriedTls(std::unique_ptr<ByteStream> stream) : carrier_{.stream = std::move(stream), .status = {}} {}
  ~CarriedTls() override {
    if (ssl_ && is_open_) SSL_shutdown(ssl_.get());
  }

  Status handshake(const TlsContext& context, const TlsIdentity& identity, bool accepts) {
    ssl_.reset(SSL_new(context.get()));
    BIO* const bio = BIO_new(carried_method());
    if (!ssl_ || bio == nullptr) {
      BIO_free(bio);
      return tls_error("cannot make a TLS connection");
    }
    BIO_set_data(bio, &carrier_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    if (SSL_set1_host(ssl_.get(), identity.peer_name.c_str()) != 1) return tls_error("cannot expect a peer's name");
    ERR_clear_error();
    const int result = accepts ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get());
    if (result == 1) {
      is_open_ = true;
      return {};
    }
    // Looked at first: the handshake's own error says only that a certificate was bad.
    if (const long verified = SSL_get_verify_result(ssl_.get()); verified != X509_V_OK) {
      return Error(ErrorCode::unauthenticated, "link: the peer's certificate is not the one of " + identity.peer_name +
                                                   ": " + X509_verify_cert_error_string(verified));
    }
    return failed(result);
  }

  Status write_all(ByteView bytes) override {
    while (!bytes.empty()) {
      ERR_clear_error();
      size_t count = 0;
      const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
      if (result != 1) return failed(result);
      bytes = bytes.subspan(count);
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
    ERR_clear_error();
    size_t count = 0;
    const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
    if (result != 1) return failed(result);
    return count;
  }

 private:
  Error failed(int result) {
    const bool ended = SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN;
    is_open_ = false;
    if (ended) return Error(ErrorCode::unavailable, "link: the other party has ended the connection");
    // What TLS objects to comes first: the alert that it then sends may find nobody.
    const unsigned long first = ERR_peek_error();
    // A stream that ends in the middle was cut, not changed: its reader may come back for the rest.
    const bool is_cut = first == 0 || ERR_GET_REASON(first) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    if (is_cut && !carrier_.status) return carrier_.status.error();
    const char* reason = first == 0 ? nullptr : ERR_reason_error_string(first);
    return Error(ErrorCode::data_loss,
                 std::string("link: what came from the other party was changed on its way, or is no TLS") +
                     (reason == nullptr ? "" : std::string(": ") + reason));
  }

  struct FreeConnection {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  Carrier carrier_;
  std::unique_ptr<SSL, FreeConnection> ssl_;
  bool is_open_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteStream>> secure_inside(std::unique_ptr<ByteStream> carrier, const TlsIdentity& identity,
                                                  bool accepts) {
  COT_ASSIGN(const TlsContext context, make_tls_context(accepts ? TLS_server_method() : TLS_client_method(), identity));
  auto stream = std::make_unique<CarriedTls>(std::move(carrier));
  COT_TRY(stream->handshake(context, identity, accepts));
  return std::unique_ptr<ByteStream>(std::move(stream));
}

}  // namespace coterie::vertical
