// `coterie demo --print-job`: the job alone, for a file or a pipe.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

class PrintJob : public DemoTest {
 protected:
  // What it prints, and nothing else; no run leaves anything.
  std::string printed(Words words) {
    words.insert(words.begin(), "demo");
    words.insert(words.end(), {"--out", directory_ / "printed", "--print-job"});
    printing_ = std::make_unique<DemoProcess>(directory_.path(), words);
    EXPECT_EQ(printing_->wait(), 0) << printing_->errors();
    EXPECT_EQ(printing_->errors(), "");
    EXPECT_FALSE(os::exists(directory_ / "printed"));
    return printing_->output();
  }
  std::string job_of(const std::string& folder) const {
    const Result<Bytes> job = os::read_file(folder + "/job.json", 1 << 20);
    EXPECT_OK(job);
    return job ? std::string(as_text(*job)) : "";
  }
  std::unique_ptr<DemoProcess> printing_;
};

TEST_F(PrintJob, IsTheJobThatRunsAndGoesThroughAPipe) {
  const Words options = {"--devices", "3", "--rounds", "2", "--fraction", "1", "--model", "mlp", "--seed", "5"};
  Words real = {"demo", "--json", "--quiet", "--out", run()};
  real.insert(real.end(), options.begin(), options.end());
  DemoProcess demo(directory_.path(), real);
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  EXPECT_EQ(printed(options), job_of(run()));
  const Words simulate = {"simulate", "-",   "--json",    "--quiet", "--seed", "5",
                          "--model",  "mlp", "--devices", "3",       "--out",  directory_ / "simulated"};
  DemoProcess simulated(directory_.path(), simulate, {.input = printing_->output_path()});
  ASSERT_EQ(simulated.wait(), 0) << simulated.errors();
  EXPECT_EQ(nlohmann::json::parse(simulated.output())["model_digest"],
            nlohmann::json::parse(demo.output())["model_digest"]);
  DemoProcess without(directory_.path(), simulate);
  EXPECT_EQ(without.wait(), 2);
  EXPECT_THAT(without.errors(), HasSubstr("standard input: "));
}

TEST_F(PrintJob, IsThatOfADemoThatCounts) {
  const nlohmann::json job = nlohmann::json::parse(printed({"--devices", "3", "--analytics", "histogram:target"}));
  EXPECT_EQ(job["analytics"]["kind"], "histogram");
  EXPECT_EQ(job["rounds"]["goal_count"], 3);
}

TEST_F(PrintJob, RefusesAJobThatNoServerWouldTake) {
  DemoProcess demo(directory_.path(), {"demo", "--print-job", "--cohort-max", "2", "--devices", "5"});
  EXPECT_EQ(demo.wait(), 2);
  EXPECT_EQ(demo.output(), "");
  EXPECT_THAT(demo.errors(), HasSubstr("/privacy/"));
}

}  // namespace
}  // namespace coterie::integration
