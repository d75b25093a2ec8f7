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

JobSettings read_job(const json& download, Problems& problems) {
  json job = {{"name", "digits"}, {"model", std::string(64, 'a')}};
  if (!download.is_null()) job["download"] = download;
  return job_settings_from_json(job, problems);
}

TEST(DownloadJson, ReadsWhatItWrites) {
  Problems problems;
  const JobSettings read = read_job({{"bits", 4}, {"keyframe_every", 7}}, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(read.horizontal().download, (DownloadSettings{.bits = 4, .keyframe_every = 7}));
  EXPECT_EQ(job_settings_from_json(to_json(read), problems), read);
  EXPECT_EQ(read_job({{"bits", 8}}, problems).horizontal().download.keyframe_every, 20u);
}

TEST(DownloadJson, IsLeftOutWhereItSaysNothing) {
  Problems problems;
  EXPECT_FALSE(to_json(read_job(nullptr, problems)).contains("download")) << "an older server does not know it";
}

TEST(DownloadJson, NamesWhatIsWrong) {
  const auto pointers = [](const json& download) {
    Problems problems;
    read_job(download, problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(pointers(json::object()), ElementsAre("/download/bits"));
  EXPECT_THAT(pointers({{"bits", 8}, {"keyframes", 3}}), ElementsAre("/download/keyframes"));
  for (const int bits : {0, 1, 9}) EXPECT_THAT(pointers({{"bits", bits}}), ElementsAre("/download/bits")) << bits;
  EXPECT_THAT(pointers({{"bits", 8}, {"keyframe_every", 1}}), ElementsAre("/download/keyframe_every"));
  EXPECT_THAT(pointers({{"bits", 8}, {"keyframe_every", 1'000'001}}), ElementsAre("/download/keyframe_every"));
  EXPECT_THAT(pointers(8), Contains("/download"));
}

}  // namespace
}  // namespace coterie
