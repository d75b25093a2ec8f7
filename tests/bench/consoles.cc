// coterie-bench-consoles: what open consoles cost a server, in shares of one core.
//
// A console's page keeps one stream of events open. `events` a second happen, each a job that an operator pauses or
// resumes, first with nobody who reads and then with `consoles` streams of all jobs' events, each a TLS connection with
// a reader that takes what comes. What requests and database cost is in both, so the difference is what consoles cost.
// Every reader has to hear the last event, or the run fails. Beside it stands what a send of an event to each reader
// costs here, without TLS and without a server.
#include <poll.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <thread>

#include "base/os/clock.h"
#include "device_sdk/transport/tls_socket.h"
#include "tests/bench/loopback_sends.h"
#include "tests/integration/support/admin.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace coterie;
using namespace coterie::integration;

constexpr Millis kPatience{60'000};
constexpr uint32_t kRecordBytes = 22;  // of TLS 1.3, around what it carries
constexpr uint32_t kSendRounds = 20;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "coterie-bench-consoles: %s\n", what.c_str());
  std::_Exit(1);  // readers wait for what does not come
}

// One open page: reads until the job was cancelled, and counts what it was told.
class Reader {
 public:
  Reader(const ServerProcess& server, std::shared_ptr<TlsTrust> trust) {
    auto socket = TlsSocket::connect("127.0.0.1", server.admin_port(), std::move(trust), kPatience, nullptr);
    if (!socket) die("connect: " + socket.error().message());
    socket_ = std::move(*socket);
    const std::string request =
        "GET /admin/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + server.admin_token() + "\r\n\r\n";
    if (const Status sent = socket_->write_all(as_bytes(request), kPatience); !sent) die(sent.error().message());
    read_until("event: begin");
    thread_ = std::thread([this] { read_until("\"cancelled\""); });
  }
  void wait() { thread_.join(); }
  uint64_t bytes() const { return bytes_; }

 private:
  void read_until(const std::string& text) {
    std::string last;
    std::array<uint8_t, 16 * 1024> piece;
    while (last.find(text) == std::string::npos) {
      const Result<size_t> count = socket_->read_some(piece, kPatience);
      if (!count || *count == 0) die("a stream ended before " + text + ": " + last);
      bytes_ += *count;
      last = last.substr(last.size() - std::min(last.size(), text.size()));
      last.append(as_text(ByteView(piece).first(*count)));
    }
  }

  std::unique_ptr<TlsSocket> socket_;
  std::atomic<uint64_t> bytes_{0};
  std::thread thread_;
};

struct Cost {
  double cores = 0;  // CPU seconds of the server a second
  double bytes = 0;  // that each reader was told
  uint64_t events = 0;
};

// For `seconds`, with so many readers.
Cost measure(uint32_t consoles, double events_per_second, double seconds) {
  test::TemporaryDirectory directory;
  auto started = ServerProcess::start({.data_dir = directory / "data", .config = {}});
  if (!started) die(started.error().message());
  ServerProcess& server = **started;
  Admin admin(server);
  const auto job = admin.create_job(flat_model(16), {{"name", "watched"}, {"privacy", {{"level", "none"}}}});
  if (!job) die(job.error().message());
  auto trust = TlsTrust::make(server.ca_pem());
  if (!trust) die(trust.error().message());
  std::vector<std::unique_ptr<Reader>> readers;
  for (uint32_t i = 0; i < consoles; ++i) readers.push_back(std::make_unique<Reader>(server, *trust));

  const auto change = [&](const char* how) {
    const auto changed = admin.ask("POST", "/admin/v1/jobs/" + *job + how);
    if (!changed) die(changed.error().message());
  };
  const Millis every(static_cast<int64_t>(1000 / events_per_second));
  const double cpu_before = server.cpu_seconds();
  const Instant begin = os::monotonic_now();
  Cost cost;
  for (Instant next = begin; next < begin + Millis(static_cast<int64_t>(seconds * 1000)); next += every) {
    ::poll(nullptr, 0, static_cast<int>(std::max(next - os::monotonic_now(), Millis(0)).count()));  // until it is time
    change(cost.events++ % 2 == 0 ? ":pause" : ":resume");
  }
  cost.cores = (server.cpu_seconds() - cpu_before) / std::chrono::duration<double>(os::monotonic_now() - begin).count();
  change(":cancel");
  for (const auto& reader : readers) {
    reader->wait();
    cost.bytes += static_cast<double>(reader->bytes()) / consoles;
  }
  return cost;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"coterie-bench-consoles: CPU that open consoles cost a server"};
  uint32_t consoles = 200;
  double events_per_second = 2, seconds = 30;
  app.add_option("--consoles", consoles, "open pages, each with a stream of all jobs' events");
  app.add_option("--events", events_per_second, "events a second");
  app.add_option("--seconds", seconds, "measured with readers, and without");
  CLI11_PARSE(app, argc, argv);
  const Cost none = measure(0, events_per_second, seconds), open = measure(consoles, events_per_second, seconds);
  const auto send = cpu_seconds_of_a_send(
      {.readers = consoles,
       .bytes = static_cast<uint32_t>(open.bytes / static_cast<double>(open.events)) + kRecordBytes,
       .rounds = kSendRounds,
       .every = Millis(static_cast<int64_t>(1000 / events_per_second))});
  if (!send) die(send.error().message());
  std::printf(
      "{\"bench\":\"consoles\",\"consoles\":%u,\"events_per_second\":%.1f,\"events\":%llu,\"cores_without\":%.4f,"
      "\"cores_with\":%.4f,\"cores\":%.4f,\"kb_a_reader\":%.1f,\"us_a_send\":%.1f,\"cores_of_sends\":%.4f}\n",
      consoles, events_per_second, static_cast<unsigned long long>(open.events), none.cores, open.cores,
      open.cores - none.cores, open.bytes / 1e3, *send * 1e6, *send * consoles * events_per_second);
}
