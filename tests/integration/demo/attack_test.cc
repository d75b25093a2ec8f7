// Drills with real processes: devices that lie, and rules that withstand them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

class Attacks : public DemoTest {
 protected:
  nlohmann::json demo(const std::vector<std::string>& more, const std::string& name = "run") {
    std::vector<std::string> words = {
        "demo", "--json",  "--devices", "6",     "--rounds",        "3",       "--fraction", "1", "--seed",
        "5",    "--model", "mlp",       "--out", directory_ / name, "--split", "iid"};
    if (std::ranges::find(more, "--security") == more.end()) words.insert(words.end(), {"--security", "none"});
    words.insert(words.end(), more.begin(), more.end());
    DemoProcess process(directory_.path(), words);
    EXPECT_EQ(process.wait(), 0) << process.errors();
    said_ = process.errors();
    return nlohmann::json::parse(process.output(), nullptr, false);
  }
  nlohmann::json simulate(const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "simulate", run() + "/job.json", "--json", "--quiet", "--devices", "6",     "--seed",
        "5",        "--model",           "mlp",    "--split", "iid",       "--out", directory_ / "simulated"};
    words.insert(words.end(), more.begin(), more.end());
    DemoProcess process(directory_.path(), words);
    EXPECT_EQ(process.wait(), 0) << process.errors();
    return nlohmann::json::parse(process.output(), nullptr, false);
  }
  std::string said_;
};

TEST_F(Attacks, ARuleOverKeptUpdatesHasTheModelOfASimulation) {
  const nlohmann::json real = demo({"--aggregation", "trimmed_mean", "--quiet"});
  const nlohmann::json simulated = simulate({"--threads", "2"});
  EXPECT_EQ(real["aggregation"], "trimmed_mean");
  EXPECT_EQ(simulated["aggregation"], "trimmed_mean");
  EXPECT_EQ(simulated["model_digest"], real["model_digest"]);
}

// Six devices in three cohorts, who are the same in both: their keys follow from the seed.
TEST_F(Attacks, ARuleOverCohortsHasTheModelOfASimulation) {
  const nlohmann::json real =
      demo({"--aggregation", "geometric_median", "--security", "masked", "--cohort-max", "2", "--quiet"});
  const nlohmann::json simulated = simulate({"--threads", "2"});
  EXPECT_EQ(simulated["model_digest"], real["model_digest"]);
}

TEST_F(Attacks, AreToldWithWhatTheyCost) {
  const nlohmann::json attacked = demo({"--aggregation", "median", "--attack", "sign_flip:0.2"});
  EXPECT_NE(said_.find("1 device lies"), std::string::npos) << said_;
  EXPECT_EQ(attacked["attack"], "sign_flip:0.2");
  EXPECT_TRUE(attacked["accuracy_without_attack"].is_number());
  EXPECT_TRUE(os::exists(run() + "/without-attack/chart.svg"));
  const auto chart = os::read_file(run() + "/chart.svg", 1 << 20);
  ASSERT_OK(chart);
  EXPECT_NE(as_text(*chart).find("sign_flip:0.2"), std::string::npos);
}

TEST_F(Attacks, AMeanFallsAndAMedianDoesNot) {
  const double mean = demo({"--quiet", "--attack", "sign_flip:0.34"})["accuracy"];
  const double without = nlohmann::json::parse(
      as_text(os::read_file(run() + "/without-attack/summary.json", 1 << 20).value()))["accuracy"];
  const double median = demo({"--quiet", "--attack", "sign_flip:0.34", "--aggregation", "median"}, "other")["accuracy"];
  EXPECT_LT(mean, 0.3);
  EXPECT_GT(median, without - 0.15);
}

}  // namespace
}  // namespace coterie::integration
