// coterie-bench-serving: what a request to a served model costs the server.
//
// Server and clients are one process: the server's CPU seconds are the process's less those of the threads that ask.
// Clients keep connections open and send the protocol's JSON, one example of the demo's cnn on 8 x 8 images at a time;
// every answer is read whole and compared with what the model says.
//
// Everything is measured by turns for a server whose network threads compute small models themselves, and for one where
// workers compute all. Latency stands beside that of an answer without a model (/v2/health/live) at the same pace: what
// sockets, scheduling and the clients take.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "base/json/json_scanner.h"
#include "base/os/clock.h"
#include "base/random.h"
#include "fl_server/net/http_server.h"
#include "fl_server/serving/model_server.h"
#include "tests/bench/serving_client.h"
#include "tests/bench/thread_time.h"
#include "tools/model/zoo.h"

namespace {

using namespace coterie;
using bench::ServingClient;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kModels = 4;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "coterie-bench-serving: %s\n", what.c_str());
  std::exit(1);
}

double process_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

// By a poll of nothing, to some microseconds: see exact_rests().
void rest_until(Clock::time_point when) {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(when - Clock::now()).count();
  if (left <= 0) return;
  const timespec time{left / 1'000'000'000, left % 1'000'000'000};
  ::ppoll(nullptr, 0, &time, nullptr);
}

