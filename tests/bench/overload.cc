// coterie-bench-overload: what a server still does when more devices come than it can serve.
//
// The server gets a part of one core, so that this process can ask for ten times of what it does. Every device, with a
// key of its own, wants to take part once: check in, download the model, upload an update. Whoever is refused comes
// back within the window that he was told, as the SDK does, and goes on where he was. A device has a connection until
// it is refused.
//
// Capacity is what a few devices at a time get done, one after the other without a pause. Then so many devices come, at
// any moment of the measurement, that they want 1, 2, 5, 10 times as much: goodput is devices a second that are done,
// latency that of requests that were served. The peak is the mean of the capacity just before and just after, as a
// shared machine is not always equally fast.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <queue>
#include <thread>

#include "base/os/clock.h"
#include "base/random.h"
#include "tests/bench/cpu_share.h"
#include "tests/bench/ones_update.h"
#include "tests/integration/support/admin.h"
#include "tests/integration/support/raw_device.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace coterie;
using namespace coterie::integration;
using Seconds = std::chrono::duration<double>;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "coterie-bench-overload: %s\n", what.c_str());
  std::_Exit(1);
}

// Whoever wants something, and when; the earliest first.
class Agenda {
 public:
  explicit Agenda(Instant end) : end_(end) {}

  void add(Instant due, size_t device) {
    const std::lock_guard lock(mutex_);
    due_.push({due, device});
    changed_.notify_one();
  }
  // Waits until somebody is due; nobody when the time is over.
  std::optional<size_t> next() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const Instant now = os::monotonic_now();
      if (now >= end_) return std::nullopt;
      if (!due_.empty() && due_.top().first <= now) {
        const size_t device = due_.top().second;
        due_.pop();
        return device;
      }
      const Instant until = due_.empty() ? end_ : std::min(end_, due_.top().first);
      changed_.wait_for(lock, until - now);
    }
  }

 private:
  using Entry = std::pair<Instant, size_t>;
  const Instant end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> due_;
};

struct Tally {
  uint64_t assigned = 0, downloaded = 0, done = 0, refused = 0,
           unexplained = 0;                         // devices; refusals, and those without a window
  std::array<std::vector<double>, 3> latencies_ms;  // by Wants
  static double p99_ms(std::vector<double> latencies) {
    if (latencies.empty()) return 0;
    std::sort(latencies.begin(), latencies.end());
    return latencies[latencies.size() * 99 / 100];
  }
  double p99_ms() const {
    std::vector<double> all;
    for (const std::vector<double>& some : latencies_ms) all.insert(all.end(), some.begin(), some.end());
    return p99_ms(std::move(all));
  }
};

struct Device {
  enum class Wants : uint8_t { assignment, model, receipt };
  std::unique_ptr<Signer> signer;
  DeviceId id;
  Wants wants = Wants::assignment;
  Assignment assignment;
};

class Load {
 public:
  Load(ServerProcess& server, std::string token, uint64_t values, uint32_t connections)
      : token_(std::move(token)), values_(values) {
    for (uint32_t i = 0; i < connections; ++i) clients_.push_back(connect_to(server.device_url(), server.ca_pem()));
  }

