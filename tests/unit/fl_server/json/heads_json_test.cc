// training.heads of a job: outputs with a loss each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fl_server/json/job_json.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::pointers_of;
using testing::ElementsAre;
using testing::IsEmpty;

JobSettings job_with(const json& heads, Problems& problems) {
  return job_settings_from_json({{"name", "digits"}, {"model", std::string(64, 'a')}, {"training", {{"heads", heads}}}},
                                problems);
}

TEST(HeadsJson, AreReadAndWritten) {
  const json heads = {{{"output", "class"}, {"loss", "softmax_cross_entropy"}, {"weight", 1.0}},
                      {{"output", "age"}, {"loss", "negative_log_likelihood"}, {"weight", 0.1}}};
  Problems problems;
  const JobSettings job = job_with(heads, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(job.horizontal().training.heads[1], (TrainingHead{"age", Loss::negative_log_likelihood, 0.1f}));
  EXPECT_EQ(to_json(job)["training"]["heads"], heads);
  EXPECT_EQ(job_settings_from_json(to_json(job), problems), job);
}

TEST(HeadsJson, OfTheFirstIsTheLossOfTheTraining) {
  Problems problems;
  EXPECT_EQ(job_with({{{"output", "age"}, {"loss", "l1"}}}, problems).horizontal().training.loss, Loss::l1);
  EXPECT_THAT(problems, IsEmpty());
}

TEST(HeadsJson, AreRefusedByTheirPlace) {
  const auto places = [](const json& heads) {
    Problems problems;
    job_with(heads, problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(places({{{"output", "age"}}}), testing::Contains("/training/heads/0/loss"));
  EXPECT_THAT(places({{{"output", "age"}, {"loss", "l1"}, {"weight", -1}}}), ElementsAre("/training/heads/0/weight"));
  EXPECT_THAT(places({{{"output", "a"}, {"loss", "l1"}}, {{"output", "a"}, {"loss", "l1"}}}),
              ElementsAre("/training/heads/1/output"));
  EXPECT_THAT(places("age"), testing::Contains("/training/heads"));
}

}  // namespace
}  // namespace coterie
