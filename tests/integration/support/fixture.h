// What every test of a real server begins with: a directory, a process, an operator, enrolled devices.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "tests/integration/support/admin.h"
#include "tests/integration/support/raw_device.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::integration {

inline constexpr Millis kPatience{60'000};

// Level none: the sums of these tests are seen through.
inline nlohmann::json spec_for(uint32_t devices, uint32_t rounds) {
  return {{"rounds", {{"count", rounds}, {"goal_count", devices}, {"pool_min", devices}}},
          {"privacy", {{"level", "none"}}}};
}

inline std::vector<float> one_hot(size_t size, size_t index) {
  std::vector<float> values(size);
  values[index] = 1.0f;
  return values;
}

class ServerTest : public ::testing::Test {
 protected:
  void start(const std::string& config = {}) {
    auto started = ServerProcess::start(
        {.data_dir = directory_ / "data", .config = config, .device_port = device_port_, .admin_port = admin_port_});
    ASSERT_TRUE(test::is_ok(started));
    server_ = std::move(*started);
    device_port_ = server_->device_port();
    admin_port_ = server_->admin_port();
    admin_ = std::make_unique<Admin>(*server_);
  }

  std::unique_ptr<RawDevice> enrolled_device(KeyAlgorithm algorithm = KeyAlgorithm::ed25519) {
    if (token_.empty()) token_ = *admin_->create_token(1000);
    auto device = std::make_unique<RawDevice>(server_->device_url(), server_->ca_pem(), algorithm);
    EXPECT_TRUE(test::is_ok(device->enroll(token_)));
    return device;
  }

  bool wait_for_model(uint64_t version) {
    return server_->wait_for_log("\"model_version\":" + std::to_string(version) + "}", kPatience);
  }

  // Asks until the job is in this state, at most kPatience.
  bool wait_for_job(const std::string& job, const std::string& state) {
    const Instant until = os::monotonic_now() + kPatience;
    while (os::monotonic_now() < until) {
      const auto answer = admin_->ask("GET", "/admin/v1/jobs/" + job);
      if (answer && (*answer)["state"] == state) return true;
    }
    return false;
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Admin> admin_;
  std::string token_;
  uint16_t device_port_ = 0;
  uint16_t admin_port_ = 0;
};

// The error of an upload or a download, or `internal` with a note if there was none.
template <typename T>
Error failure_of(const Outcome<T>& outcome) {
  if (const auto* failure = std::get_if<Failure>(&outcome)) return failure->error;
  return Error(ErrorCode::internal, "the test expected a failure and saw a success");
}

}  // namespace coterie::integration
