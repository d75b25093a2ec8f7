// LocalFleet: a fleet on this machine: schedulers, servers, a real PostgreSQL, all of them processes, and what stands
// in front of them: a balancer that sends every request of a device to the next server.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device_sdk/client/transport.h"
#include "tests/integration/support/admin.h"
#include "tests/integration/support/raw_device.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temporary_directory.h"

namespace coterie::integration {

// Where a member lives.
struct MemberHost {
  std::string address = "127.0.0.1";
  std::string network_namespace = {};  // as in ServerOptions
};

struct LocalFleetOptions {
  size_t schedulers = 2;
  size_t servers = 4;
  std::string config;  // members of every configuration, as ServerOptions::config
  // The libpq string with which this member reaches PostgreSQL, for whoever stands in between; none: all go there
  // directly.
  std::function<std::string(const std::string& member, const test::PostgresServer&)> conninfo_of = {};
  std::function<MemberHost(const std::string& member)> host_of = {};
};

class LocalFleet {
 public:
  // Everybody is up, and one leads.
  static Result<std::unique_ptr<LocalFleet>> start(const LocalFleetOptions& options);

  test::PostgresServer& postgres() { return *postgres_; }
  size_t scheduler_count() const { return schedulers_.size(); }
  size_t server_count() const { return servers_.size(); }
  ServerProcess& scheduler(size_t i) { return *schedulers_[i].process; }
  ServerProcess& server(size_t i) { return *servers_[i].process; }
  bool server_runs(size_t i) const { return servers_[i].process != nullptr; }
  bool scheduler_runs(size_t i) const { return schedulers_[i].process != nullptr; }

  // The one that leads; looks again, and starts again whoever has given up. Fails if nobody leads in time.
  Result<size_t> leader();
  Admin& admin() { return *admin_; }  // of the one that leader() found last

  Status add_server();
  // One that answers with the fleet's models, and its data directory.
  Status add_serving_node();
  ServerProcess& serving_node() { return *serving_.process; }
  std::string serving_data_dir() const { return directory_ / serving_.name; }
  Status restart_server(size_t i);
  void kill_server(size_t i);
  // SIGTERM, until it is gone; how long that took.
  Result<Millis> drain_server(size_t i);
  Status restart_scheduler(size_t i);
  // Starts again whoever has ended or does not run, as a supervisor would; returns how many. An error if one of them
  // ends at once, as one does that cannot reach its database; the others are started.
  Result<size_t> revive();
  void kill_scheduler(size_t i);

  // To the next server with every request, and on to another while there is no answer or a 503.
  std::unique_ptr<Transport> balancer();
  std::unique_ptr<RawDevice> enrolled_device(KeyAlgorithm algorithm = KeyAlgorithm::ed25519);

  // What went wrong and where, for messages.
  std::string logs() const;

 private:
  struct Member {
    std::string name;
    std::unique_ptr<ServerProcess> process;
    uint16_t device_port = 0;
    uint16_t admin_port = 0;
  };
  class Balancer;
  Status launch(Member& member, const std::string& role);

  LocalFleetOptions options_;
  test::TemporaryDirectory directory_{test::memory_disk()};
  std::unique_ptr<test::PostgresServer> postgres_;
  std::vector<Member> schedulers_, servers_;
  Member serving_{.name = "serving-0", .process = nullptr};
  std::unique_ptr<Admin> admin_;
  std::string token_;
  mutable std::mutex urls_mutex_;
  std::vector<std::pair<std::string, std::string>> urls_;  // of the servers, and their authorities; for balancers
  uint64_t epoch_ = 0;                                     // of urls_
};

}  // namespace coterie::integration
