// Scene: a real server, an operator, and devices that take part in round after round whatever happens to the server. In
// the end the one-hot audit: whoever holds a receipt is in the sum, and nobody twice.
//
// The job has far more rounds than a test waits for. While the server is gone the devices wait at the audit's door.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/os/clock.h"
#include "tests/integration/support/admin.h"
#include "tests/integration/support/one_hot_audit.h"
#include "tests/integration/support/raw_device.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temporary_directory.h"

namespace coterie::chaos {

enum class SceneJob : uint8_t {
  plain,
  noise,   // of the server; the audit is the ledger's, as the models show nobody
  tree,    // the same with noise that rounds share: one release for all, and no device in two rounds running
  kept,    // updates are kept, and a rule that clips none of them gives their mean
  masked,  // level active: each sum is what its devices sent in that attempt; who holds a receipt of it is in it
};

struct SceneSettings {
  uint32_t devices = 6;
  SceneJob job = SceneJob::plain;
};

class Scene : public ::testing::Test {
 protected:
  static constexpr uint32_t kGoal = 4;
  static constexpr uint32_t kTreeSeparation = 2;
  static constexpr size_t kValues = 16;
  static constexpr Millis kPatience{60'000};

  ~Scene() override;

  // The server keeps its truth where this libpq string leads, and not in SQLite. Before the first start().
  void keep_truth_at(const std::string& conninfo, const std::string& schema = "coterie");
  // Starts the server, again on its ports, and waits until it serves. Its error if it ends instead.
  Status start(const std::vector<std::string>& environment = {});
  // The job, and devices that begin to take part.
  void begin(const SceneSettings& settings = {});
  bool has_begun() const { return !threads_.empty(); }
  // The devices wait until start() is through.
  void shut_the_door() { audit_.set_open(false); }
  // Kills what is left of the server.
  void reap();
  // Until the job has done so many more rounds; false if the server ends before, or nothing happens for a long time.
  bool wait_for_rounds(uint64_t more);
  // The job must be running.
  Result<uint64_t> rounds_done();
  // Devices end what they do, while the server is still there to answer.
  void go_home();
  // The same, and the audit. Returns how many rounds are done.
  uint64_t end();
  // How long the last start() took, from the process to an answer for devices.
  Millis last_start() const { return last_start_; }
  // The same until it said that it is ready: before that, where it must wait for the lead.
  Millis last_ready() const { return last_ready_; }

  test::TemporaryDirectory directory_{test::memory_disk()};
  std::unique_ptr<integration::ServerProcess> server_;
  std::unique_ptr<integration::Admin> admin_;
  integration::OneHotAudit audit_;
  std::string job_;
  std::string config_;       // members of the server's configuration besides; before the first start()
  Millis lease_ttl_{3'000};  // soon over: whoever starts again waits for the one that he held when he was killed

 private:
  nlohmann::json spec() const;
  bool is_shared() const { return !conninfo_file_.empty(); }

  SceneSettings settings_;
  std::string conninfo_file_, schema_;
  uint16_t device_port_ = 0, admin_port_ = 0;
  std::vector<std::unique_ptr<integration::RawDevice>> devices_;
  std::vector<std::thread> threads_;
  Millis last_start_{0}, last_ready_{0};
};

}  // namespace coterie::chaos
