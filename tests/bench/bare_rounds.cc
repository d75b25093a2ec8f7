// coterie-bench-rounds: rounds in which every device adds one to every weight: what a round costs when training is
// free.
//
// A real fl_server process, TLS on; the devices are threads of this process, each with its own key and connection.
// Every device downloads the model, checks its digest, adds, uploads. Prints one JSON object.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/os/clock.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"
#include "tests/integration/support/admin.h"
#include "tests/integration/support/raw_device.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace coterie;
using namespace coterie::integration;
using Clock = std::chrono::steady_clock;

constexpr Millis kHold{60'000};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "coterie-bench-rounds: %s\n", what.c_str());
  std::exit(1);
}

// One device's memory, made once: real devices do not allocate a model a round either.
class BenchDevice {
 public:
  BenchDevice(const ServerProcess& server, const std::string& token, uint64_t values)
      : device_(server.device_url(), server.ca_pem()), values_(values) {
    if (const Status enrolled = device_.enroll(token); !enrolled) die(enrolled.error().message());
    model_.reserve(values * sizeof(float) + 4096);
    update_ = encode_head(UpdateHeader{.round = {}, .model = {}, .value_count = values, .weight = 1, .examples = 1});
    payload_offset_ = update_.size();
    update_.resize(payload_offset_ + values * sizeof(float));
  }

  void round() {
    const auto assignment = device_.wait_for_assignment(kHold);
    if (!assignment) die("check-in: " + assignment.error().message());
    download(*assignment);
    add_one(*assignment);
    const auto outcome = device_.api().upload(device_.id(), *assignment, update_);
    if (const auto* failure = std::get_if<Failure>(&outcome)) die("upload: " + failure->error.message());
  }

 private:
  void download(const Assignment& assignment) {
    model_.clear();
    const auto collect = [this](const TransportResponse&, ByteView piece) -> Status {
      model_.insert(model_.end(), piece.begin(), piece.end());
      return {};
    };
    const auto outcome = device_.api().fetch_model(device_.id(), assignment.model, 0, collect);
    if (const auto* failure = std::get_if<Failure>(&outcome)) die("download: " + failure->error.message());
    if (content_digest(model_) != assignment.model) die("the model has another digest");
  }

  void add_one(const Assignment& assignment) {
    const Bytes head = encode_head(UpdateHeader{.round = assignment.round,
                                                .model = assignment.model,
                                                .value_count = values_,
                                                .weight = 1,
                                                .examples = 1,
                                                .loss_sum = 0,
                                                .correct = 0,
                                                .train_ms = 0});
    if (head.size() != payload_offset_) die("the update's head has changed its size");
    std::memcpy(update_.data(), head.data(), head.size());
    const size_t at = model_.size() - values_ * sizeof(float);
    const auto* weights = reinterpret_cast<const float*>(model_.data() + at);
    auto* delta = reinterpret_cast<float*>(update_.data() + payload_offset_);
    for (size_t i = 0; i < values_; ++i) delta[i] = (weights[i] + 1.0f) - weights[i];
  }

  RawDevice device_;
  uint64_t values_;
  Bytes model_, update_;
  size_t payload_offset_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"coterie-bench-rounds: wall time and server memory of rounds without training"};
  uint32_t devices = 10, rounds = 8;
  double megabytes = 1;
  uint64_t budget = 64;
  app.add_option("--devices", devices, "devices, all of which take part in every round");
  app.add_option("--megabytes", megabytes, "size of the model (10^6 bytes)");
  app.add_option("--rounds", rounds, "rounds; the first is not counted");
  app.add_option("--budget", budget, "the server's limit for updates in flight, MiB");
  CLI11_PARSE(app, argc, argv);
  const auto values = static_cast<uint64_t>(megabytes * 1e6 / 64) * 16;

  test::TemporaryDirectory directory;
  const std::string config = "\"log_level\": \"info\", \"ingest\": {\"bytes_in_flight_max\": " +
                             std::to_string(std::max<uint64_t>(budget << 20, values * 8)) + "}";
  auto server = ServerProcess::start({.data_dir = directory / "data", .config = config});
  if (!server) die(server.error().message());
  Admin admin(**server);
  const auto token = admin.create_token(devices);
  if (!token) die(token.error().message());

  std::vector<std::unique_ptr<BenchDevice>> fleet;
  for (uint32_t i = 0; i < devices; ++i) fleet.push_back(std::make_unique<BenchDevice>(**server, *token, values));
  const auto job = admin.create_job(flat_model(values),
                                    {{"rounds", {{"count", rounds}, {"goal_count", devices}, {"pool_min", devices}}},
                                     {"privacy", {{"level", "none"}}}});
  if (!job) die(job.error().message());
  (*server)->reset_peak_rss();
  std::vector<std::thread> threads;
  for (auto& device : fleet) {
    threads.emplace_back([&device, rounds] {
      for (uint32_t r = 0; r < rounds; ++r) device->round();
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!(*server)->wait_for_log("\"model_version\":" + std::to_string(rounds), Millis(60'000)))
    die("the last round did not end");

  const auto weights = admin.download_weights(*job, rounds);
  if (!weights) die(weights.error().message());
  for (float weight : *weights) {
    if (weight != static_cast<float>(rounds)) die("a weight is " + std::to_string(weight));
  }
  const auto listed = admin.rounds(*job);
  if (!listed) die(listed.error().message());
  std::vector<double> seconds;
  for (const auto& round : (*listed)["rounds"]) {
    if (round["number"] != 1) seconds.push_back(round["seconds"]);
  }
  std::sort(seconds.begin(), seconds.end());
  const double rss = static_cast<double>((*server)->peak_rss_bytes()) / 1e6;
  std::printf(
      "{\"bench\":\"bare_rounds\",\"devices\":%u,\"model_mb\":%.1f,\"rounds\":%u,\"round_s\":%.4f,\"round_s_min\":%.4f,"
      "\"round_s_max\":%.4f,\"server_peak_rss_mb\":%.1f,\"server_cpu_s\":%.2f,\"load\":\"one process, %u threads\"}\n",
      devices, megabytes, rounds, seconds[seconds.size() / 2], seconds.front(), seconds.back(), rss,
      (*server)->cpu_seconds(), devices);
}
