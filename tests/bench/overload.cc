// coterie-bench-overload: what a server still does when more devices come than it can serve.
//
// The server gets a part of one core, so that this process can ask for ten times of what it does. Every device wants one model of
// this size within the time of the measurement; a device that is refused comes back after the answer's Retry-After, as the
// SDK's do. Capacity is what a few devices get that ask without a pause. Then so many devices come that they want 1, 2, 5, 10 times as
// much: goodput is what is served a second, latency that of requests that were served.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <queue>
#include <thread>

#include "base/os/clock.h"
#include "base/random.h"
#include "secure/crypto/digest.h"
#include "tests/bench/cpu_share.h"
#include "tests/integration/support/admin.h"
#include "tests/integration/support/raw_device.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace coterie;
using namespace coterie::testing;
using Seconds = std::chrono::duration<double>;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "coterie-bench-overload: %s\n", what.c_str());
  std::_Exit(1);
}

// Devices that want something at a time of their own, earliest first.
class Agenda {
 public:
  explicit Agenda(Instant end) : end_(end) {}

  void add(Instant due) {
    const std::lock_guard lock(mutex_);
    due_.push(due);
    changed_.notify_one();
  }
  // Waits until somebody is due; false when the time is over.
  bool next() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const Instant now = os::monotonic_now();
      if (now >= end_) return false;
      if (!due_.empty() && due_.top() <= now) {
        due_.pop();
        return true;
      }
      const Instant until = due_.empty() ? end_ : std::min(end_, due_.top());
      changed_.wait_for(lock, until - now);
    }
  }

 private:
  const Instant end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Instant, std::vector<Instant>, std::greater<>> due_;
};

struct Tally {
  uint64_t served = 0, refused = 0, unexplained = 0;  // refusals without Retry-After
  std::vector<double> latencies_ms;
  double p99_ms() {
    if (latencies_ms.empty()) return 0;
    std::sort(latencies_ms.begin(), latencies_ms.end());
    return latencies_ms[latencies_ms.size() * 99 / 100];
  }
};

class Load {
 public:
  // A connection and a key each: a device is as good as another.
  Load(ServerProcess& server, const std::string& token, const Digest& model, uint32_t connections) : model_(model) {
    for (uint32_t i = 0; i < connections; ++i) {
      devices_.push_back(std::make_unique<RawDevice>(server.device_url(), server.ca_pem()));
      if (const Status enrolled = devices_.back()->enroll(token); !enrolled) die("enroll: " + enrolled.error().message());
    }
  }

  // Devices that ask without a pause, on so many connections.
  Tally saturate(uint32_t connections, Millis time) {
    const Instant end = os::monotonic_now() + time;
    return run(connections, [&](uint32_t i, Tally& tally) {
      Prng prng(i);
      while (os::monotonic_now() < end) ask(*devices_[i], prng, tally);
    });
  }
  // `devices`, which want it once each at some time within `time`.
  Tally come(uint32_t devices, Millis time) {
    const Instant begin = os::monotonic_now();
    Agenda agenda(begin + time);
    Prng prng(devices);
    for (uint32_t i = 0; i < devices; ++i) agenda.add(begin + Millis(static_cast<int64_t>(prng.below(static_cast<uint64_t>(time.count())))));
    return run(static_cast<uint32_t>(devices_.size()), [&](uint32_t i, Tally& tally) {
      Prng prng(i);
      while (agenda.next()) {
        if (const Millis again = ask(*devices_[i], prng, tally); again > Millis(0)) agenda.add(os::monotonic_now() + again);
      }
    });
  }

