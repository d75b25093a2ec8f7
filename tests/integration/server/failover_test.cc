// Two servers of a fleet, on one PostgreSQL database: both talk to devices, one leads. The leader is killed or stopped
// in mid-round, the other goes on, and the one that comes back too late changes nothing.
#include <atomic>
#include <csignal>
#include <thread>

#include "base/os/file.h"
#include "base/random.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/one_hot_audit.h"
#include "tests/support/postgres_server.h"

namespace coterie::integration {
namespace {

constexpr uint32_t kDevices = 8;
constexpr size_t kValues = 16;
constexpr int kExitLeadLost = 75;
constexpr Millis kTakeoverMax{15'000};
constexpr Millis kJobMax{60'000};

// What a balancer would do: sends a device to the server that answers, the other one when that does not.
class EitherServer final : public Transport {
 public:
  explicit EitherServer(const std::vector<std::unique_ptr<ServerProcess>>& servers) {
    for (const auto& server : servers) clients_.push_back(connect_to(server->device_url(), server->ca_pem()));
  }
  Result<TransportResponse> send(const TransportRequest& request, const BodySink& sink) override {
    Result<TransportResponse> answer = clients_[at_]->send(request, sink);
    if (!answer || answer->status == 503) at_ = (at_ + 1) % clients_.size();
    return answer;
  }

 private:
  std::vector<std::unique_ptr<HttpsClient>> clients_;
  size_t at_ = 0;
};

class Failover : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::PostgresServer::is_installed())
      GTEST_SKIP() << "PostgreSQL is not installed: apt-get install postgresql";
    auto postgres = test::PostgresServer::start();
    ASSERT_TRUE(test::is_ok(postgres));
    postgres_ = std::move(*postgres);
    ASSERT_TRUE(
        test::is_ok(os::write_file_atomically(directory_ / "conninfo", as_bytes(postgres_->conninfo() + "\n"))));
    servers_.resize(2);
    ports_.resize(2);
    start(0);
    ASSERT_TRUE(leads(0));
    start(1);
    admin_ = std::make_unique<Admin>(*servers_[0]);
  }

  void start(size_t i) {
    const std::string name = i == 0 ? "a" : "b";
    const std::string config =
        "\"node\": \"" + name + "\", \"store\": {\"engine\": \"postgres\", \"conninfo_file\": \"" +
        (directory_ / "conninfo") + "\"}, \"keys_dir\": \"" + (directory_ / "keys") + "\", \"blobs_dir\": \"" +
        (directory_ / "blobs") + "\", \"lease\": {\"ttl_ms\": 1000, \"renew_ms\": 200}";
    auto started = ServerProcess::start({.data_dir = directory_ / name,
                                         .config = config,
                                         .device_port = ports_[i].first,
                                         .admin_port = ports_[i].second});
    ASSERT_TRUE(test::is_ok(started));
    servers_[i] = std::move(*started);
    ports_[i] = {servers_[i]->device_port(), servers_[i]->admin_port()};
  }
  bool leads(size_t i) { return servers_[i]->wait_for_log("\"server_leads\"", kTakeoverMax); }

  std::unique_ptr<RawDevice> enrolled_device() {
    auto device = std::make_unique<RawDevice>(std::make_unique<EitherServer>(servers_), KeyAlgorithm::ed25519);
    EXPECT_TRUE(test::is_ok(device->enroll(token_)));
    return device;
  }

  // Starts a server again that has given up, as whoever supervises it would, and asks the one that leads from now on.
  void tend() {
    for (size_t i = 0; i < servers_.size(); ++i) {
      if (servers_[i]->wait_for_log("\"server_gives_up\"", Millis(0))) {
        EXPECT_EQ(servers_[i]->wait(), kExitLeadLost);
        start(i);
      }
    }
    for (size_t i = 0; i < servers_.size(); ++i) {
      auto admin = std::make_unique<Admin>(*servers_[i]);
      const auto shown = admin->ask("GET", "/admin/v1/server");
      if (!shown || (*shown)["leads"] != true) continue;
      admin_ = std::move(admin);
      leader_ = i;
    }
  }

