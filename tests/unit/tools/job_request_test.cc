// What the demo's options come to in the job that it sends.
#include "tools/demo/job_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

nlohmann::json job_of(const DemoOptions& options) {
  const Result<std::string> text = job_request(options, 1'000, Digest{}, Digest{});
  EXPECT_OK(text);
  return text ? nlohmann::json::parse(*text) : nlohmann::json();
}

TEST(JobRequest, SaysHowDevicesTrain) {
  DemoOptions options;
  options.optimizer = OptimizerKind::adamw;
  options.weight_decay = 0.25;
  options.proximal_mu = 0.5;
  options.freeze = {"conv1.*"};
  options.train_last = 2;
  const nlohmann::json training = job_of(options)["training"];
  EXPECT_EQ(training["optimizer"]["kind"], "adamw");
  EXPECT_EQ(training["optimizer"]["learning_rate"], 0.001) << "by optimizer";
  EXPECT_EQ(training["optimizer"]["weight_decay"], 0.25);
  EXPECT_EQ(training["proximal_mu"], 0.5);
  EXPECT_EQ(training["freeze"], nlohmann::json({"conv1.*"}));
  EXPECT_EQ(training["train_last"], 2);
}

TEST(JobRequest, HasTheRateThatIsGivenOrTheOptimizers) {
  DemoOptions options;
  EXPECT_EQ(job_of(options)["training"]["optimizer"]["learning_rate"], 0.1);
  options.learning_rate = 0.03;
  EXPECT_EQ(job_of(options)["training"]["optimizer"]["learning_rate"], 0.03);
}

}  // namespace
}  // namespace coterie
