// Whole rounds over TLS against a real server process: who took part is read off the model.
#include <gtest/gtest.h>

#include <thread>

#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

constexpr Millis kHold{20'000};

class Rounds : public ServerTest {
 protected:
  void SetUp() override { start(); }
};

TEST_F(Rounds, EveryDeviceOfARoundIsCountedOnceAndTheModelMovesByTheMean) {
  constexpr uint32_t kDevices = 8, kRounds = 3;
  const auto job = admin_->create_job(flat_model(16), spec_for(kDevices, kRounds));
  ASSERT_TRUE(test::is_ok(job));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kDevices; ++i) {
    // Every other device has the key its phone's secure element would have.
    threads.emplace_back([&, i, device = enrolled_device(i % 2 == 0 ? KeyAlgorithm::ed25519 : KeyAlgorithm::p256)] {
      for (uint32_t round = 1; round <= kRounds; ++round) {
        const auto assignment = device->wait_for_assignment(kHold);
        ASSERT_TRUE(test::is_ok(assignment));
        EXPECT_EQ(assignment->model_version, ModelVersion(round - 1));
        const auto weights = device->fetch_weights(*assignment);
        ASSERT_TRUE(test::is_ok(weights));
        EXPECT_FLOAT_EQ((*weights)[i], static_cast<float>(round - 1) / kDevices);
        const auto outcome = device->upload(*assignment, one_hot(16, i));
        const auto* receipt = std::get_if<Receipt>(&outcome);
        ASSERT_NE(receipt, nullptr) << std::get<Failure>(outcome).error.message();
        EXPECT_EQ(receipt->round, assignment->round);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(server_->wait_for_log("\"model_version\":3", kHold));
  const auto weights = admin_->download_weights(*job, kRounds);
  ASSERT_TRUE(test::is_ok(weights));
  for (uint32_t i = 0; i < 16; ++i) {
    EXPECT_FLOAT_EQ((*weights)[i], i < kDevices ? static_cast<float>(kRounds) / kDevices : 0.0f) << i;
  }
  const auto rounds = admin_->rounds(*job);
  ASSERT_TRUE(test::is_ok(rounds));
  EXPECT_EQ((*rounds)["state"], "completed");
  for (const auto& round : (*rounds)["rounds"]) {
    EXPECT_EQ(round["state"], "done");
    EXPECT_EQ(round["accepted"], kDevices);
  }
}

TEST_F(Rounds, ADuplicateUploadGetsTheSameReceiptEvenAfterTheRoundIsDone) {
  const auto job = admin_->create_job(flat_model(16), spec_for(1, 2));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  const auto assignment = device->wait_for_assignment(kHold);
  ASSERT_TRUE(test::is_ok(assignment));
  const auto first = device->upload(*assignment, one_hot(16, 0));
  ASSERT_TRUE(std::holds_alternative<Receipt>(first)) << std::get<Failure>(first).error.message();
  ASSERT_TRUE(server_->wait_for_log("\"round_done\"", kHold));
  const auto again = device->upload(*assignment, one_hot(16, 5));
  ASSERT_TRUE(std::holds_alternative<Receipt>(again)) << std::get<Failure>(again).error.message();
  EXPECT_EQ(std::get<Receipt>(first), std::get<Receipt>(again));
  const auto weights = admin_->download_weights(*job, 1);
  ASSERT_TRUE(test::is_ok(weights));
  EXPECT_FLOAT_EQ((*weights)[0], 1.0f);
  EXPECT_FLOAT_EQ((*weights)[5], 0.0f) << "the second upload's values must not count";
}

TEST_F(Rounds, PlainAndFedAdamJobsRunSideBySideOnOnePopulation) {
  nlohmann::json adam = spec_for(1, 1);
  adam["strategy"] = {
      {"kind", "fedadam"}, {"server_learning_rate", 0.1}, {"tau", 0.001}, {"beta1", 0.9}, {"beta2", 0.99}};
  const auto first = admin_->create_job(flat_model(16), spec_for(1, 1));
  const auto second = admin_->create_job(flat_model(32), adam);
  ASSERT_TRUE(test::is_ok(first));
  ASSERT_TRUE(test::is_ok(second));
  const auto device = enrolled_device();
  for (int i = 0; i < 2; ++i) {
    const auto assignment = device->wait_for_assignment(kHold);
    ASSERT_TRUE(test::is_ok(assignment));
    const size_t size = assignment->job.value() == *first ? 16 : 32;
    const auto outcome = device->upload_until_decided(*assignment, one_hot(size, 1));
    ASSERT_TRUE(std::holds_alternative<Receipt>(outcome)) << std::get<Failure>(outcome).error.message();
  }
  ASSERT_TRUE(server_->wait_for_log("\"job\":\"" + *second + "\",\"round\":1,\"updates\":1", kHold));
  // m = 0.1, v = 0.01: w = 0.1 * 0.1 / (0.1 + 0.001)
  const auto weights = admin_->download_weights(*second, 1);
  ASSERT_TRUE(test::is_ok(weights));
  EXPECT_NEAR((*weights)[1], 0.1 * 0.1 / 0.101, 1e-6);
  EXPECT_FLOAT_EQ((*weights)[0], 0.0f);
}

}  // namespace
}  // namespace coterie::integration