  // A job of `rounds`, devices that take part, and `disturb` again and again while it says so; the last round waits
  // for that. Then the audit.
  void run(uint32_t rounds, const std::function<bool()>& disturb, OneHotAudit& audit) {
    nlohmann::json spec = {{"rounds",
                            {{"count", rounds},
                             {"goal_count", kDevices - 2},
                             {"over_selection", 1.3},
                             {"pool_min", 2},
                             {"selecting_ms_max", 200},
                             {"collecting_ms_max", 3'000},
                             {"goal_count_min", 2},
                             {"attempts_max", 100}}},
                           {"privacy", {{"level", "none"}}}};
    const auto job = admin_->create_job(flat_model(kValues), spec);
    ASSERT_TRUE(test::is_ok(job));
    token_ = *admin_->create_token(1000);
    audit.hold_from(ModelVersion(rounds - 1));
    std::vector<std::unique_ptr<RawDevice>> devices;
    for (uint32_t i = 0; i < kDevices; ++i) devices.push_back(enrolled_device());
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kDevices; ++i) threads.emplace_back([&, i] { take_part(*devices[i], i, kValues, audit); });
    const auto state = [&]() -> std::string {
      const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + *job);
      return shown ? (*shown)["state"].get<std::string>() : "unknown";
    };
    const Instant until = os::monotonic_now() + kJobMax;
    for (bool goes_on = true; !HasFatalFailure();) {
      if (os::monotonic_now() > until) {
        ADD_FAILURE() << "the job does not end\n" << servers_[0]->log() << "\n" << servers_[1]->log();
        break;
      }
      const std::string now = state();
      if (now == "completed" || now == "failed") break;
      if (now == "unknown") tend();
      audit.wait_for_receipts(1 + prng_.below(5));
      if (goes_on && state() == "running") goes_on = disturb();
      if (!goes_on) audit.release();
    }
    audit.finish();
    for (std::thread& thread : threads) thread.join();
    audit.check(*admin_, *job, rounds, kDevices);
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<test::PostgresServer> postgres_;
  std::vector<std::unique_ptr<ServerProcess>> servers_;
  std::vector<std::pair<uint16_t, uint16_t>> ports_;
  std::unique_ptr<Admin> admin_;  // of the one that leads
  size_t leader_ = 0;
  std::string token_;
  Prng prng_{20261123};
};

TEST_F(Failover, OneLeadsAndBothTalkToDevices) {
  Admin standby(*servers_[1]);
  const auto shown = standby.ask("GET", "/admin/v1/server");
  ASSERT_TRUE(test::is_ok(shown));
  EXPECT_EQ((*shown)["leads"], false);
  EXPECT_EQ((*admin_->ask("GET", "/admin/v1/server"))["leads"], true);
  EXPECT_EQ(standby.call("GET", "/readyz")->status, 200);
  EXPECT_EQ(admin_->call("GET", "/readyz")->status, 200);
  EXPECT_EQ(standby.call("GET", "/admin/v1/jobs")->status, 503);
  EXPECT_EQ(standby.call("GET", "/metrics")->status, 200);
  RawDevice device(servers_[1]->device_url(), servers_[1]->ca_pem());
  EXPECT_TRUE(test::is_ok(device.enroll(*admin_->create_token(1))));
  servers_[1]->signal(SIGTERM);
  EXPECT_EQ(servers_[1]->wait(), 0) << servers_[1]->log();
  EXPECT_EQ(admin_->call("GET", "/readyz")->status, 200) << "nobody else noticed";
}

TEST_F(Failover, ALeaderThatStopsHandsTheLeadOver) {
  servers_[0]->signal(SIGTERM);
  EXPECT_TRUE(leads(1));
  EXPECT_EQ(servers_[0]->wait(), 0);
}

TEST_F(Failover, KilledLeadersLoseNobodyWhoWasToldAccepted) {
  uint32_t kills = 0;
  OneHotAudit audit;
  const auto kill = [&] {
    servers_[leader_]->kill();
    const size_t other = 1 - leader_;
    EXPECT_TRUE(leads(other)) << servers_[other]->log();
    start(leader_);
    leader_ = other;
    admin_ = std::make_unique<Admin>(*servers_[leader_]);
    return ++kills < 5 && !HasFailure();
  };
  run(20, kill, audit);
  EXPECT_EQ(kills, 5u);
}

// As long as it is stopped it knows nothing; when it goes on it is late, whatever it was about to do.
TEST_F(Failover, AStoppedLeaderChangesNothingWhenItWakesUp) {
  uint32_t stops = 0;
  OneHotAudit audit;
  const auto stop = [&] {
    servers_[leader_]->signal(SIGSTOP);
    const size_t other = 1 - leader_;
    EXPECT_TRUE(leads(other)) << servers_[other]->log();
    servers_[leader_]->signal(SIGCONT);
    EXPECT_EQ(servers_[leader_]->wait(), kExitLeadLost) << servers_[leader_]->log();
    start(leader_);
    leader_ = other;
    admin_ = std::make_unique<Admin>(*servers_[leader_]);
    return ++stops < 4 && !HasFailure();
  };
  run(16, stop, audit);
  EXPECT_EQ(stops, 4u);
}

// The database goes away and comes back: the round is held up, and goes on.
TEST_F(Failover, ADatabaseThatCrashesHoldsTheRoundUp) {
  uint32_t crashes = 0;
  OneHotAudit audit;
  const auto crash = [&] {
    // The leader goes on in time, or gives up the lead and is tended to.
    EXPECT_TRUE(test::is_ok(postgres_->restart()));
    return ++crashes < 3 && !HasFailure();
  };
  run(12, crash, audit);
  EXPECT_EQ(crashes, 3u);
}

}  // namespace
}  // namespace coterie::integration
