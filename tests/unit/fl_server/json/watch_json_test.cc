#include "fl_server/json/watch_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fl_server/json/job_json.h"
#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::pointers_of;
using testing::ElementsAre;
using testing::IsEmpty;

JobSettings read_job(const json& watch, Problems& problems) {
  json job = {{"name", "digits"}, {"model", std::string(64, 'a')}};
  if (!watch.is_null()) job["training"] = {{"watch", watch}};
  return job_settings_from_json(job, problems);
}

TEST(WatchJson, ReadsWhatItWrites) {
  Problems problems;
  const json named = {{"checks", {"dead_relu", "label_drift"}}, {"every", 10}};
  const JobSettings job = read_job(named, problems);
  EXPECT_EQ(job.horizontal().training.watch, (WatchSettings{.checks = {"dead_relu", "label_drift"}, .every = 10}));
  EXPECT_EQ(to_json(job)["training"]["watch"], named);
  EXPECT_EQ(job_settings_from_json(to_json(job), problems), job);
  EXPECT_EQ(read_job(json::object(), problems).horizontal().training.watch,
            (WatchSettings{.checks = {"recommended"}, .every = 50}));
  EXPECT_FALSE(to_json(read_job(nullptr, problems))["training"].contains("watch")) << "an older server refuses it";
  EXPECT_THAT(problems, IsEmpty());
}

TEST(WatchJson, NamesWhatIsWrong) {
  const auto pointers = [](const json& watch) {
    Problems problems;
    read_job(watch, problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(pointers({{"checks", {"dead_rellu"}}}), ElementsAre("/training/watch/checks"));
  EXPECT_THAT(pointers({{"checks", {"recommended", "dead_relu"}}}), ElementsAre("/training/watch/checks"));
  EXPECT_THAT(pointers({{"checks", json::array()}}), ElementsAre("/training/watch/checks"));
  EXPECT_THAT(pointers({{"every", 0}}), ElementsAre("/training/watch/every"));
  EXPECT_THAT(pointers({{"evry", 1}}), ElementsAre("/training/watch/evry"));
}

TEST(WatchJson, SharesTheNormThatNoiseHides) {
  Problems problems;
  json job = to_json(read_job(json::object(), problems));
  EXPECT_FALSE(job["privacy"].contains("watch_share")) << "an older server refuses it";
  job["privacy"] = {
      {"level", "none"}, {"noise_multiplier", 1}, {"target_delta", 1e-6}, {"epsilon_budget", 50}, {"watch_share", 0.5}};
  job["update"] = {{"clip_l2", 1}, {"weight_max", 1}};
  const JobSettings read = job_settings_from_json(job, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(read.horizontal().privacy.watch_share, 0.5);
  EXPECT_EQ(to_json(read)["privacy"]["watch_share"], 0.5);
  job["privacy"]["watch_share"] = 2;
  job_settings_from_json(job, problems);
  EXPECT_THAT(pointers_of(problems), ElementsAre("/privacy/watch_share"));
}

TEST(WatchJson, HidesNoSignThatNoiseMakes) {
  const json shown = to_json(WatchOutcome{.looked = 1.25, .hits = {{"dead_relu", "conv1", -0.5}}, .error = 0.25});
  EXPECT_EQ(shown, (json{{"looked", 1.25},
                         {"error", 0.25},
                         {"hits", {{{"check", "dead_relu"}, {"layer", "conv1"}, {"share", -0.5}}}}}));
}

TEST(WatchJson, ShowsWhatWasFound) {
  const json shown =
      to_json(WatchOutcome{.looked = 0.5, .hits = {{"dead_relu", "conv1", 0.25}, {"label_drift", "", 1}}});
  EXPECT_EQ(shown, (json{{"looked", 0.5},
                         {"hits",
                          {{{"check", "dead_relu"}, {"layer", "conv1"}, {"share", 0.25}},
                           {{"check", "label_drift"}, {"share", 1.0}}}}}));
}

}  // namespace
}  // namespace coterie
