// HttpsClient: the SDK's own Transport: HTTP/1.1 over TLS 1.3, one connection kept open between requests, no threads.
//
// Not thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "device_sdk/client/transport.h"
#include "device_sdk/transport/response_head.h"
#include "device_sdk/transport/tls_socket.h"

namespace coterie {

struct HttpsClientSettings {
  std::string url;     // https://host[:port]
  std::string ca_pem;  // certificates to trust; empty: the system's
  Millis connect_max{10'000};
  Millis silence_max{30'000};                    // between two pieces of a body, either way
  bool reads_to_end = false;                     // of the connection, where an answer has no length; else malformed
  const std::atomic<bool>* cancelled = nullptr;  // set by any thread: what is under way fails with `cancelled`, soon
};

class HttpsClient final : public Transport {
 public:
  static Result<std::unique_ptr<HttpsClient>> make(const HttpsClientSettings& settings);

  Result<TransportResponse> send(const TransportRequest& request, const BodySink& sink) override;
  void disconnect() { socket_.reset(); }

 private:
  HttpsClient(HttpsClientSettings settings, std::string host, uint16_t port, std::shared_ptr<TlsTrust> trust)
      : settings_(std::move(settings)), host_(std::move(host)), port_(port), trust_(std::move(trust)) {}

  Status connect();
  Result<TransportResponse> attempt(const TransportRequest& request, const BodySink& sink, bool& answer_began);
  std::string head_of(const TransportRequest& request, bool waits) const;
  Result<ResponseHead> read_head(Millis patience);
  Status read_body(const ResponseHead& head, const BodySink& sink, uint64_t& size);
  Status read_to_end(const ResponseHead& head, const BodySink& sink, uint64_t& size);
  Status fill(Bytes& buffer, Millis patience);

  HttpsClientSettings settings_;
  std::string host_;
  uint16_t port_;
  std::shared_ptr<TlsTrust> trust_;
  std::unique_ptr<TlsSocket> socket_;
  Bytes buffered_;  // read from the socket, not yet consumed
};

}  // namespace coterie
