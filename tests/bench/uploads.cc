// coterie-bench-uploads: whole HTTPS uploads per CPU second of the server, beside nginx receiving the same bodies from
// the same client in the same run (if nginx and its echo module are installed).
//
// Ours: TLS, signature, ticket, admission, decoding, range check, exact sum, batch made durable, receipt. nginx: TLS,
// body read into memory, 200; and once more with its own default, by which such a body goes to a temporary file (not
// synced).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>

#include "proto/codec/codec.h"
#include "tests/bench/measured_load.h"
#include "tests/bench/nginx.h"
#include "tests/integration/support/admin.h"
#include "tests/integration/support/raw_device.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace coterie;
using namespace coterie::integration;
using bench::measure;
using bench::Rate;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "coterie-bench-uploads: %s\n", what.c_str());
  std::exit(1);
}

// Every upload is another device's; the connections are shared, as a balancer would share them.
Rate measure_coterie(uint32_t threads, uint32_t uploads, uint64_t values) {
  test::TemporaryDirectory directory;
  auto server = ServerProcess::start({.data_dir = directory / "data", .config = {}});
  if (!server) die(server.error().message());
  Admin admin(**server);
  const auto token = admin.create_token(uploads);
  if (!token) die(token.error().message());
  std::vector<std::unique_ptr<HttpsClient>> clients;
  for (uint32_t t = 0; t < threads; ++t) clients.push_back(connect_to((*server)->device_url(), (*server)->ca_pem()));
  struct Device {
    std::unique_ptr<Signer> signer;
    DeviceId id;
    Assignment assignment;
  };
  std::vector<Device> devices(uploads);
  for (uint32_t i = 0; i < uploads; ++i) {
    devices[i].signer = std::move(*make_signer(KeyAlgorithm::ed25519, generate_secret(KeyAlgorithm::ed25519)));
    DeviceApi api(*clients[0], *devices[i].signer);
    const auto enrolled = api.enroll(*token, "bench");
    if (const auto* failure = std::get_if<Failure>(&enrolled)) die("enroll: " + failure->error.message());
    devices[i].id = std::get<EnrollReply>(enrolled).device;
  }
  // A round that is never full: nothing is measured but uploads.
  const auto job = admin.create_job(flat_model(values), {{"rounds", {{"goal_count", uploads + 1}, {"pool_min", 1}}},
                                                         {"privacy", {{"level", "none"}}}});
  if (!job) die(job.error().message());
  for (Device& device : devices) {
    DeviceApi api(*clients[0], *device.signer);
    for (;;) {
      auto answer = api.check_in(device.id, {Population("default"), "bench", 10'000});
      if (auto* assignment = std::get_if<Assignment>(&answer)) {
        device.assignment = std::move(*assignment);
        break;
      }
      if (const auto* failure = std::get_if<Failure>(&answer)) die("check-in: " + failure->error.message());
    }
  }
  const UpdateHeader header{.round = devices[0].assignment.round,
                            .model = devices[0].assignment.model,
                            .value_count = values,
                            .weight = 1,
                            .examples = 1,
                            .loss_sum = 0,
                            .correct = 0,
                            .train_ms = 0};
  Bytes frame = encode_head(header);
  const size_t at = frame.size();
  frame.resize(at + values * sizeof(float));
  auto* floats = reinterpret_cast<float*>(frame.data() + at);
  for (size_t i = 0; i < values; ++i) floats[i] = 0.001f * static_cast<float>(i % 1000);
  return measure(
      threads, uploads, [&] { return (*server)->cpu_seconds(); },
      [&](uint32_t t, uint32_t i) {
        DeviceApi api(*clients[t], *devices[i].signer);
        const auto outcome = api.upload(devices[i].id, devices[i].assignment, frame);
        if (const auto* failure = std::get_if<Failure>(&outcome)) die("upload: " + failure->error.message());
      });
}

Rate measure_nginx(Nginx& nginx, uint32_t threads, uint32_t uploads, uint64_t values) {
  std::vector<std::unique_ptr<HttpsClient>> clients;
  for (uint32_t t = 0; t < threads; ++t) clients.push_back(connect_to(nginx.url(), nginx.ca_pem()));
  const Bytes body(values * sizeof(float) + 256, 1);
  return measure(
      threads, uploads, [&] { return nginx.cpu_seconds(); },
      [&](uint32_t t, uint32_t) {
        const auto answer = clients[t]->send({.method = "PUT",
                                              .target = "/upload",
                                              .headers = {},
                                              .content_type = "application/octet-stream",
                                              .body = body},
                                             [](const TransportResponse&, ByteView) -> Status { return {}; });
        if (!answer || answer->status != 200) die("nginx did not take the body");
      });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"coterie-bench-uploads: HTTPS uploads per server CPU second, beside nginx"};
  double megabytes = 1;
  uint32_t uploads = 1600, threads = 32;
  app.add_option("--megabytes", megabytes, "size of an update (10^6 bytes)");
  app.add_option("--uploads", uploads, "uploads measured");
  app.add_option("--threads", threads, "connections");
  CLI11_PARSE(app, argc, argv);
  const auto values = static_cast<uint64_t>(megabytes * 1e6 / 64) * 16;

  const Rate ours = measure_coterie(threads, uploads, values);
  std::printf(
      "{\"bench\":\"uploads\",\"update_mb\":%.0f,\"uploads\":%u,\"connections\":%u,\"per_second\":%.0f,\"per_cpu_"
      "second\":%.0f",
      megabytes, uploads, threads, ours.per_second, ours.per_cpu_second);
  for (const auto& [name, bodies] :
       {std::pair("nginx", Nginx::Bodies::in_memory), std::pair("nginx_file", Nginx::Bodies::in_file)}) {
    const auto nginx = Nginx::start(bodies);
    if (!nginx) {
      std::printf(",\"nginx\":\"%s\"}\n", nginx.error().message().c_str());
      return 0;
    }
    const Rate theirs = measure_nginx(**nginx, threads, uploads, values);
    std::printf(",\"%s_per_second\":%.0f,\"%s_per_cpu_second\":%.0f,\"%s_ratio\":%.3f", name, theirs.per_second, name,
                theirs.per_cpu_second, name, ours.per_cpu_second / theirs.per_cpu_second);
  }
  std::printf("}\n");
}
