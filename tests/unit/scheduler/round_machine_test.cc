#include "scheduler/round/round_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/golden.h"
#include "tests/unit/scheduler/round_script.h"

namespace coterie {
namespace {

const std::filesystem::path kScripts = COTERIE_SOURCE_DIR "/tests/golden/rounds";

std::vector<std::string> script_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kScripts)) names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class RoundScript : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(RoundMachine, RoundScript, testing::ValuesIn(script_names()),
                         [](const auto& parameter) { return parameter.param; });

TEST_P(RoundScript, GoesAsWritten) {
  const std::string name = GetParam() + ".txt";
  std::ifstream stream(kScripts / name);
  std::ostringstream script;
  script << stream.rdbuf();
  const std::string played = test::play_round_script(script.str());
  EXPECT_EQ(played.find("  > ERROR"), std::string::npos) << "a line of the script is not understood:\n" << played;
  test::expect_golden_text("rounds/" + name, played);
}

TEST(RoundScripts, AreThere) { EXPECT_GE(script_names().size(), 14u); }

// ---- What a script does not show

JobProgress fresh_job() {
  JobProgress progress;
  progress.job.id = JobId("j");
  progress.job.value_count = 5;
  progress.job.plan_bytes = 77;
  progress.job.spec.population = Population("phones");
  progress.head.digest.bytes.fill(9);
  progress.head.bytes = 1'000;
  progress.head.version = ModelVersion(4);
  return progress;
}

TEST(RoundMachine, PublishesEverythingANodeMustKnow) {
  RoundMachine machine(JobId("j"));
  machine.start();
  const JobProgress job = fresh_job();
  machine.step(ProgressLoaded{1, job}, Instant(Millis(10)));
  RoundRecord round;
  round.key = {RoundId(3), Attempt(2)};
  round.number = 8;
  const RoundEffects effects = machine.step(RoundOpened{2, round}, Instant(Millis(20)));
  ASSERT_EQ(effects.size(), 1u);
  const RoundView& view = std::get<PublishRound>(effects[0]).view;
  EXPECT_EQ(view.job, JobId("j"));
  EXPECT_EQ(view.population, Population("phones"));
  EXPECT_EQ(view.key, round.key);
  EXPECT_EQ(view.number, 8u);
  EXPECT_EQ(view.state, RoundState::selecting);
  EXPECT_EQ(view.model_version, ModelVersion(4));
  EXPECT_EQ(view.model, job.head.digest);
  EXPECT_EQ(view.model_bytes, 1'000u);
  EXPECT_EQ(view.plan, job.job.plan);
  EXPECT_EQ(view.plan_bytes, 77u);
  EXPECT_EQ(view.update, plan_of(job.job.spec, JobId("j"), 5).update);
  EXPECT_EQ(view.ticket_count, 10u);
  EXPECT_EQ(view.goal_count, 10u);
  EXPECT_EQ(view.deadline, Instant(Millis(10'020)));
}

TEST(RoundMachine, ShowsItsRoundOnceItIsLoaded) {
  RoundMachine machine(JobId("j"));
  EXPECT_EQ(machine.job_id(), JobId("j"));
  EXPECT_FALSE(machine.round().has_value());
  machine.start();
  JobProgress job = fresh_job();
  job.latest.emplace();
  job.latest->key = {RoundId(3), Attempt(1)};
  job.latest->state = RoundState::collecting;
  job.accepted = 4;
  machine.step(ProgressLoaded{1, job}, Instant(Millis(0)));
  ASSERT_TRUE(machine.round().has_value());
  EXPECT_EQ(machine.round()->key.round, RoundId(3));
  EXPECT_EQ(machine.accepted(), 4u);
  EXPECT_FALSE(machine.ended());
}

TEST(RoundMachine, IsNotConfusedByAClockThatGoesBack) {
  RoundMachine machine(JobId("j"));
  machine.start();
  machine.step(ProgressLoaded{1, fresh_job()}, Instant(Millis(5'000)));
  RoundRecord round;
  round.key = {RoundId(3), Attempt(1)};
  round.number = 1;
  machine.step(RoundOpened{2, round}, Instant(Millis(1'000)));
  EXPECT_EQ(machine.next_deadline(), Instant(Millis(15'000))) << "counted from the latest time it has seen";
}

}  // namespace
}  // namespace coterie
