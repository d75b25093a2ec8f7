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

JobSettings read_job(const json& training, Problems& problems) {
  const json job = {{"name", "digits"},
                    {"model", std::string(64, 'a')},
                    {"evaluation", std::string(64, 'b')},
                    {"training", training}};
  return job_settings_from_json(job, problems);
}

TEST(AdaptiveMuJson, ReadsWhatItWrites) {
  Problems problems;
  const json own = {{"step", 0.2}, {"falls", 2}, {"max", 3.0}};
  const JobSettings job = read_job({{"proximal_mu", 0.5}, {"adaptive_mu", own}}, problems);
  EXPECT_EQ(job.horizontal().adaptive_mu, (AdaptiveMuSettings{.step = 0.2f, .falls = 2, .max = 3}));
  EXPECT_EQ(to_json(job)["training"]["adaptive_mu"], own);
  EXPECT_EQ(job_settings_from_json(to_json(job), problems), job);
  EXPECT_EQ(read_job({{"adaptive_mu", json::object()}}, problems).horizontal().adaptive_mu, AdaptiveMuSettings{});
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_FALSE(to_json(read_job(json::object(), problems))["training"].contains("adaptive_mu"))
      << "an older server refuses it";
}

TEST(AdaptiveMuJson, NamesWhatIsWrong) {
  const auto pointers = [](const json& own) {
    Problems problems;
    read_job({{"adaptive_mu", own}}, problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(pointers({{"steps", 1}}), ElementsAre("/training/adaptive_mu/steps"));
  EXPECT_THAT(pointers({{"falls", 0}}), ElementsAre("/training/adaptive_mu/falls"));
  EXPECT_THAT(pointers(1), ElementsAre("/training/adaptive_mu"));
}

}  // namespace
}  // namespace coterie
