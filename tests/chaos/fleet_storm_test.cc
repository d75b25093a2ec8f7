// A storm over a whole fleet: two schedulers, four servers, a real PostgreSQL that each of them reaches through a proxy
// of its own, and devices that go on whatever happens. Processes are killed, stopped and drained, the database crashes,
// stalls and loses connections, members are cut off from it, from each other and from everybody; several of these at a
// time. Then everything is mended: rounds must go on, whoever holds a receipt is in the sum, and nobody twice. A second
// storm is over a masked job: a session dies with its leader or its devices' connections, and what sums are opened are
// compared lane by lane with what their devices sent in that attempt.
//
// Members are hosts of a network of their own, in network namespaces, where root may make them; elsewhere links do not
// fail.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <deque>
#include <functional>
#include <map>
#include <thread>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/random.h"
#include "tests/chaos/fault_proxy.h"
#include "tests/chaos/network_hosts.h"
#include "tests/chaos/stride.h"
#include "tests/integration/support/local_fleet.h"
#include "tests/integration/support/one_hot_audit.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::chaos {
namespace {

using namespace coterie::integration;

constexpr uint32_t kDevices = kIsNight ? 300 : 40;
constexpr uint32_t kMaskedDevices = 40;
constexpr size_t kValues = kIsNight ? 304 : 48;
constexpr uint32_t kSteps = kIsNight ? 30 : 6;
constexpr uint32_t kSeeds = kIsNight ? 3 : 1;
constexpr Millis kPatience{120'000};

// A device that got no answer, or a refusal, comes back in its own time, as the SDK's do.
void live(RawDevice& device, uint32_t index, OneHotAudit& audit) {
  Prng prng(index);
  std::vector<float> values(kValues);
  values[index] = 1.0f;
  const auto back_off = [&] { audit.rest(Millis(50 + static_cast<int64_t>(prng.below(450)))); };
  while (audit.wait_until_open()) {
    const auto answer = device.api().check_in(device.id(), {Population("default"), "storm", 2'000});
    const auto* assignment = std::get_if<Assignment>(&answer);
    if (assignment == nullptr) {
      back_off();
      continue;
    }
    while (audit.wait_until_open()) {  // the same update until it is decided
      const auto outcome = device.upload(*assignment, values);
      if (std::holds_alternative<Receipt>(outcome)) {
        audit.acknowledged(assignment->round, index);
        break;
      }
      const RetryClass retry = traits(std::get<Failure>(outcome).error.code()).retry;
      if (retry == RetryClass::never || retry == RetryClass::check_in) break;
      back_off();
    }
  }
}

enum class Updates : uint8_t { plain, masked };

constexpr uint32_t devices_of(Updates updates) { return updates == Updates::masked ? kMaskedDevices : kDevices; }

nlohmann::json spec_of(Updates updates) {
  const uint32_t devices = devices_of(updates);
  nlohmann::json spec = {{"rounds",
                          {{"count", 100'000},
                           {"goal_count", devices / 2},
                           {"over_selection", 1.3},
                           {"pool_min", devices / 4},
                           {"goal_count_min", 2},
                           {"selecting_ms_max", 1'000},
                           {"collecting_ms_max", 6'000},
                           {"retry_delay_ms", 100},
                           {"attempts_max", 1'000}}},
                         {"privacy", {{"level", "none"}}}};
  if (updates == Updates::masked) {
    spec["rounds"].update({{"goal_count", devices / 4}, {"goal_count_min", devices / 8}, {"over_selection", 1.2}});
    spec["privacy"] = {{"level", "active"},
                       {"cohort_min", devices / 8},
                       {"corrupt_share", 0.1},
                       {"dropout_share", 0.3},
                       {"phase_ms_max", 2'000}};
  }
  return spec;
}

class FleetStorm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::PostgresServer::is_installed())
      GTEST_SKIP() << "PostgreSQL is not installed: apt-get install postgresql";
  }
  void TearDown() override {
    audit_.finish();
    for (std::thread& thread : threads_) thread.join();
  }

  void start(Updates updates) {
    device_count_ = devices_of(updates);
    auto hosts = NetworkHosts::make();
    if (hosts) hosts_ = std::move(*hosts);
    else std::printf("links do not fail here: %s\n", hosts.error().message().c_str());
    LocalFleetOptions options;
    options.conninfo_of = [this](const std::string& member, const test::PostgresServer& postgres) {
      std::unique_ptr<FaultProxy>& proxy = proxies_[member];
      const std::string directory = directory_ / member;
      if (!proxy) {
        EXPECT_OK(os::make_directories(directory));
        proxy = std::move(*FaultProxy::start({.path = directory + "/.s.PGSQL.5432"}, {.path = postgres.socket_path()}));
      }
      return "host=" + directory + " user=coterie dbname=postgres connect_timeout=2";
    };
    if (hosts_) {
      options.host_of = [this](const std::string& member) {
        const auto host = hosts_->host(member);
        EXPECT_OK(host);
        return host ? MemberHost{host->address, host->network_namespace} : MemberHost{};
      };
    }
    auto fleet = LocalFleet::start(options);
    ASSERT_OK(fleet);
    fleet_ = std::move(*fleet);
    const auto job = fleet_->admin().create_job(flat_model(kValues), spec_of(updates));
    ASSERT_OK(job);
    job_ = *job;
    for (uint32_t i = 0; i < device_count_; ++i) {
      devices_.push_back(fleet_->enrolled_device());
      ASSERT_NE(devices_.back(), nullptr) << fleet_->logs();
    }
    for (uint32_t i = 0; i < device_count_; ++i) {
      threads_.emplace_back([this, i, updates] {
        if (updates == Updates::masked) take_masked_parts(*devices_[i], i, kValues, audit_);
        else live(*devices_[i], i, audit_);
      });
    }
  }

  std::string random_member(Prng& prng) const {
    return std::next(proxies_.begin(), static_cast<ptrdiff_t>(prng.below(proxies_.size())))->first;
  }

  // ---- What happens. Each says how it is mended, if it does not pass by itself.
  using Mend = std::function<void()>;

  // Nobody, if who is meant does not run.
  ServerProcess* random_server(Prng& prng) {
    const size_t i = prng.below(fleet_->server_count());
    return fleet_->server_runs(i) ? &fleet_->server(i) : nullptr;
  }
  ServerProcess* random_scheduler(Prng& prng) {
    const size_t i = prng.below(fleet_->scheduler_count());
    return fleet_->scheduler_runs(i) ? &fleet_->scheduler(i) : nullptr;
  }
  // Who cannot reach the database ends at once, and is started again later, as by a supervisor.
  Mend revive() {
    return [this] { (void)fleet_->revive(); };
  }
  Mend kill_someone(Prng& prng) {
    ServerProcess* const who = prng.below(3) == 0 ? random_scheduler(prng) : random_server(prng);
    if (who != nullptr) who->kill();
    return revive();
  }
  Mend drain_server(Prng& prng) {
    ServerProcess* const who = random_server(prng);
    if (who != nullptr) who->signal(SIGTERM);
    return revive();
  }
  Mend stop_someone(Prng& prng) {
    const ServerProcess* const who = prng.below(2) == 0 ? random_scheduler(prng) : random_server(prng);
    const int pid = who == nullptr ? -1 : who->pid();
    if (pid > 0) ::kill(pid, SIGSTOP);
    return [pid] {
      if (pid > 0) ::kill(pid, SIGCONT);
    };
  }
  Mend cut_off_someone(Prng& prng) {
    FaultProxy& proxy = *proxies_.at(random_member(prng));
    proxy.arm(
        {.kind = prng.below(2) == 0 ? FaultKind::blackhole : FaultKind::stall, .direction = Direction::to_server});
    return [&proxy] { proxy.clear(); };
  }
  Mend take_a_link_down(Prng& prng) {
    const std::string member = random_member(prng);
    EXPECT_OK(hosts_->set_link(member, false));
    return [this, member] { EXPECT_OK(hosts_->set_link(member, true)); };
  }
  Mend let_a_link_flap(Prng& prng) {
    const std::string member = random_member(prng);
    for (int i = 0; i < 5; ++i) {
      EXPECT_OK(hosts_->set_link(member, false));
      audit_.wait_for_receipts(1);
      EXPECT_OK(hosts_->set_link(member, true));
    }
    return [] {};
  }
  // The schedulers and some servers lose each other; devices still reach all of them.
  Mend part(Prng& prng) {
    std::set<std::string> parted;
    for (const auto& [member, proxy] : proxies_) {
      if (member.starts_with("scheduler") || prng.below(2) == 0) parted.insert(member);
    }
    EXPECT_OK(hosts_->part(parted));
    return [this] { EXPECT_OK(hosts_->part({})); };
  }
  Mend lose_connections(Prng& prng) {
    for (auto& [member, proxy] : proxies_) {
      if (prng.below(2) == 0)
        proxy->arm({.kind = FaultKind::reset, .direction = Direction::to_client, .pattern = "COMMIT"});
      else proxy->reset_all();
    }
    return [] {};
  }
  Mend crash_database(Prng&) {
    fleet_->postgres().crash();
    EXPECT_OK(fleet_->postgres().restart());
    return [] {};
  }
  Mend stall_database(Prng&) {
    fleet_->postgres().stall();
    audit_.wait_for_receipts(1);
    fleet_->postgres().go_on();
    return [] {};
  }

  void storm(uint32_t seed) {
    Prng prng(seed);
    std::vector<std::pair<const char*, Mend (FleetStorm::*)(Prng&)>> events = {
        {"kill", &FleetStorm::kill_someone},
        {"drain", &FleetStorm::drain_server},
        {"stop", &FleetStorm::stop_someone},
        {"cut off", &FleetStorm::cut_off_someone},
        {"reset", &FleetStorm::lose_connections},
        {"database crash", &FleetStorm::crash_database},
        {"database stall", &FleetStorm::stall_database}};
    if (hosts_) {
      events.insert(events.end(), {{"link down", &FleetStorm::take_a_link_down},
                                   {"link flaps", &FleetStorm::let_a_link_flap},
                                   {"parted", &FleetStorm::part}});
    }
    std::deque<Mend> open;
    for (uint32_t step = 0; step < kSteps && !HasFatalFailure(); ++step) {
      const size_t which = step < events.size() ? step : prng.below(events.size());  // each at least once
      open.push_back((this->*events[which].second)(prng));
      ++happened_[events[which].first];
      audit_.wait_for_receipts(1 + prng.below(device_count_ / 2));
      while (open.size() > prng.below(3)) {
        open.front()();
        open.pop_front();
      }
      if ((step + 1) % 10 == 0)
        std::printf("seed %u, step %u: %llu receipts\n", seed, step + 1,
                    static_cast<unsigned long long>(audit_.receipts()));
      std::fflush(stdout);
    }
    for (const Mend& mend : open) mend();
    for (auto& [member, proxy] : proxies_) proxy->clear();
    if (hosts_) EXPECT_OK(hosts_->mend());
  }

  // Rounds end again, by themselves.
  void expect_progress() {
    std::optional<uint64_t> goal;
    const Instant until = os::monotonic_now() + kPatience;
    while (os::monotonic_now() < until) {
      if (!fleet_->revive() || !fleet_->leader()) continue;
      const auto shown = fleet_->admin().ask("GET", "/admin/v1/jobs/" + job_);
      if (shown) {
        ASSERT_EQ((*shown)["state"], "running") << shown->dump();
        const uint64_t done = (*shown)["rounds_done"];
        if (!goal) goal = done + 2;
        if (done >= *goal) return;
      }
      audit_.wait_for_receipts(1);
    }
    ADD_FAILURE() << "no round ends after the storm\n" << fleet_->logs();
  }

  void run(Updates updates) {
    start(updates);
    if (HasFatalFailure()) return;
    for (uint32_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      storm(seed);
      expect_progress();
    }
    audit_.finish();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    const uint64_t rounds = updates == Updates::masked ? audit_.check_masked(fleet_->admin(), job_, device_count_)
                                                       : audit_.check_done(fleet_->admin(), job_, device_count_);
    EXPECT_GE(rounds, 2u);
    std::printf("%u seeds, %u devices: %llu rounds, %llu receipts;", kSeeds, device_count_,
                static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(audit_.receipts()));
    for (const auto& [name, count] : happened_) std::printf(" %s %u", name.c_str(), count);
    std::printf("\n");
    if (HasFailure()) std::fprintf(stderr, "%s\n", fleet_->logs().c_str());
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<NetworkHosts> hosts_;
  std::map<std::string, std::unique_ptr<FaultProxy>> proxies_;  // by member
  std::unique_ptr<LocalFleet> fleet_;
  OneHotAudit audit_;
  std::string job_;
  uint32_t device_count_ = 0;
  std::vector<std::unique_ptr<RawDevice>> devices_;
  std::vector<std::thread> threads_;
  std::map<std::string, uint32_t> happened_;
};

TEST_F(FleetStorm, LosesNobodyWhoWasToldAcceptedAndCountsNobodyTwice) { run(Updates::plain); }

TEST_F(FleetStorm, OpensNoMaskedSumButThatOfItsDevices) { run(Updates::masked); }

}  // namespace
}  // namespace coterie::chaos
