// coterie job validate and coterie job plan as commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::Not;

class JobPlanCommandTest : public ::testing::Test {
 protected:
  std::string job(const std::string& text) {
    EXPECT_OK(os::write_file_atomically(folder_ / "job.json", as_bytes(text)));
    return folder_ / "job.json";
  }
  std::string model() {
    EXPECT_EQ(
        run_command({"model", "new", "cnn", "--input", "8x8x1", "--classes", "10", "-o", folder_ / "m.cotf"}).code,
        ExitCode::ok);
    return folder_ / "m.cotf";
  }

 private:
  TemporaryDirectory folder_;
};

TEST_F(JobPlanCommandTest, SaysThatAJobIsGood) {
  const std::string file = job(R"({"name": "a"})");
  const CommandOutcome alone = run_command({"job", "validate", file});
  EXPECT_EQ(alone.code, ExitCode::ok);
  EXPECT_THAT(alone.out, HasSubstr("--model FILE says whether"));
  EXPECT_EQ(run_command({"job", "validate", file, "--model", model()}).code, ExitCode::ok);
}

TEST_F(JobPlanCommandTest, SaysAllThatIsWrong) {
  const std::string file = job(R"({"name": "a", "round": {}, "training": {"batch_size": 0}})");
  const CommandOutcome wrong = run_command({"job", "validate", file});
  EXPECT_EQ(wrong.code, ExitCode::usage);
  EXPECT_THAT(wrong.out, HasSubstr("2 problems"));
  EXPECT_THAT(wrong.out, HasSubstr("/round: unknown key; did you mean `rounds`?"));
  EXPECT_THAT(wrong.out, HasSubstr("/training/batch_size"));
  const CommandOutcome listed = run_command({"job", "validate", file, "--json"});
  const nlohmann::json json = nlohmann::json::parse(listed.out);
  EXPECT_EQ(json.at("valid"), false);
  EXPECT_EQ(json.at("errors").size(), 2u);
  EXPECT_EQ(run_command({"job", "plan", file, "--model", model()}).code, ExitCode::usage);

  EXPECT_EQ(run_command({"job", "validate", job("{")}).code, ExitCode::usage);
  EXPECT_THAT(run_command({"job", "validate", job("[]")}).err, HasSubstr("a job is a JSON object"));
  EXPECT_THAT(run_command({"job", "validate", job(R"({"name": "a", "name": "b"})")}).err, HasSubstr("name"));
  EXPECT_EQ(run_command({"job", "validate", "/nowhere/job.json"}).code, ExitCode::usage);
  EXPECT_EQ(run_command({"job", "plan", job(R"({"name": "a"})"), "--model", "/nowhere/m.cotf"}).code, ExitCode::usage);
}

void expect_80_columns(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(JobPlanCommandTest, PlansTheLargestCohortIn80Columns) {
  const std::string file = job(R"({"name": "a", "rounds": {"count": 100000, "goal_count": 8000, "goal_count_min": 8000},
                                   "privacy": {"level": "masked", "cohort_min": 1000}})");
  const CommandOutcome plan = run_command({"job", "plan", file, "--model", model(), "--examples", "60000000"});
  ASSERT_EQ(plan.code, ExitCode::ok) << plan.out << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("1 round in 2^20"));
  EXPECT_THAT(plan.out, HasSubstr("are left: too few"));
  expect_80_columns(plan.out);
}

TEST_F(JobPlanCommandTest, PlansIn80Columns) {
  const std::string file =
      job("{\"name\": \"a\\u001b[2J\", \"rounds\": {\"count\": 100000, \"goal_count\": 1000},"
          "\"update\": {\"clip_l2\": 1, \"weight_max\": 1},"
          "\"privacy\": {\"level\": \"active_dp\", \"noise_multiplier\": 1, \"target_delta\": 1e-6,"
          "\"epsilon_budget\": 8, \"cohort_min\": 100, \"cohort_max\": 250}}");
  const CommandOutcome plan = run_command({"job", "plan", file, "--model", model()});
  ASSERT_EQ(plan.code, ExitCode::ok) << plan.out << plan.err;
  EXPECT_THAT(plan.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(plan.out, HasSubstr("epsilon"));
  EXPECT_THAT(plan.out, HasSubstr("then the budget is spent"));
  expect_80_columns(plan.out);
  const CommandOutcome json = run_command({"job", "plan", file, "--model", model(), "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out).at("schema"), "coterie.job_plan.v1");
}

}  // namespace
}  // namespace coterie
