#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fl_server/json/job_json.h"
#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::pointers_of;
using testing::Contains;
using testing::IsEmpty;

json job_with(const json& clip) {
  json job = {{"name", "digits"}, {"model", std::string(64, 'a')}, {"update", {{"clip_l2", 2}, {"weight_max", 1}}}};
  job["privacy"] = {{"level", "none"},
                    {"noise_multiplier", 1},
                    {"target_delta", 1e-6},
                    {"epsilon_budget", 50.0},
                    {"adaptive_clip", clip}};
  return job;
}

TEST(AdaptiveClipJson, ReadsWhatItWrites) {
  for (const json& clip : {json::object(), json{{"quantile", 0.7}, {"learning_rate", 0.5}, {"bits_sigma", 4}}}) {
    Problems problems;
    const JobSettings read = job_settings_from_json(job_with(clip), problems);
    EXPECT_THAT(problems, IsEmpty());
    const AdaptiveClipSettings expected = {clip.value("quantile", 0.5), clip.value("learning_rate", 0.2),
                                           clip.value("bits_sigma", 0.0)};
    EXPECT_EQ(read.horizontal().privacy.adaptive_clip, expected);
    EXPECT_EQ(job_settings_from_json(to_json(read), problems), read);
    EXPECT_EQ(*job_settings_from_stored_json(job_settings_to_json_text(read)), read);
  }
}

TEST(AdaptiveClipJson, IsOffUnlessSaid) {
  json job = job_with(json::object());
  job["privacy"].erase("adaptive_clip");
  Problems problems;
  const JobSettings read = job_settings_from_json(job, problems);
  EXPECT_FALSE(read.horizontal().privacy.adaptive_clip.has_value());
  EXPECT_FALSE(to_json(read)["privacy"].contains("adaptive_clip")) << "an older server does not know the key";
}

TEST(AdaptiveClipJson, NamesWhatIsWrong) {
  const auto pointers = [](const json& clip) {
    Problems problems;
    job_settings_from_json(job_with(clip), problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(pointers({{"quantile", 1.5}}), Contains("/privacy/adaptive_clip/quantile"));
  EXPECT_THAT(pointers({{"quantile", "half"}}), Contains("/privacy/adaptive_clip/quantile"));
  EXPECT_THAT(pointers({{"learning_rate", 1e9}}), Contains("/privacy/adaptive_clip/learning_rate"));
  EXPECT_THAT(pointers({{"bits_sigma", -1}}), Contains("/privacy/adaptive_clip/bits_sigma"));
  EXPECT_THAT(pointers({{"gamma", 0.5}}), Contains("/privacy/adaptive_clip/gamma"));
  EXPECT_THAT(pointers(true), Contains("/privacy/adaptive_clip"));
}

}  // namespace
}  // namespace coterie
