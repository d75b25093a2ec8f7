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
using testing::ElementsAre;
using testing::IsEmpty;

json job_with(const json& update) { return {{"name", "digits"}, {"model", std::string(64, 'a')}, {"update", update}}; }

TEST(CompressionJson, ReadsWhatItWrites) {
  Problems problems;
  const json asked = job_with({{"clip_l2", 2}, {"compression", {{"bits", 6}, {"rotate", false}}}, {"weight_max", 9}});
  const JobSettings read = job_settings_from_json(asked, problems);
  EXPECT_THAT(problems, IsEmpty());
  const UpdateSettings& update = read.horizontal().update;
  EXPECT_EQ(update.compression, (CompressionSettings{.bits = 6, .rotate = false}));
  EXPECT_EQ(update.weight_max, 9u);
  EXPECT_EQ(job_settings_from_json(to_json(read), problems), read);
}

TEST(CompressionJson, CountsEachUpdateOnceUnlessTheJobSaysOtherwise) {
  Problems problems;
  const auto weight_max = [&](const json& update) {
    return job_settings_from_json(job_with(update), problems).horizontal().update.weight_max;
  };
  EXPECT_EQ(weight_max({{"clip_l2", 2}, {"compression", {{"bits", 6}}}}), 1u);
  EXPECT_EQ(weight_max({{"clip_l2", 2}}), UpdateSettings().weight_max);
  EXPECT_THAT(problems, IsEmpty());
}

TEST(CompressionJson, IsLeftOutWhereItSaysNothing) {
  Problems problems;
  const json written = to_json(job_settings_from_json(job_with(json::object()), problems));
  EXPECT_FALSE(written.at("update").contains("compression")) << "an older server beside this one does not know it";
}

TEST(CompressionJson, ReadsEachKindAndWritesNothingThatItDoesNotHave) {
  const json none = {{"kind", "top_k"}};
  Problems problems;
  job_settings_from_json(job_with({{"compression", none}}), problems);
  EXPECT_THAT(pointers_of(problems), ElementsAre("/update/compression"))
      << "jobs are at level active unless they say so";
  problems.clear();
  const auto at_none = [&](const json& compression) {
    json job = job_with({{"compression", compression}});
    job["privacy"] = {{"level", "none"}};
    const JobSettings read = job_settings_from_json(job, problems);
    EXPECT_THAT(pointers_of(problems), IsEmpty()) << compression;
    EXPECT_EQ(job_settings_from_json(to_json(read), problems), read);
    EXPECT_EQ(read.horizontal().update.weight_max, UpdateSettings().weight_max) << "weights are not rounded";
    return read.horizontal().update.compression;
  };
  EXPECT_EQ(at_none({{"kind", "top_k"}}), (CompressionSettings{.kind = CompressionKind::top_k, .bits = 32}));
  EXPECT_EQ(at_none({{"kind", "top_k"}, {"share", 0.02}, {"bits", 8}, {"error_feedback", false}}),
            (CompressionSettings{.kind = CompressionKind::top_k, .bits = 8, .share = 0.02, .error_feedback = false}));
  EXPECT_EQ(at_none({{"kind", "eden"}, {"bits", 2}}), (CompressionSettings{.kind = CompressionKind::eden, .bits = 2}));
}

TEST(CompressionJson, NamesWhatIsWrong) {
  const auto pointers = [](const json& compression) {
    Problems problems;
    job_settings_from_json(job_with({{"clip_l2", 2}, {"compression", compression}}), problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(pointers(json::object()), ElementsAre("/update/compression/bits"));
  EXPECT_THAT(pointers({{"bits", 8}, {"rotat", true}}), ElementsAre("/update/compression/rotat"));
  EXPECT_THAT(pointers({{"bits", "eight"}}), ElementsAre("/update/compression/bits"));
  EXPECT_THAT(pointers({{"bits", 0}}), ElementsAre("/update/compression/bits"));
  EXPECT_THAT(pointers({{"bits", 17}}), ElementsAre("/update/compression/bits"));
  EXPECT_THAT(pointers({{"kind", "eden"}}), ElementsAre("/update/compression/bits", "/update/compression"))
      << "at the default level, which eden does not go with";
  EXPECT_THAT(pointers({{"kind", "best"}, {"bits", 8}}), ElementsAre("/update/compression/kind"));
  EXPECT_THAT(pointers(8), Contains("/update/compression"));
}

}  // namespace
}  // namespace coterie
