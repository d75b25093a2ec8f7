#include "tests/integration/support/local_fleet.h"

#include <csignal>

#include "base/os/clock.h"
#include "base/os/file.h"

namespace coterie::integration {
namespace {

constexpr Millis kLeadMax{20'000};

}  // namespace

// One device's way to the fleet.
class LocalFleet::Balancer final : public Transport {
 public:
  Balancer(LocalFleet& fleet, size_t first) : fleet_(fleet), at_(first) {}

  Result<TransportResponse> send(const TransportRequest& request, const BodySink& sink) override {
    follow();
    if (clients_.empty()) return Error(ErrorCode::unavailable, "no server runs");
    Result<TransportResponse> answer = Error(ErrorCode::unavailable, "no server answers");
    for (size_t tries = 0; tries < clients_.size(); ++tries) {
      HttpsClient& client = *clients_[at_++ % clients_.size()];
      answer = client.send(request, sink);
      if (answer && answer->status != 503) return answer;
    }
    return answer;
  }

 private:
  void follow() {
    const std::lock_guard lock(fleet_.urls_mutex_);
    if (epoch_ == fleet_.epoch_) return;
    epoch_ = fleet_.epoch_;
    clients_.clear();
    for (const auto& [url, ca_pem] : fleet_.urls_) clients_.push_back(connect_to(url, ca_pem));
  }

  LocalFleet& fleet_;
  size_t at_;
  uint64_t epoch_ = 0;
  std::vector<std::unique_ptr<HttpsClient>> clients_;
};

Result<std::unique_ptr<LocalFleet>> LocalFleet::start(const LocalFleetOptions& options) {
  std::unique_ptr<LocalFleet> fleet(new LocalFleet());
  fleet->options_ = options;
  COT_ASSIGN(fleet->postgres_, test::PostgresServer::start());
  for (size_t i = 0; i < options.schedulers; ++i) {
    fleet->schedulers_.push_back({.name = "scheduler-" + std::to_string(i), .process = nullptr});
    COT_TRY(fleet->launch(fleet->schedulers_.back(), "scheduler"));
  }
  for (size_t i = 0; i < options.servers; ++i) COT_TRY(fleet->add_server());
  COT_ASSIGN(const size_t leader, fleet->leader());
  (void)leader;
  return fleet;
}

Status LocalFleet::launch(Member& member, const std::string& role) {
  member.process.reset();
  const std::string conninfo_file = directory_ / ("conninfo-" + member.name);
  const std::string conninfo =
      options_.conninfo_of ? options_.conninfo_of(member.name, *postgres_) : postgres_->conninfo();
  COT_TRY(os::write_file_atomically(conninfo_file, as_bytes(conninfo + "\n")));
  std::string config = R"("role": ")" + role + R"(", "node": ")" + member.name +
                       R"(", "store": {"engine": "postgres", "conninfo_file": ")" + conninfo_file +
                       R"("}, "keys_dir": ")" + (directory_ / "keys") + R"(", "blobs_dir": ")" +
                       (directory_ / "blobs") +
                       R"(", "lease": {"ttl_ms": 1000, "renew_ms": 200},
           "fleet": {"poll_ms": 20, "silence_ms_max": 1000}, "threads": 1)";
  const MemberHost host = options_.host_of ? options_.host_of(member.name) : MemberHost{};
  config += R"(, "peer": {"address": ")" + host.address + "\"}";
  if (role == "serving") config += R"(, "serving": {"port": 0, "workers": 1})";
  if (!options_.config.empty()) config += ", " + options_.config;
  COT_ASSIGN(member.process, ServerProcess::start({.data_dir = directory_ / member.name,
                                                   .config = config,
                                                   .device_port = member.device_port,
                                                   .admin_port = member.admin_port,
                                                   .environment = {},
                                                   .address = host.address,
                                                   .network_namespace = host.network_namespace}));
  member.admin_port = member.process->admin_port();
  if (role == "server") member.device_port = member.process->device_port();
  const std::lock_guard lock(urls_mutex_);
  ++epoch_;
  urls_.clear();
  for (const Member& server : servers_) {
    if (server.process) urls_.emplace_back(server.process->device_url(), server.process->ca_pem());
  }
  return {};
}

Status LocalFleet::add_server() {
  servers_.push_back({.name = "server-" + std::to_string(servers_.size()), .process = nullptr});
  return launch(servers_.back(), "server");
}

Status LocalFleet::add_serving_node() { return launch(serving_, "serving"); }

Status LocalFleet::restart_server(size_t i) { return launch(servers_[i], "server"); }
Status LocalFleet::restart_scheduler(size_t i) { return launch(schedulers_[i], "scheduler"); }
Result<size_t> LocalFleet::revive() {
  size_t count = 0;
  Status all;
  for (auto* members : {&schedulers_, &servers_}) {
    for (Member& member : *members) {
      if (member.process && !member.process->ends_within(Millis(0))) continue;
      const Status launched = launch(member, members == &schedulers_ ? "scheduler" : "server");
      if (launched) ++count;
      else all = launched;
    }
  }
  if (!all) return all.error();
  return count;
}

void LocalFleet::kill_server(size_t i) { servers_[i].process->kill(); }
void LocalFleet::kill_scheduler(size_t i) { schedulers_[i].process->kill(); }

Result<Millis> LocalFleet::drain_server(size_t i) {
  const Instant begin = os::monotonic_now();
  servers_[i].process->signal(SIGTERM);
  const int status = servers_[i].process->wait();
  const Millis took = std::chrono::duration_cast<Millis>(os::monotonic_now() - begin);
  if (status != 0)
    return Error(ErrorCode::internal, "a server that was told to stop ended with " + std::to_string(status));
  const std::lock_guard lock(urls_mutex_);
  ++epoch_;
  const std::string url = servers_[i].process->device_url();
  std::erase_if(urls_, [&](const auto& entry) { return entry.first == url; });
  return took;
}

Result<size_t> LocalFleet::leader() {
  const Instant until = os::monotonic_now() + kLeadMax;
  while (os::monotonic_now() < until) {
    for (size_t i = 0; i < schedulers_.size(); ++i) {
      if (!schedulers_[i].process || schedulers_[i].process->wait_for_log("\"server_gives_up\"", Millis(0))) {
        COT_TRY(restart_scheduler(i));
      }
      auto admin = std::make_unique<Admin>(*schedulers_[i].process);
      const auto shown = admin->ask("GET", "/admin/v1/server");
      if (!shown || (*shown)["leads"] != true) continue;
      admin_ = std::move(admin);
      return i;
    }
  }
  return Error(ErrorCode::timed_out, "nobody leads\n" + logs());
}

std::unique_ptr<Transport> LocalFleet::balancer() {
  static std::atomic<size_t> next{0};
  return std::make_unique<Balancer>(*this, next++);
}

std::unique_ptr<RawDevice> LocalFleet::enrolled_device(KeyAlgorithm algorithm) {
  if (token_.empty()) token_ = *admin_->create_token(1000);
  auto device = std::make_unique<RawDevice>(balancer(), algorithm);
  const Status enrolled = device->enroll(token_);
  return enrolled ? std::move(device) : nullptr;
}

std::string LocalFleet::logs() const {
  std::string text;
  for (const auto* members : {&schedulers_, &servers_}) {
    for (const Member& member : *members) {
      text += "---- " + member.name + "\n" + (member.process ? member.process->log() : "does not run\n");
    }
  }
  return text;
}

}  // namespace coterie::integration