  // `count` more devices, none of which has taken part. Before the server is limited: it is not what is measured.
  void enroll(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      Device device{.signer = std::move(*make_signer(KeyAlgorithm::ed25519, generate_secret(KeyAlgorithm::ed25519))),
                    .id = {},
                    .assignment = {}};
      DeviceApi api(*clients_[i % clients_.size()], *device.signer);
      const auto enrolled = api.enroll(token_, "bench");
      if (const auto* failure = std::get_if<Failure>(&enrolled)) die("enroll: " + failure->error.message());
      device.id = std::get<EnrollReply>(enrolled).device;
      devices_.push_back(std::move(device));
    }
  }

  // Devices that take part one after the other without a pause, on so many connections.
  Tally saturate(uint32_t connections, Millis time) {
    const Instant end = os::monotonic_now() + time;
    return run(connections, [&](uint32_t i, Prng& prng, Tally& tally) {
      while (os::monotonic_now() < end) {
        Device& device = next_device();
        for (bool goes_on = true; goes_on && os::monotonic_now() < end;)
          goes_on = ask(*clients_[i], device, prng, tally) != kDone;
      }
    });
  }
  // `count`, each of which begins at some moment of `time`.
  Tally come(size_t count, Millis time) {
    const Instant begin = os::monotonic_now();
    Agenda agenda(begin + time);
    Prng arrivals(count);
    for (size_t i = 0; i < count; ++i) {
      const size_t device = static_cast<size_t>(&next_device() - devices_.data());
      agenda.add(begin + Millis(static_cast<int64_t>(arrivals.below(static_cast<uint64_t>(time.count())))), device);
    }
    return run(static_cast<uint32_t>(clients_.size()), [&](uint32_t i, Prng& prng, Tally& tally) {
      while (const std::optional<size_t> device = agenda.next()) {
        Millis again = kNow;
        while (again == kNow && os::monotonic_now() < begin + time)
          again = ask(*clients_[i], devices_[*device], prng, tally);
        if (again != kDone) agenda.add(os::monotonic_now() + again, *device);
      }
    });
  }

 private:
  static constexpr Millis kDone{-1}, kNow{0};

  Device& next_device() {
    const size_t i = next_++;
    if (i >= devices_.size())
      die("too few devices were enrolled: the server does more than was assumed (--devices-per-second)");
    return devices_[i];
  }

  template <typename Work>
  Tally run(uint32_t connections, Work work) {
    std::vector<Tally> tallies(connections);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < connections; ++i) {
      threads.emplace_back([&, i] {
        Prng prng(i);
        work(i, prng, tallies[i]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    Tally all;
    for (const Tally& one : tallies) {
      all.assigned += one.assigned;
      all.downloaded += one.downloaded;
      all.done += one.done;
      all.refused += one.refused;
      all.unexplained += one.unexplained;
      for (size_t i = 0; i < all.latencies_ms.size(); ++i) {
        all.latencies_ms[i].insert(all.latencies_ms[i].end(), one.latencies_ms[i].begin(), one.latencies_ms[i].end());
      }
    }
    return all;
  }

  // The device's next request; when to go on, or kDone.
  Millis ask(HttpsClient& client, Device& device, Prng& prng, Tally& tally) {
    DeviceApi api(client, *device.signer);
    const Instant begin = os::monotonic_now();
    std::optional<Failure> failure;
    Millis again = kNow;
    const auto asked = static_cast<size_t>(device.wants);
    switch (device.wants) {
      case Device::Wants::assignment: {
        auto answer = api.check_in(device.id, {Population("default"), "bench", 0});
        if (auto* given = std::get_if<Assignment>(&answer)) {
          device.assignment = std::move(*given);
          device.wants = Device::Wants::model;
          ++tally.assigned;
        } else if (const auto* window = std::get_if<RetryWindow>(&answer)) {
          return moment_of(*window, prng);  // an answer: the round was not open yet
        } else {
          failure = std::get<Failure>(answer);
        }
        break;
      }
      case Device::Wants::model: {
        const auto outcome = api.fetch_model(device.id, device.assignment.model, 0,
                                             [](const TransportResponse&, ByteView) -> Status { return {}; });
        if (const auto* failed = std::get_if<Failure>(&outcome)) failure = *failed;
        else device.wants = Device::Wants::receipt;
        if (!failure) ++tally.downloaded;
        break;
      }
      case Device::Wants::receipt: {
        const auto outcome = api.upload(device.id, device.assignment, update(device.assignment));
        if (const auto* failed = std::get_if<Failure>(&outcome)) {
          failure = *failed;
        } else {
          ++tally.done;
          again = kDone;
        }
      }
    }
    if (!failure) {
      tally.latencies_ms[asked].push_back(Seconds(os::monotonic_now() - begin).count() * 1e3);
      return again;
    }
    const ErrorCode code = failure->error.code();
    if (code != ErrorCode::overloaded && code != ErrorCode::unavailable && code != ErrorCode::rate_limited)
      die(failure->error.message());
    ++tally.refused;
    if (failure->window) return moment_of(*failure->window, prng);
    ++tally.unexplained;
    return Millis(1'000);
  }
  static Millis moment_of(const RetryWindow& window, Prng& prng) {
    return Millis(1 + window.min_ms + static_cast<int64_t>(prng.below(window.max_ms - window.min_ms + 1)));
  }

  // The same for every device of the round.
  ByteView update(const Assignment& assignment) {
    const std::lock_guard lock(update_mutex_);
    if (update_.empty()) update_ = bench::ones_update(assignment, values_);
    return update_;
  }

  const std::string token_;
  const uint64_t values_;
  std::vector<std::unique_ptr<HttpsClient>> clients_;
  std::vector<Device> devices_;
  std::atomic<size_t> next_{0};  // of devices_, who has done nothing yet
  std::mutex update_mutex_;
  Bytes update_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "coterie-bench-overload: goodput and latency when 1, 2, 5 and 10 times as many devices come as can be served"};
  double megabytes = 1, share = 0.2, seconds = 15;
  uint32_t connections = 1'000, saturating = 8, checkins = 200, devices_per_second = 130, queue_delay_ms = 100;
  app.add_option("--megabytes", megabytes, "size of the model and of an update (10^6 bytes)");
  app.add_option("--share", share, "of a core, for the server");
  app.add_option("--seconds", seconds, "of each measurement");
  app.add_option("--connections", connections, "of the load");
  app.add_option("--saturating", saturating, "connections with which capacity is measured");
  app.add_option("--checkins", checkins,
                 "the server's selection.checkins_per_second_max: what an operator would set it to");
  app.add_option("--queue-delay", queue_delay_ms, "the server's overload.queue_delay_ms");
  app.add_option("--devices-per-second", devices_per_second,
                 "more than the server can serve: so many are enrolled for each measured second");
  CLI11_PARSE(app, argc, argv);
  const Millis time(static_cast<int64_t>(seconds * 1e3));
  const auto values = static_cast<uint64_t>(megabytes * 1e6 / 64) * 16;
  const auto devices = static_cast<uint32_t>(devices_per_second * seconds * (5 * 1 + 1 + 2 + 5 + 10));

  test::TemporaryDirectory directory;
  const auto server = ServerProcess::start(
      {.data_dir = directory / "data",
       .config = "\"threads\": 1, \"overload\": {\"queue_delay_ms\": " + std::to_string(queue_delay_ms) +
                 "}, \"selection\": {\"checkins_per_second_max\": " + std::to_string(checkins) + "}"});
  if (!server) die(server.error().message());
  Admin admin(**server);
  const auto token = admin.create_token(devices + 1);
  if (!token) die(token.error().message());
  Load load(**server, *token, values, connections);
  load.enroll(devices);
  // A round that is never full.
  const auto job = admin.create_job(
      flat_model(values), {{"rounds", {{"goal_count", devices + 1}, {"pool_min", 1}, {"collecting_ms_max", 3'600'000}}},
                           {"privacy", {{"level", "none"}}}});
  if (!job) die(job.error().message());
  // The round opens for somebody who waits; from then on whoever checks in is given a part at once.
  RawDevice first((*server)->device_url(), (*server)->ca_pem());
  if (const Status enrolled = first.enroll(*token); !enrolled) die("enroll: " + enrolled.error().message());
  if (const auto given = first.wait_for_assignment(Millis(30'000)); !given)
    die("no round opens: " + given.error().message());
  const auto limited = bench::CpuShare::give((*server)->pid(), share);
  if (!limited) {
    std::printf("{\"bench\":\"overload\",\"missing\":\"%s\"}\n", limited.error().message().c_str());
    return 0;
  }
  double p99_at_capacity_ms = 0;
  const auto measure_capacity = [&] {
    const Tally peak = load.saturate(saturating, time);
    p99_at_capacity_ms = peak.p99_ms();
    return static_cast<double>(peak.done) / seconds;
  };
  double capacity = measure_capacity();
  std::printf(
      "{\"bench\":\"overload\",\"times\":0,\"per_second\":%.1f,\"p99_ms\":%.1f,\"core_share\":%.2f,\"connections\":%u}"
      "\n",
      capacity, p99_at_capacity_ms, share, saturating);
  double baseline_p99_ms = 0;
  for (const uint32_t times : {1, 2, 5, 10}) {
    const double cpu_before = (*server)->cpu_seconds();
    const Tally tally = load.come(static_cast<size_t>(capacity * seconds * times), time);
    const double cpu_s = (*server)->cpu_seconds() - cpu_before;
    const double capacity_after = measure_capacity(), peak = (capacity + capacity_after) / 2;
    capacity = capacity_after;
    const double goodput = static_cast<double>(tally.done) / seconds, p99_ms = tally.p99_ms();
    if (times == 1) baseline_p99_ms = p99_ms;
    std::printf(
        "{\"bench\":\"overload\",\"times\":%u,\"per_second\":%.1f,\"of_peak\":%.3f,\"p99_ms\":%.1f,\"of_baseline_p99\":"
        "%.2f,"
        "\"checkin_p99_ms\":%.1f,\"download_p99_ms\":%.1f,\"upload_p99_ms\":%.1f,"
        "\"assigned\":%llu,\"downloaded\":%llu,\"refused\":%llu,\"without_window\":%llu,\"server_cpu_s\":%.2f}\n",
        times, goodput, goodput / peak, p99_ms, p99_ms / baseline_p99_ms, Tally::p99_ms(tally.latencies_ms[0]),
        Tally::p99_ms(tally.latencies_ms[1]), Tally::p99_ms(tally.latencies_ms[2]),
        static_cast<unsigned long long>(tally.assigned), static_cast<unsigned long long>(tally.downloaded),
        static_cast<unsigned long long>(tally.refused), static_cast<unsigned long long>(tally.unexplained), cpu_s);
    std::fflush(stdout);
  }
}