 private:
  template <typename Work>
  Tally run(uint32_t connections, Work work) {
    std::vector<Tally> tallies(connections);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < connections; ++i) threads.emplace_back([&, i] { work(i, tallies[i]); });
    for (std::thread& thread : threads) thread.join();
    Tally all;
    for (const Tally& one : tallies) {
      all.served += one.served;
      all.refused += one.refused;
      all.unexplained += one.unexplained;
      all.latencies_ms.insert(all.latencies_ms.end(), one.latencies_ms.begin(), one.latencies_ms.end());
    }
    return all;
  }

  // One request; when to come back, if it was refused.
  Millis ask(RawDevice& device, Prng& prng, Tally& tally) {
    const Instant begin = os::monotonic_now();
    const auto outcome = device.api().fetch_model(device.id(), model_, 0, [](const TransportResponse&, ByteView) -> Status { return {}; });
    const auto* failure = std::get_if<Failure>(&outcome);
    if (failure == nullptr) {
      ++tally.served;
      tally.latencies_ms.push_back(Seconds(os::monotonic_now() - begin).count() * 1e3);
      return Millis(0);
    }
    const ErrorCode code = failure->error.code();
    if (code != ErrorCode::overloaded && code != ErrorCode::unavailable && code != ErrorCode::rate_limited) die(failure->error.message());
    ++tally.refused;
    if (failure->window) {
      const auto [min_ms, max_ms, reason] = *failure->window;
      return Millis(1 + min_ms + static_cast<int64_t>(prng.below(max_ms - min_ms + 1)));
    }
    ++tally.unexplained;
    return Millis(1'000);
  }

  const Digest model_;
  std::vector<std::unique_ptr<RawDevice>> devices_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"coterie-bench-overload: goodput and latency when 1, 2, 5 and 10 times as many devices come as can be served"};
  double megabytes = 1, share = 0.15, seconds = 15;
  uint32_t connections = 400, saturating = 16;
  app.add_option("--megabytes", megabytes, "size of the model that devices want (10^6 bytes)");
  app.add_option("--share", share, "of a core, for the server");
  app.add_option("--seconds", seconds, "of each measurement");
  app.add_option("--connections", connections, "of the load");
  app.add_option("--saturating", saturating, "connections with which capacity is measured");
  CLI11_PARSE(app, argc, argv);
  const Millis time(static_cast<int64_t>(seconds * 1e3));

  test::TemporaryDirectory directory;
  const auto server = ServerProcess::start({.data_dir = directory / "data", .config = "\"threads\": 1, \"overload\": {\"device_requests_per_second\": 0}"});
  if (!server) die(server.error().message());
  Admin admin(**server);
  const Bytes model = flat_model(static_cast<uint64_t>(megabytes * 1e6 / 64) * 16);
  if (const auto job = admin.create_job(model, {{"privacy", {{"level", "none"}}}}); !job) die(job.error().message());
  const auto token = admin.create_token(connections);
  if (!token) die(token.error().message());
  Load load(**server, *token, content_digest(model), connections);
  const auto limited = bench::CpuShare::give((*server)->pid(), share);
  if (!limited) {
    std::printf("{\"bench\":\"overload\",\"missing\":\"%s\"}\n", limited.error().message().c_str());
    return 0;
  }
  Tally peak = load.saturate(saturating, time);
  const double capacity = static_cast<double>(peak.served) / seconds;
  std::printf("{\"bench\":\"overload\",\"times\":0,\"per_second\":%.0f,\"p99_ms\":%.1f,\"core_share\":%.2f,\"connections\":%u}\n", capacity, peak.p99_ms(), share,
              saturating);
  double baseline_p99_ms = 0;
  for (const uint32_t times : {1, 2, 5, 10}) {
    Tally outcome = load.come(static_cast<uint32_t>(capacity * seconds * times), time);
    const double goodput = static_cast<double>(outcome.served) / seconds, p99_ms = outcome.p99_ms();
    if (times == 1) baseline_p99_ms = p99_ms;
    std::printf("{\"bench\":\"overload\",\"times\":%u,\"per_second\":%.0f,\"of_peak\":%.3f,\"p99_ms\":%.1f,\"of_baseline_p99\":%.2f,"
                "\"refused\":%llu,\"without_retry_after\":%llu}\n",
                times, goodput, goodput / capacity, p99_ms, p99_ms / baseline_p99_ms, static_cast<unsigned long long>(outcome.refused),
                static_cast<unsigned long long>(outcome.unexplained));
    std::fflush(stdout);
  }
}
