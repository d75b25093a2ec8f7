#include "fl_server/events/event_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace coterie {
namespace {

using nlohmann::json;

const JobId kJob("j1");

json shown(const event::What& what, const JobId& job = kJob) {
  return json::parse(event_json({.seq = 1, .time = WallTime(Millis(1'750'000'000'000)), .job = job, .what = what}));
}

TEST(EventJson, HasTheWordsOfTheAdminPlane) {
  const event::RoundName round{.key = {RoundId(70), Attempt(2)}, .number = 7};
  EXPECT_EQ(shown(event::RoundOpened{round}),
            (json{{"job", "j1"}, {"time", "2025-06-15T15:06:40.000Z"}, {"round", 7}, {"attempt", 2}}));
  EXPECT_EQ(shown(event::JobStateChanged{JobState::paused})["state"], "paused");
  EXPECT_EQ(shown(event::UpdatesAccepted{round, 12})["accepted"], 12);
  EXPECT_EQ(shown(event::RoundFailed{round, "why"})["reason"], "why");
  const json done = shown(event::RoundDone{
      .round = round, .updates = 5, .version = ModelVersion(7), .evaluation_loss = 0.5, .evaluation_accuracy = 0.25});
  EXPECT_EQ(done["updates"], 5);
  EXPECT_EQ(done["model_version"], 7);
  EXPECT_EQ(done["evaluation_accuracy"], 0.25);
  EXPECT_FALSE(done.contains("watch"));
  EXPECT_FALSE(done.contains("evaluation_heads"));
  EXPECT_EQ(
      shown(event::RoundDone{.round = round, .evaluation_heads = {{.output = "age", .mae = 2}}})["evaluation_heads"],
      json::parse(R"([{"output": "age", "mae": 2.0}])"));
  const WatchOutcome found{.looked = 1, .hits = {{"dead_relu", "conv1", 0.5}}};
  EXPECT_EQ(shown(event::RoundDone{.round = round, .watch = found})["watch"]["hits"][0]["layer"], "conv1");
  EXPECT_FALSE(shown(event::RoundDone{.round = round}).contains("evaluation_loss"));
  EXPECT_FALSE(shown(event::ServerLeads{3}, JobId()).contains("job"));
}

TEST(EventJson, IsOneLineWhateverAReasonHolds) {
  const std::string text = event_json({.seq = 1, .time = {}, .job = kJob, .what = event::JobFailed{"a\nb\xff\"c"}});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(text)["reason"], "a\nb\xef\xbf\xbd\"c");
}

}  // namespace
}  // namespace coterie
