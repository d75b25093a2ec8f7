// coterie-bench-crowd: one round of many devices on one node, by phases: real HTTPS; a key, a connection and a thread
// of this process for every device.
//
// enroll: connect (a full handshake) and enroll. check_in: one signed check-in that is answered at once, as no job
// wants devices. select: check in and wait, until all are there and have their assignments. download, upload: the model
// to every device, an update from each, so many transfers at a time as asked for. finalize: until the new model is
// there. A phase begins when everybody has ended the one before, so each has its own share of the server's processor
// time.
//
// Every update adds one to every weight: the new model must be exactly that.
#include <pthread.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <functional>
#include <semaphore>
#include <thread>

#include "base/os/clock.h"
#include "tests/bench/ones_update.h"
#include "tests/integration/support/admin.h"
#include "tests/integration/support/raw_device.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace coterie;
using namespace coterie::integration;

constexpr Millis kHold{60'000};
constexpr size_t kStackBytes = 256 * 1024;  // of a device's thread

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "coterie-bench-crowd: %s\n", what.c_str());
  std::_Exit(1);  // thousands of threads wait for each other
}

struct Device {
  std::unique_ptr<RawDevice> raw;
  Assignment assignment;
};

// A thread for every device; step by step, all of them the same.
class Crowd {
 public:
  using Step = std::function<void(Device&)>;

  Crowd(ServerProcess& server, uint32_t devices) : server_(server), devices_(devices), gate_(devices + 1) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, kStackBytes);
    pthread_setattr_default_np(&small);
    for (Device& device : devices_) threads_.emplace_back([this, &device] { live(device); });
  }
  ~Crowd() {
    step_ = nullptr;
    gate_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }

  // All do `step`, which is the phase `name`; its row is added to text().
  void run(const char* name, Step step) {
    step_ = std::move(step);
    measure(name, [this] {
      gate_.arrive_and_wait();
      gate_.arrive_and_wait();
    });
  }
  template <typename Action>
  void measure(const char* name, Action action) {
    const Instant begin = os::monotonic_now();
    const double cpu_before = server_.cpu_seconds();
    action();
    char row[160];
    std::snprintf(row, sizeof row, "%s\"%s\":{\"wall_s\":%.2f,\"server_cpu_s\":%.2f}", text_.empty() ? "" : ",", name,
                  std::chrono::duration<double>(os::monotonic_now() - begin).count(),
                  server_.cpu_seconds() - cpu_before);
    text_ += row;
    std::fprintf(stderr, "%s\n", row + (row[0] == ','));
  }
  const std::string& text() const { return text_; }
  const Device& first() const { return devices_.front(); }

 private:
  void live(Device& device) {
    for (;;) {
      gate_.arrive_and_wait();
      if (!step_) return;
      step_(device);
      gate_.arrive_and_wait();
    }
  }

  ServerProcess& server_;
  std::vector<Device> devices_;
  std::barrier<> gate_;
  Step step_;
  std::vector<std::thread> threads_;
  std::string text_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"coterie-bench-crowd: one round of many devices on one node, over HTTPS, by phases"};
  uint32_t count = 10'000;
  int32_t transfers_max = 64;
  double megabytes = 1;
  app.add_option("--devices", count, "devices, each with a connection of its own");
  app.add_option("--megabytes", megabytes, "size of the model (10^6 bytes)");
  app.add_option("--transfers", transfers_max, "models and updates under way at a time");
  CLI11_PARSE(app, argc, argv);
  const auto values = static_cast<uint64_t>(megabytes * 1e6 / 64) * 16;

  test::TemporaryDirectory directory;
  const std::string config =
      "\"log_level\": \"info\", \"device\": {\"connections_max\": " + std::to_string(count + 100) +
      ", \"idle_ms_max\": 600000}";
  const auto started = ServerProcess::start({.data_dir = directory / "data", .config = config});
  if (!started) die(started.error().message());
  ServerProcess& server = **started;
  Admin admin(server);
  const auto token = admin.create_token(count);
  if (!token) die(token.error().message());
  std::counting_semaphore<> transfers(transfers_max);
  std::atomic<uint64_t> bytes_down{0};
  const double rss_before = static_cast<double>(server.rss_bytes());
  Crowd crowd(server, count);

  // Handshakes cost the client as much as the server: they too come a few at a time.
  crowd.run("enroll", [&](Device& device) {
    transfers.acquire();
    device.raw = std::make_unique<RawDevice>(server.device_url(), server.ca_pem());
    if (const Status enrolled = device.raw->enroll(*token); !enrolled) die("enroll: " + enrolled.error().message());
    transfers.release();
  });
  const double rss_connected = static_cast<double>(server.rss_bytes());
  crowd.run("check_in", [&](Device& device) {
    const auto answer = device.raw->api().check_in(device.raw->id(), {Population("default"), "bench", 0});
    if (const auto* failure = std::get_if<Failure>(&answer)) die("check-in: " + failure->error.message());
  });

  const auto job = admin.create_job(
      flat_model(values),
      {{"rounds", {{"count", 1}, {"goal_count", count}, {"pool_min", count}}}, {"privacy", {{"level", "none"}}}});
  if (!job) die(job.error().message());
  server.reset_peak_rss();
  crowd.run("select", [&](Device& device) {
    auto given = device.raw->wait_for_assignment(kHold);
    if (!given) die("assignment: " + given.error().message());
    device.assignment = std::move(*given);
  });
  const double rss_selected = static_cast<double>(server.peak_rss_bytes());
  crowd.run("download", [&](Device& device) {
    const auto take = [&](const TransportResponse&, ByteView piece) -> Status {
      bytes_down += piece.size();
      return {};
    };
    transfers.acquire();
    const auto outcome = device.raw->api().fetch_model(device.raw->id(), device.assignment.model, 0, take);
    if (const auto* failure = std::get_if<Failure>(&outcome)) die("download: " + failure->error.message());
    transfers.release();
  });
  const Bytes update = bench::ones_update(crowd.first().assignment, values);
  crowd.run("upload", [&](Device& device) {
    transfers.acquire();
    const auto outcome = device.raw->api().upload(device.raw->id(), device.assignment, update);
    if (const auto* failure = std::get_if<Failure>(&outcome)) die("upload: " + failure->error.message());
    transfers.release();
  });
  crowd.measure("finalize", [&] {
    if (!server.wait_for_log("\"model_version\":1", Millis(60'000))) die("the round did not end");
  });
  const double rss_peak = static_cast<double>(server.peak_rss_bytes());

  const auto weights = admin.download_weights(*job, 1);
  if (!weights) die(weights.error().message());
  for (const float weight : *weights) {
    if (weight != 1.0f) die("a weight is " + std::to_string(weight));
  }
  std::printf(
      "{\"bench\":\"crowd\",\"devices\":%u,\"model_mb\":%.1f,\"transfers_at_a_time\":%d,\"phases\":{%s},\"mb_down\":%."
      "0f,\"mb_up\":%.0f,"
      "\"rss_kb_per_connection\":%.1f,\"rss_kb_per_waiting_device\":%.1f,\"peak_rss_mb\":%.0f}\n",
      count, megabytes, transfers_max, crowd.text().c_str(), static_cast<double>(bytes_down) / 1e6,
      static_cast<double>(update.size()) * count / 1e6, (rss_connected - rss_before) / 1e3 / count,
      (rss_selected - rss_before) / 1e3 / count, rss_peak / 1e6);
}
