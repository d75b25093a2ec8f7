// An HttpsClient and the servers it talks to, all certificates made on the spot.
#pragma once

#include <gtest/gtest.h>

#include "base/os/clock.h"
#include "device_sdk/transport/https_client.h"
#include "tests/support/matchers.h"
#include "tests/unit/device_sdk/transport/tls_server.h"

namespace coterie::test {

inline std::string answer_of(std::string_view body, std::string_view more_headers = {}) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(more_headers) +
         "\r\n" + std::string(body);
}

// Answers `count` requests with their targets, then waits for the end.
inline TlsServer::Script echo_targets(int count) {
  return [count](ServerConnection& connection) {
    for (int i = 0; i < count; ++i) {
      const std::string head = connection.read_head();
      const size_t begin = head.find(' ') + 1;
      connection.write(answer_of(head.substr(begin, head.find(' ', begin) - begin)));
    }
    connection.drain();
  };
}

// Reads one request, writes `text`, and says goodbye.
inline TlsServer::Script reply_once(std::string text) {
  return [text = std::move(text)](ServerConnection& connection) {
    connection.read_head();
    connection.write(text);
  };
}

class HttpsTest : public testing::Test {
 protected:
  void serve(std::vector<TlsServer::Script> scripts, const std::vector<std::string>& names = {"127.0.0.1"}) {
    serve_with({*make_server_certificate(ca_, names, os::wall_now(), 30)}, std::move(scripts));
  }
  void serve_with(const TlsServer::Settings& settings, std::vector<TlsServer::Script> scripts) {
    server_ = std::make_unique<TlsServer>(settings, std::move(scripts));
    HttpsClientSettings client;
    client.url = "https://127.0.0.1:" + std::to_string(server_->port());
    client.ca_pem = ca_.certificate;
    client.cancelled = &cancelled_;
    connect_with(client);
  }
  void connect_with(const HttpsClientSettings& settings) {
    Result<std::unique_ptr<HttpsClient>> made = HttpsClient::make(settings);
    ASSERT_OK(made);
    client_ = std::move(*made);
  }

  Result<TransportResponse> get(std::string target, Millis answer_max = Millis(60'000)) {
    return send({.method = "GET",
                 .target = std::move(target),
                 .headers = {},
                 .content_type = {},
                 .body = {},
                 .answer_max = answer_max});
  }
  Result<TransportResponse> send(const TransportRequest& request) {
    body_.clear();
    return client_->send(request, [this](const TransportResponse&, ByteView piece) -> Status {
      body_ += as_text(piece);
      return {};
    });
  }

  static inline const PemPair ca_ = *make_dev_ca(os::wall_now(), 3650);
  std::atomic<bool> cancelled_{false};
  std::unique_ptr<TlsServer> server_;
  std::unique_ptr<HttpsClient> client_;
  std::string body_;
};

}  // namespace coterie::test
