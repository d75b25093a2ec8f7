// coterie-bench-requests: what a small request and a full TLS handshake cost the server, beside nginx in the same run.
//
// Both answer GET /healthz with "ok" from memory, over TLS 1.3 with the same cipher suite and the same kind of
// certificate (ECDSA P-256), and log nothing. A handshake is a new connection without a session to resume, and nothing
// else. The two are measured in turn, several times; the ratio is the median of the turns' ratios.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "tests/bench/measured_load.h"
#include "tests/bench/nginx.h"
#include "tests/integration/support/raw_device.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace coterie;
using namespace coterie::integration;
using bench::measure;
using bench::Rate;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "coterie-bench-requests: %s\n", what.c_str());
  std::exit(1);
}

template <typename Server>
Rate small_requests(Server& server, uint32_t threads, uint32_t count) {
  const auto ask = [](HttpsClient& client) {
    const TransportRequest request{
        .method = "GET", .target = "/healthz", .headers = {}, .content_type = {}, .body = {}};
    const auto answer = client.send(request, [](const TransportResponse&, ByteView) -> Status { return {}; });
    if (!answer || answer->status != 200)
      die("GET /healthz: " + (answer ? "status " + std::to_string(answer->status) : answer.error().message()));
  };
  std::vector<std::unique_ptr<HttpsClient>> clients;
  for (uint32_t t = 0; t < threads; ++t) {
    clients.push_back(connect_to(server.url(), server.ca_pem()));
    ask(*clients.back());
  }
  return measure(
      threads, count, [&] { return server.cpu_seconds(); }, [&](uint32_t t, uint32_t) { ask(*clients[t]); });
}

template <typename Server>
Rate handshakes(Server& server, uint32_t threads, uint32_t count) {
  const auto port = static_cast<uint16_t>(std::stoi(server.url().substr(server.url().rfind(':') + 1)));
  return measure(
      threads, count, [&] { return server.cpu_seconds(); },
      [&](uint32_t, uint32_t) {
        const auto trust = TlsTrust::make(server.ca_pem());  // a new one remembers no session
        if (!trust) die(trust.error().message());
        const auto socket = TlsSocket::connect("127.0.0.1", port, *trust, Millis(30'000), nullptr);
        if (!socket) die("handshake: " + socket.error().message());
      });
}

// fl_server by the names that Nginx has.
class Coterie {
 public:
  Coterie() {
    auto server = ServerProcess::start({.data_dir = directory_ / "data", .config = {}});
    if (!server) die(server.error().message());
    server_ = std::move(*server);
  }
  const std::string& url() const { return server_->device_url(); }
  const std::string& ca_pem() const { return server_->ca_pem(); }
  double cpu_seconds() const { return server_->cpu_seconds(); }

 private:
  test::TemporaryDirectory directory_;
  std::unique_ptr<ServerProcess> server_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Measured>
void compare(const char* what, Coterie& ours, const Result<std::unique_ptr<Nginx>>& nginx, uint32_t turns,
             uint32_t connections, Measured measured) {
  std::vector<double> rates, cpu_rates, nginx_cpu_rates, ratios;
  for (uint32_t turn = 0; turn < turns; ++turn) {
    const Rate rate = measured(ours);
    rates.push_back(rate.per_second);
    cpu_rates.push_back(rate.per_cpu_second);
    if (!nginx) continue;
    nginx_cpu_rates.push_back(measured(**nginx).per_cpu_second);
    ratios.push_back(rate.per_cpu_second / nginx_cpu_rates.back());
  }
  std::printf(
      "{\"bench\":\"requests\",\"what\":\"%s\",\"connections\":%u,\"turns\":%u,\"per_second\":%.0f,\"per_cpu_second\":%"
      ".0f",
      what, connections, turns, median(rates), median(cpu_rates));
  if (nginx) {
    std::printf(",\"nginx_per_cpu_second\":%.0f,\"nginx_ratio\":%.3f}\n", median(nginx_cpu_rates), median(ratios));
  } else {
    std::printf(",\"nginx\":\"%s\"}\n", nginx.error().message().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"coterie-bench-requests: small requests and full TLS handshakes per server CPU second, beside nginx"};
  uint32_t threads = 32, requests = 60'000, shakes = 4'000, turns = 5;
  app.add_option("--threads", threads, "connections at a time");
  app.add_option("--requests", requests, "small requests a turn");
  app.add_option("--handshakes", shakes, "handshakes a turn");
  app.add_option("--turns", turns, "how often each is measured");
  CLI11_PARSE(app, argc, argv);
  Coterie ours;
  const auto nginx = Nginx::start(Nginx::Bodies::in_memory);
  compare("small", ours, nginx, turns, threads,
          [&](auto& server) { return small_requests(server, threads, requests); });
  compare("handshake", ours, nginx, turns, threads, [&](auto& server) { return handshakes(server, threads, shakes); });
}
