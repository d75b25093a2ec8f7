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

JobSettings read_job(const json& widths, Problems& problems) {
  const json job = {{"name", "digits"}, {"model", std::string(64, 'a')}, {"training", {{"widths", widths}}}};
  return job_settings_from_json(job, problems);
}

TEST(WidthsJson, ReadsWhatItWrites) {
  Problems problems;
  const json widths = {{"classes", {1.0, 0.5, 0.333333, 0.0625}}};
  const JobSettings settings = read_job(widths, problems);
  EXPECT_THAT(settings.horizontal().training.widths, ElementsAre(1'000'000, 500'000, 333'333, 62'500));
  EXPECT_EQ(to_json(settings)["training"]["widths"], widths);
  EXPECT_EQ(job_settings_from_json(to_json(settings), problems), settings);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_FALSE(to_json(JobSettings{.common = {}, .kind = HorizontalSettings{}})["training"].contains("widths"));
}

TEST(WidthsJson, RefusesWhatIsNoWidth) {
  for (const json& bad : {json::object(), json{{"classes", json::array()}}, json{{"classes", {1, 0}}},
                          json{{"classes", {2, 1}}}, json{{"classes", "half"}}, json{{"classes", {1, -0.5}}}}) {
    Problems problems;
    read_job(bad, problems);
    EXPECT_THAT(pointers_of(problems), testing::Contains("/training/widths/classes")) << bad;
  }
  Problems problems;
  read_job({{"classes", {1, 0.5}}, {"by", "memory"}}, problems);
  EXPECT_THAT(pointers_of(problems), ElementsAre("/training/widths/by"));
}

}  // namespace
}  // namespace coterie
