// Two hundred devices at once: all are enrolled, chosen, counted; none twice.
#include <atomic>
#include <thread>

#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

using Crowd = ServerTest;

TEST_F(Crowd, OfTwoHundredDevicesTakesPartInTwoRounds) {
  constexpr uint32_t kDevices = 200, kRounds = 2;
  constexpr size_t kValues = 208;
  start();
  const auto job = admin_->create_job(flat_model(kValues), spec_for(kDevices, kRounds));
  ASSERT_TRUE(test::is_ok(job));
  token_ = *admin_->create_token(kDevices);
  std::atomic<uint32_t> receipts{0};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kDevices; ++i) {
    threads.emplace_back([&, i] {
      const auto device = enrolled_device(i % 4 == 0 ? KeyAlgorithm::p256 : KeyAlgorithm::ed25519);
      for (uint32_t round = 0; round < kRounds; ++round) {
        const auto assignment = device->wait_for_assignment(kPatience);
        ASSERT_TRUE(test::is_ok(assignment));
        const auto outcome = device->upload_until_decided(*assignment, one_hot(kValues, i));
        ASSERT_TRUE(std::holds_alternative<Receipt>(outcome)) << failure_of(outcome).message();
        ++receipts;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(receipts, kDevices * kRounds);
  ASSERT_TRUE(wait_for_model(kRounds));
  const auto weights = admin_->download_weights(*job, kRounds);
  ASSERT_TRUE(test::is_ok(weights));
  for (uint32_t i = 0; i < kValues; ++i) {
    EXPECT_NEAR((*weights)[i], i < kDevices ? static_cast<float>(kRounds) / kDevices : 0.0f, 1e-6) << "device " << i;
  }
}

}  // namespace
}  // namespace coterie::integration
