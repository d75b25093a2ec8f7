// A run's files as a job and its rounds: whole ones, halves and damaged ones.
#include "tools/console/run_json.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const ListedRun kRun{.id = "0123456789abcdef", .folder = "a", .name = "a", .variant = {}};
const WallTime kChanged{Millis(1'795'000'000'000)};
const Error kAbsent(ErrorCode::not_found, "a/summary.json: there is no such plain file");
constexpr std::string_view kSummary =
    R"({"schema": "coterie.demo.v1", "rounds": 2, "devices": 20, "seed": 7, "strategy": "fedavg", "security": "masked",
        "accuracy": 0.97, "model_path": "/srv/anna/runs/a/model.cotf"})";
constexpr std::string_view kMetrics =
    "round,attempts,selected,accepted,examples,train_loss,train_accuracy,evaluation_loss,evaluation_accuracy,seconds,"
    "train_seconds\n"
    "1,2,10,9,180,2.5,0.25,,0.5,1.5,0.25\n"
    "3,1,10,10,200,nan,0.75,0.125,0.875,1,0.5\n";

Bytes bytes(std::string_view text) { return Bytes(text.begin(), text.end()); }
struct ShownRun {
  json job, rounds;
};
ShownRun shown_run(const RunFiles& files) { return {shown_job(kRun, files), shown_rounds(files)}; }
ShownRun shown(Result<Bytes> summary, Result<Bytes> metrics) {
  return shown_run({.summary = std::move(summary), .metrics = std::move(metrics), .changed = kChanged});
}

TEST(RunJson, HasSettingsAndRoundsOfAWholeRunAsTheApiHasThem) {
  const ShownRun run = shown(bytes(kSummary), bytes(kMetrics));
  EXPECT_EQ(run.job["state"], "completed");
  EXPECT_FALSE(run.job.contains("reason")) << run.job["reason"];
  EXPECT_EQ(run.job["id"], kRun.id);
  EXPECT_EQ(run.job["rounds_done"], 2);
  EXPECT_EQ(run.job["spec"], (json{{"name", "a"},
                                   {"devices", 20},
                                   {"seed", 7},
                                   {"strategy", "fedavg"},
                                   {"rounds", {{"count", 2}}},
                                   {"privacy", {{"level", "masked"}}}}));
  EXPECT_EQ(run.job["results"], (json{{"accuracy", 0.97}}));
  EXPECT_THAT(run.job.dump(), ::testing::Not(HasSubstr("/srv/anna"))) << "where it was made is nobody's business";
  EXPECT_EQ(run.rounds[0],
            (json{{"number", 1},
                  {"attempt", 2},
                  {"state", "done"},
                  {"selected", 10},
                  {"accepted", 9},
                  {"examples", 180},
                  {"train_loss", 2.5},
                  {"train_accuracy", 0.25},
                  {"seconds", 1.5},
                  {"train_seconds", 0.25},
                  {"model", {{"version", 1}, {"evaluation_loss", nullptr}, {"evaluation_accuracy", 0.5}}}}));
  EXPECT_EQ(run.rounds[1]["number"], 3);
  EXPECT_EQ(run.rounds[1]["train_loss"], nullptr) << "JSON has no such number";
}

TEST(RunJson, HasHeadsOfRoundsAndTheirCurves) {
  const RunFiles files = {.summary = bytes(kSummary),
                          .metrics = bytes("round,evaluation_loss,\"evaluation_loss.class\",\"evaluation_mae.a,b\"\n"
                                           "1,3,0.5,2\n2,2,0.25,nan\n"),
                          .changed = kChanged};
  const json rounds = shown_rounds(files);
  EXPECT_EQ(rounds[0]["model"]["evaluation_heads"],
            json::parse(R"([{"output": "class", "loss": 0.5}, {"output": "a,b", "mae": 2.0}])"));
  const Result<json> curves = run_curves(files, "");
  ASSERT_OK(curves);
  EXPECT_EQ((*curves)["columns"]["evaluation_loss.class"], json::array({0.5, 0.25}));
  EXPECT_EQ((*curves)["columns"]["evaluation_mae.a,b"], json::array({2.0, nullptr}));
}

TEST(RunJson, ShowsAHalfWrittenRunAsFarAsItGoesAndSaysSo) {
  const ShownRun begun = shown(kAbsent, kAbsent);
  EXPECT_EQ(begun.job["state"], "unfinished");
  EXPECT_THAT(begun.job["reason"], HasSubstr("no summary.json"));
  EXPECT_EQ(begun.rounds.size(), 0u);

  const ShownRun half = shown(kAbsent, bytes(std::string(kMetrics) + "4,1,10,1"));
  EXPECT_EQ(half.rounds.size(), 2u) << "not what is no whole line";
  EXPECT_EQ(half.job["rounds_done"], 2);
  EXPECT_THAT(half.job["reason"], HasSubstr("its last line is not whole; there is no summary.json"));

  const ShownRun waits = shown_run({.summary = kAbsent, .metrics = kAbsent});
  EXPECT_EQ(waits.job["state"], "waiting");
  EXPECT_FALSE(waits.job.contains("created"));
}

TEST(RunJson, SaysWhatIsDamagedAndShowsTheRest) {
  struct Case {
    const char *summary, *metrics, *reason;
    size_t rounds;
  };
  for (const Case& of : {Case{"{\"rounds\": ", kMetrics.data(), "summary.json is no JSON object", 2},
                         Case{"[]", kMetrics.data(), "summary.json is no JSON object", 2},
                         Case{kSummary.data(), "", "metrics.csv is empty", 0},
                         Case{kSummary.data(), "loss\n1\n", "no column `round`", 0},
                         Case{kSummary.data(), "round,loss\n1,2\n2\n", "metrics.csv: line 3", 0},
                         Case{kSummary.data(), "round,loss\n1,2\n-2,2\n3,1\n", "line 3: the round is no number", 1}}) {
    const ShownRun run = shown(bytes(of.summary), bytes(of.metrics));
    EXPECT_EQ(run.job["state"], "damaged") << of.reason;
    EXPECT_THAT(run.job["reason"], HasSubstr(of.reason));
    EXPECT_EQ(run.rounds.size(), of.rounds) << of.reason;
  }
  const ShownRun large = shown(Error(ErrorCode::too_large, "a/summary.json has 9 bytes"), bytes(kMetrics));
  EXPECT_THAT(large.job["reason"], HasSubstr("9 bytes"));
}

TEST(RunJson, TakesSettingsOfAnyKindAndBoundsTheRounds) {
  const ShownRun odd = shown(bytes(R"({"rounds": -1, "devices": ["<b>"], "privacy": 7})"), bytes(kMetrics));
  EXPECT_EQ(odd.job["state"], "completed");
  EXPECT_EQ(odd.job["spec"]["rounds"], json::object()) << "how many there are to be, nobody has said";
  std::string csv = "round\n";
  for (size_t i = 0; i <= kShownRoundsMax; ++i) csv += std::to_string(i) + "\n";
  const ShownRun many = shown(bytes(kSummary), bytes(csv));
  EXPECT_EQ(many.rounds.size(), kShownRoundsMax);
  EXPECT_THAT(many.job["reason"], HasSubstr("the first 20000 rounds"));
}

}  // namespace
}  // namespace coterie
