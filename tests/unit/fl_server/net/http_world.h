// A listener on loopback with one service behind it, and clients that a test speaks to it with.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/net/frame_response.h"
#include "fl_server/net/http_server.h"
#include "secure/crypto/dev_ca.h"
#include "tests/chaos/socket.h"
#include "tests/integration/support/raw_http.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {

// Reads each request's body and says how large it was, or why it was not read.
class BodyReader : public HttpService {
 public:
  explicit BodyReader(uint64_t bytes_max) : bytes_max_(bytes_max) {}
  Awaitable<RoutedResponse> handle(Exchange& exchange) override {
    if (knows_its_senders) exchange.sender_is_known();
    Result<RequestBody> body = co_await exchange.read_body(bytes_max_);
    if (!body) co_return RoutedResponse{"test", error_response(body.error(), {})};
    const std::string size = std::to_string(body->bytes.size());
    co_return RoutedResponse{"test", frame_response(Bytes(size.begin(), size.end()))};
  }
  HttpResponse refuse(const Error& error, int status) override {
    HttpResponse response = error_response(error, {});
    response.status = status;
    return response;
  }

  std::atomic<bool> knows_its_senders{false};

 private:
  const uint64_t bytes_max_;
};

class HttpWorld : public ::testing::Test {
 protected:
  static constexpr Millis kPatience{30'000};

  void start(const HttpLimits& limits, std::unique_ptr<HttpService> service) {
    service_ = std::move(service);
    const PemPair ca = *make_dev_ca(os::wall_now(), 10);
    const PemPair leaf = *make_server_certificate(ca, {"127.0.0.1"}, os::wall_now(), 5);
    ca_pem_ = ca.certificate;
    ASSERT_OK(os::write_file_atomically(directory_ / "leaf.pem", as_bytes(leaf.certificate)));
    ASSERT_OK(os::write_file_atomically(directory_ / "key.pem", as_bytes(leaf.private_key)));
    auto tls = make_server_tls(directory_ / "leaf.pem", directory_ / "key.pem");
    ASSERT_OK(tls);
    auto port = http_.listen({"device", "127.0.0.1", 0, limits}, *tls, *service_);
    ASSERT_OK(port);
    port_ = *port;
    http_.start();
  }
  void TearDown() override {
    http_.stop_accepting();
    http_.stop();
  }

  // A connection that says nothing.
  chaos::Socket silent() { return std::move(*chaos::connect_to({.port = port_})); }
  integration::RawHttp client() { return integration::RawHttp("https://127.0.0.1:" + std::to_string(port_), ca_pem_); }
  template <typename Condition>
  static bool comes_true(Condition condition) {
    const Instant until = os::monotonic_now() + kPatience;
    while (!condition() && os::monotonic_now() < until) std::this_thread::yield();
    return condition();
  }

  TemporaryDirectory directory_{memory_disk()};
  Metrics metrics_{"test"};
  std::unique_ptr<HttpService> service_;  // outlives the server: a connection may still be in it
  HttpServer http_{2, metrics_};
  std::string ca_pem_;
  uint16_t port_ = 0;
};

}  // namespace coterie::test