// Otherwise the system adds up to 50 us to every rest of this thread.
void exact_rests() { ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

double quantile(std::vector<double>& values, double share) {
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

// The models, and what each says of the example that is asked.
struct Known {
  std::vector<Bytes> files;
  std::vector<std::vector<float>> answers;
  std::string request;
  const std::string health = "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n";
  double compute_us = 0;  // of one example, one thread

  static Known make() {
    Known known;
    Prng prng(1);
    std::vector<float> example(64);
    for (float& value : example) value = static_cast<float>(prng.below(17)) / 16.0f;
    std::string data;
    for (const float value : example) data += (data.empty() ? "" : ",") + std::to_string(value).substr(0, 6);
    const std::string body =
        R"({"inputs":[{"name":"input","shape":[1,8,8,1],"datatype":"FP32","data":[)" + data + "]}]}";
    known.request = "POST /v2/models/cnn/infer HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
                    "\r\n\r\n" + body;
    for (uint64_t seed = 0; seed < kModels; ++seed) {
      known.files.push_back(*make_model(ModelKind::cnn, {8, 8, 1}, 10, seed));
      const auto version = ServedVersion::load(known.files.back(), 1, {});
      if (!version) die(version.error().message());
      known.answers.emplace_back(10);
      const auto ask = [&] { return (*version)->run(0, {{std::span<const float>(example)}}, 1, known.answers.back()); };
      if (!ask()) die("the model does not run");
      if (seed > 0) continue;
      constexpr int kRuns = 2000;
      const double began = bench::thread_cpu_seconds();
      for (int i = 0; i < kRuns; ++i) (void)ask();
      known.compute_us = 1e6 * (bench::thread_cpu_seconds() - began) / kRuns;
    }
    return known;
  }

  // Whether the body is what the version that it names says.
  bool is_right(std::string_view body) const {
    const size_t version = body.find("\"model_version\":\""), data = body.find("\"data\":[");
    if (version == body.npos || data == body.npos) return false;
    const std::vector<float>& right = answers[std::strtoull(body.data() + version + 17, nullptr, 10) % kModels];
    JsonScanner json(body.substr(data + 7));
    size_t i = 0;
    const bool good = json.array([&] {
      float value = 0;
      return json.number(value) && i < right.size() && value == right[i++];
    });
    return good && i == right.size();
  }
};

struct Served {
  Metrics metrics{"bench"};
  ModelServer server;
  HttpServer http;
  uint16_t port = 0;

  Served(const Known& known, uint32_t network_threads, std::chrono::nanoseconds at_once_max)
      : server(
            {.versions_kept = 1, .service = {.version = "bench", .limits = {}, .router = {.at_once_max = at_once_max}}},
            metrics),
        http(network_threads, metrics) {
    if (!server.publish("cnn", known.files[0], 0)) die("the model cannot be served");
    const auto listening = http.listen({"serving", "127.0.0.1", 0, {}}, nullptr, server.service());
    if (!listening) die(listening.error().message());
    port = *listening;
    http.start();
  }
  ~Served() {
    server.stop();
    http.stop();
  }
};

struct Load {
  double seconds = 0, server_cpu_seconds = 0;
  uint64_t answers = 0, wrong = 0;
};

// Each thread has so many connections, with a request under way on each all the time.
Load full_load(const Known& known, const Served& served, uint32_t threads, uint32_t connections, double seconds) {
  std::atomic<uint64_t> answers{0}, wrong{0};
  std::atomic<double> client_cpu{0};
  std::vector<std::thread> askers;
  const double cpu_before = process_cpu_seconds();
  const auto began = Clock::now();
  for (uint32_t t = 0; t < threads; ++t) {
    askers.emplace_back([&] {
      const double before = bench::thread_cpu_seconds();
      std::vector<ServingClient> clients;
      for (uint32_t c = 0; c < connections; ++c) clients.push_back(ServingClient(served.port));
      for (ServingClient& client : clients) client.send(known.request);
      while (seconds_since(began) < seconds) {
        for (ServingClient& client : clients) {
          wrong += !known.is_right(client.read_body());
          ++answers;
          client.send(known.request);
        }
      }
      for (ServingClient& client : clients) (void)client.read_body();
      client_cpu += bench::thread_cpu_seconds() - before;
    });
  }
  for (std::thread& asker : askers) asker.join();
  return {seconds_since(began), process_cpu_seconds() - cpu_before - client_cpu, answers, wrong};
}

// Seconds of each request, from when it should have been sent: until it was, which is the clients' own doing, and until
// it was answered.
struct Paced {
  std::vector<double> sent, answered;
};

// Requests come at a steady rate, whether those before are answered or not.
Paced paced_load(const std::string& request, const Served& served, uint32_t threads, double per_second,
                 double seconds) {
  std::vector<Paced> taken(threads);
  std::vector<std::thread> askers;
  const auto began = Clock::now();
  for (uint32_t t = 0; t < threads; ++t) {
    askers.emplace_back([&, t] {
      exact_rests();
      ServingClient client(served.port);
      const double every = threads / per_second;
      for (double due = every * (t + 1) / threads; due < seconds; due += every) {
        const auto when = began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(due));
        rest_until(when);
        taken[t].sent.push_back(seconds_since(when));
        client.send(request);
        (void)client.read_body();
        taken[t].answered.push_back(seconds_since(when));
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  Paced all;
  for (const Paced& some : taken) {
    all.sent.insert(all.sent.end(), some.sent.begin(), some.sent.end());
    all.answered.insert(all.answered.end(), some.answered.begin(), some.answered.end());
  }
  return all;
}

// One request behind the other, and none beside it.
std::vector<double> lone_requests(const std::string& request, const Served& served, double seconds) {
  ServingClient client(served.port);
  std::vector<double> taken;
  const auto began = Clock::now();
  while (seconds_since(began) < seconds) {
    const auto sent = Clock::now();
    client.send(request);
    (void)client.read_body();
    taken.push_back(seconds_since(sent));
  }
  return taken;
}

// Versions are switched as fast as answers come, while clients ask all the time.
Load switched_load(const Known& known, Served& served, uint32_t threads, uint64_t switches) {
  std::atomic<uint64_t> answers{0}, wrong{0};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> askers;
  for (uint32_t t = 0; t < threads; ++t) {
    askers.emplace_back([&] {
      ServingClient client(served.port);
      while (!is_over) {
        client.send(known.request);
        wrong += !known.is_right(client.read_body());
        ++answers;
      }
    });
  }
  const auto began = Clock::now();
  for (uint64_t number = 1; number <= switches; ++number) {
    const uint64_t before = answers;
    if (!served.server.publish("cnn", known.files[number % kModels], number)) die("a version cannot be served");
    while (answers == before) std::this_thread::yield();
  }
  is_over = true;
  for (std::thread& asker : askers) asker.join();
  return {seconds_since(began), 0, answers, wrong};
}

// How long one way to serve takes, or an answer without a model: microseconds of each turn.
struct Latency {
  std::vector<double> p50, p99;
  void add(std::vector<double> taken) {
    p50.push_back(1e6 * quantile(taken, 0.5));
    p99.push_back(1e6 * quantile(taken, 0.99));
  }
  void print(const char* name) {
    std::printf(",\"%s_p50_us\":%.0f,\"%s_p99_us\":%.0f", name, quantile(p50, 0.5), name, quantile(p99, 0.5));
  }
};

double per_second(const Load& load) { return static_cast<double>(load.answers) / load.seconds; }
double per_cpu_second(const Load& load) { return static_cast<double>(load.answers) / load.server_cpu_seconds; }

const Load& median(std::vector<Load>& loads) {
  std::ranges::sort(loads, {}, &per_cpu_second);
  return loads[loads.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"coterie-bench-serving: JSON requests to a served model per server CPU second, and their latency"};
  uint32_t threads = 2, connections = 32, network_threads = 2, turns = 3;
  double seconds = 4;
  uint64_t switches = 1'000;
  app.add_option("--threads", threads, "that ask");
  app.add_option("--connections", connections, "of each");
  app.add_option("--network-threads", network_threads, "of the server");
  app.add_option("--seconds", seconds, "of each measurement");
  app.add_option("--turns", turns, "how often each is measured; medians count");
  app.add_option("--switches", switches, "of versions, under load");
  CLI11_PARSE(app, argc, argv);
  const Known known = Known::make();
  Served at_once(known, network_threads, kAtOnceMax), by_workers(known, network_threads, std::chrono::nanoseconds(0));
  std::vector<Load> loads, worker_loads;
  for (uint32_t turn = 0; turn < turns; ++turn) {
    loads.push_back(full_load(known, at_once, threads, connections, seconds));
    worker_loads.push_back(full_load(known, by_workers, threads, connections, seconds));
  }
  const Load &full = median(loads), &worker_full = median(worker_loads);
  const double pace = per_second(full) / 2;
  Latency half, half_sent, worker_half, health_half, lone, worker_lone, health_lone;
  for (uint32_t turn = 0; turn < turns; ++turn) {
    Paced paced = paced_load(known.request, at_once, 8, pace, seconds);
    half.add(std::move(paced.answered));
    half_sent.add(std::move(paced.sent));
    worker_half.add(paced_load(known.request, by_workers, 8, pace, seconds).answered);
    health_half.add(paced_load(known.health, at_once, 8, pace, seconds).answered);
    lone.add(lone_requests(known.request, at_once, seconds / 4));
    worker_lone.add(lone_requests(known.request, by_workers, seconds / 4));
    health_lone.add(lone_requests(known.health, at_once, seconds / 4));
  }
  const Load switched = switched_load(known, at_once, threads + 1, switches);
  std::printf(
      "{\"bench\":\"serving\",\"connections\":%u,\"per_second\":%.0f,\"per_cpu_second\":%.0f,\"compute_us\":%.1f,"
      "\"by_workers_per_second\":%.0f,\"by_workers_per_cpu_second\":%.0f",
      threads * connections, per_second(full), per_cpu_second(full), known.compute_us, per_second(worker_full),
      per_cpu_second(worker_full));
  half.print("half_load");
  half_sent.print("half_load_sent");
  worker_half.print("half_load_by_workers");
  health_half.print("half_load_health");
  lone.print("lone");
  worker_lone.print("lone_by_workers");
  health_lone.print("lone_health");
  std::printf(",\"wrong\":%llu,\"switches\":%llu,\"switch_answers\":%llu,\"switch_wrong\":%llu}\n",
              static_cast<unsigned long long>(full.wrong + worker_full.wrong),
              static_cast<unsigned long long>(switches), static_cast<unsigned long long>(switched.answers),
              static_cast<unsigned long long>(switched.wrong));
}
