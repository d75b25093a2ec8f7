// Agents that take part in one round with secure aggregation, in step: in memory, for tests.
#pragma once

#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/os/file.h"
#include "device_sdk/agent/agent.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/agent/secagg_plane.h"

namespace coterie::test {

class Examples;

class Cohort {
 public:
  explicit Cohort(SecurityLevel level, uint32_t devices = 5, const StalenessRules& staleness = {});
  ~Cohort();

  Status open(uint32_t who);

  // Everybody steps until nothing new comes; then the phase is closed. To the end, or to the server's giving
  // up.
  Status run();

  Status step(uint32_t who) {
    COT_ASSIGN(const AgentProgress progress, devices_[who].agent->step());
    if (progress.error) devices_[who].errors.push_back(*progress.error);
    return {};
  }

  // The lanes that the survivors' plain updates sum up to, the weights' behind them.
  std::vector<uint64_t> expected_sum(const std::vector<uint32_t>& survivors);
  void expect_sum_of(const std::vector<uint32_t>& survivors) {
    EXPECT_EQ(plane.survivors(), survivors);
    const auto sum = plane.sum();
    ASSERT_OK(sum);
    EXPECT_TRUE(*sum == expected_sum(survivors)) << "bit for bit";
  }
  std::vector<uint32_t> all() const {
    std::vector<uint32_t> all(devices_.size());
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  std::vector<uint32_t> all_but(uint32_t who) const {
    std::vector<uint32_t> rest = all();
    std::erase(rest, who);
    return rest;
  }

  const ParticipantState& state(uint32_t who) const { return devices_[who].agent->state(); }
  AgentSettings& settings(uint32_t who) { return devices_[who].settings; }
  const std::vector<Error>& errors(uint32_t who) const { return devices_[who].errors; }
  // But for round.state, which may or may not be there (session_files.h).
  std::vector<std::string> files(uint32_t who) const {
    std::vector<std::string> names = *os::list_directory(devices_[who].settings.state_dir);
    std::erase(names, "round.state");
    return names;
  }
  std::string in_state(uint32_t who, const std::string& name) const {
    return devices_[who].settings.state_dir + "/" + name;
  }

  SecaggPlane plane;
  std::function<void(uint32_t who)> before_step;
  int quiet_sweeps = 3;  // end a phase; steps that fail and are repeated need more

 private:
  struct Device {
    AgentSettings settings;
    std::unique_ptr<Examples> examples;
    std::unique_ptr<Agent> agent;
    std::vector<Error> errors;
  };
  TemporaryDirectory directory_{memory_disk()};
  std::deque<Device> devices_;
};

}  // namespace coterie::test
