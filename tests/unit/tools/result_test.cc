#include "tools/demo/result.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tools/cli/terminal.h"

namespace coterie {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::SizeIs;

RoundReport done(uint64_t number, uint32_t attempt, double accuracy) {
  RoundReport round;
  round.number = number;
  round.attempt = attempt;
  round.state = "done";
  round.goal_count = round.selected = 10;
  round.accepted = 9;
  round.seconds = 0.5;
  round.examples = 700;
  round.train_seconds = 1.8;
  round.train_loss = 0.25;
  round.train_accuracy = 0.75;
  round.evaluation_loss = 0.125;
  round.evaluation_accuracy = accuracy;
  return round;
}

DemoResult sample() {
  DemoResult result;
  result.program = "/opt/bin/coterie";
  result.run_dir = "my runs/one";
  result.data_name = "digits";
  result.training_examples = 1438;
  result.held_out_examples = 359;
  result.before = {{359, 2.5, 0.1}};
  result.after = {{359, 0.09, 0.975}};
  result.model_digest = "abc";
  result.update_bytes = 3'000;
  RoundReport failed = done(2, 1, 0);
  failed.state = "failed";
  failed.accepted = 3;
  result.attempts = {done(1, 1, 0.5), failed, done(2, 2, 0.98), done(3, 1, 0.975)};
  result.phases = {.prepare = 0.1,
                   .server_start = 0.2,
                   .devices_start = 0.3,
                   .rounds = 2,
                   .training = 0.6,
                   .finalizing = 0.4,
                   .finish = 0.0004};
  return result;
}

nlohmann::json summary_of(const DemoResult& result) { return nlohmann::json::parse(summary_json(result, -1)); }

TEST(DemoResult, IsOneObjectOnOneLineWithTheKeysThatScriptsDependOn) {
  EXPECT_EQ(summary_json(sample(), -1).find('\n'), std::string::npos);
  std::set<std::string> keys;
  const nlohmann::json summary = summary_of(sample());
  for (const auto& [key, value] : summary.items()) keys.insert(key);
  EXPECT_THAT(keys,
              IsSupersetOf({"rounds", "devices", "updates_accepted", "updates_selected", "accuracy", "loss", "seconds",
                            "model_path", "run_dir", "seed", "schema", "phases", "metrics_path", "chart_path"}));
}

// The first is of classes beside numbers: what is told of the model as a whole is its accuracy.
TEST(DemoResult, TellsWhatEachHeadHasComeTo) {
  DemoResult result = sample();
  result.options.target = TargetKind::values;
  result.options.heads = {{"class", Loss::softmax_cross_entropy, 1}, {"a ge", Loss::l1, 0.5f}};
  result.after.heads = {{.output = "class", .rows = 359, .measure = HeadMeasure::accuracy, .value = 0.975},
                        {.output = "a ge", .loss = Loss::l1, .weight = 0.5f, .rows = 359, .loss_mean = 2}};
  const nlohmann::json summary = summary_of(result);
  EXPECT_EQ(summary["accuracy"], 0.975);
  EXPECT_FALSE(summary.contains("accuracy_majority"));
  EXPECT_EQ(summary["heads"][1]["loss"], 2.0);
  const std::string text = summary_text(result, Terminal());
  EXPECT_THAT(text, AllOf(HasSubstr("accuracy 97.5 %"), HasSubstr("HEAD"),
                          HasSubstr("--head class:softmax_cross_entropy:1 --head 'a ge:l1:0.5'")));
  result.options.heads.erase(result.options.heads.begin());
  EXPECT_TRUE(summary_of(result).contains("mae"));
}

TEST(DemoResult, CountsRoundsThatAreDoneAndEveryAttemptsSelection) {
  const auto summary = summary_of(sample());
  EXPECT_EQ(summary["rounds"], 3);
  EXPECT_EQ(summary["updates_accepted"], 27);
  EXPECT_EQ(summary["updates_selected"], 40);
  EXPECT_EQ(summary["attempts_failed"], 1);
  EXPECT_EQ(summary["accuracy"], 0.975);
  EXPECT_EQ(summary["accuracy_best"], 0.98);
  EXPECT_EQ(summary["seconds"], 2.6);
  EXPECT_EQ(summary["model_path"], "my runs/one/model.cotf");
}

TEST(DemoResult, HasNullForALossThatIsNoNumber) {
  DemoResult result = sample();
  result.after.loss_mean = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(summary_of(result)["loss"].is_null());
}

TEST(DemoResult, SaysWhereTheTimeOfTheRoundsWent) {
  EXPECT_DOUBLE_EQ(training_seconds(done_rounds(sample())), 3 * 1.8 / 9);
  EXPECT_DOUBLE_EQ(sample().phases.network(), 1.0);
  DemoPhases all_training{.rounds = 1, .training = 3};
  EXPECT_EQ(all_training.network(), 0);
}

TEST(DemoMetrics, AreOneLineARoundThatIsDone) {
  EXPECT_EQ(metrics_csv(sample()),
            "round,attempts,selected,accepted,examples,train_loss,train_accuracy,evaluation_loss,evaluation_"
            "accuracy,seconds,"
            "train_seconds\n"
            "1,1,10,9,700,0.25,0.75,0.125,0.5,0.5,1.8\n"
            "2,2,10,9,700,0.25,0.75,0.125,0.98,0.5,1.8\n"
            "3,1,10,9,700,0.25,0.75,0.125,0.975,0.5,1.8\n");
}

TEST(DemoMetrics, LeaveTheCellEmptyWhereThereIsNoNumber) {
  DemoResult result = sample();
  result.attempts = {done(1, 1, 0.5)};
  result.attempts[0].train_loss = std::nullopt;
  result.attempts[0].evaluation_loss = INFINITY;
  result.attempts[0].evaluation_accuracy = NAN;
  EXPECT_THAT(metrics_csv(result), HasSubstr("\n1,1,10,9,700,,0.75,,,0.5,1.8\n"));
}

TEST(DemoMetrics, HaveColumnsOfEachHead) {
  DemoResult result = sample();
  result.attempts = {done(1, 1, 0.5), done(2, 1, 0.5)};
  result.attempts[0].evaluation_heads = {{.output = "class", .loss = 0.125, .accuracy = 0.5},
                                         {.output = "a,b", .mae = 2}};
  result.attempts[1].evaluation_heads = {{.output = "class", .loss = 0.0625, .accuracy = 0.75}, {.output = "a,b"}};
  const std::string csv = metrics_csv(result);
  EXPECT_THAT(csv, AllOf(HasSubstr(",train_seconds,\"evaluation_loss.class\",\"evaluation_accuracy.class\","
                                   "\"evaluation_mae.a,b\"\n"),
                         HasSubstr(",1.8,0.125,0.5,2\n"), HasSubstr(",1.8,0.0625,0.75,\n")));
}

TEST(DemoSummary, NamesResultFilesAndThreeCommandsAsAShellTakesThem) {
  const std::string text = summary_text(sample(), Terminal());
  EXPECT_THAT(text, AllOf(HasSubstr("Held-out accuracy 97.5 % (10.0 % before training)\n  on 359 examples that no"),
                          HasSubstr("3 rounds, 27 updates of 2.9 KiB, 2.60 s"),
                          HasSubstr("  /opt/bin/coterie model evaluate 'my runs/one/model.cotf' --data 'my "
                                    "runs/one/held-out.cotf'\n"),
                          HasSubstr("  /opt/bin/coterie demo --split dirichlet:0.1 --strategy fedadam\n"),
                          HasSubstr("  /opt/bin/fl_server --data-dir coterie-data\n")));
}

TEST(DemoSummary, SaysWhatUpdatesOfFewBitsAreClippedTo) {
  DemoResult result = sample();
  result.options.compression.bits = 6;
  EXPECT_THAT(summary_text(result, Terminal()),
              HasSubstr("\n    6 bits a value, clipped to 4, as --clip was not given\n"));
  result.options.clip = 0.5;
  EXPECT_THAT(summary_text(result, Terminal()), HasSubstr("\n    6 bits a value, clipped to 0.500\n"));
}

TEST(DemoSummary, FitsATerminalButForPathsAndCommands) {
  DemoResult result = sample();
  result.options.compression.bits = 6;
  result.options.download_bits = 8;
  result.held_out_examples = 1'000'000;
  result.update_bytes = result.download_bytes = result.model_bytes = 123'456'789;
  result.before.accuracy = result.after.accuracy = result.majority_accuracy = 1;
  result.phases = {.prepare = 9999,
                   .server_start = 999,
                   .devices_start = 999,
                   .rounds = 9999,
                   .training = 999,
                   .finalizing = 999,
                   .finish = 999};
  result.privacy = DemoPrivacy{.epsilon = 1234.567,
                               .delta = 1e-10,
                               .accountant = "exact",
                               .noise_multiplier = 12.345,
                               .clip = 0.125,
                               .ledger_head = {}};
  result.has_ledger = true;
  std::istringstream lines(summary_text(result, Terminal()));
  for (std::string line; std::getline(lines, line);) {
    const bool is_command = line.find("/opt/bin/") != line.npos;
    if (!is_command) {
      EXPECT_LE(width_of(line), 80) << line;
    }
  }
}

TEST(DemoSummary, TellsNoTimeOfTrainingThatMasksHide) {
  DemoResult result = sample();
  EXPECT_THAT(summary_text(result, Terminal()), HasSubstr("\n    training 0.60 s, server 0.40 s"));
  result.phases.training = 0;
  EXPECT_THAT(summary_text(result, Terminal()), HasSubstr("\n    server 0.40 s"));
}

TEST(DemoSummary, NamesTheLedgerWhereItIsInTheFolder) {
  DemoResult result = sample();
  EXPECT_THAT(summary_text(result, Terminal()), Not(HasSubstr("ledger.json")));
  result.has_ledger = true;
  EXPECT_THAT(summary_text(result, Terminal()), HasSubstr("\n  ledger.json "));
}

TEST(DemoChart, BeginsBeforeTrainingAndLeavesOutWhatFailed) {
  const ChartData chart = chart_of(sample());
  ASSERT_THAT(chart.rounds, SizeIs(4));
  EXPECT_EQ(chart.rounds[0].number, 0u);
  EXPECT_EQ(chart.rounds[0].accuracy, 0.1);
  EXPECT_EQ(chart.rounds[0].training_loss, std::nullopt);
  EXPECT_EQ(chart.rounds[2].accuracy, 0.98);
}

}  // namespace
}  // namespace coterie
