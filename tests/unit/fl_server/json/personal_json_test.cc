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

JobSettings read_job(const json& personal, Problems& problems) {
  json job = {{"name", "digits"}, {"model", std::string(64, 'a')}};
  if (!personal.is_null()) job["training"] = {{"personal", personal}};
  return job_settings_from_json(job, problems);
}

TEST(PersonalJson, ReadsWhatItWrites) {
  Problems problems;
  const json part = {{"kind", "part"}, {"parameters", {"head.*"}}, {"norms", true}, {"first_epochs", 2}};
  const JobSettings of_part = read_job(part, problems);
  EXPECT_EQ(of_part.horizontal().training.personal,
            (PersonalSettings{.parameters = {"head.*"}, .norms = true, .first_epochs = 2}));
  EXPECT_EQ(to_json(of_part)["training"]["personal"], part);
  EXPECT_EQ(job_settings_from_json(to_json(of_part), problems), of_part);
  const json model = {{"kind", "model"}, {"lambda", 0.1}};
  const JobSettings of_model = read_job(model, problems);
  EXPECT_EQ(of_model.horizontal().training.personal, (PersonalSettings{.kind = PersonalKind::model, .lambda = 0.1f}));
  EXPECT_EQ(to_json(of_model)["training"]["personal"], model);
  EXPECT_EQ(job_settings_from_json(to_json(of_model), problems), of_model);
  const json clusters = {{"kind", "clusters"}, {"count", 3}};
  const JobSettings of_clusters = read_job(clusters, problems);
  EXPECT_EQ(of_clusters.horizontal().training.personal, (PersonalSettings{.kind = PersonalKind::clusters, .count = 3}));
  EXPECT_EQ(to_json(of_clusters)["training"]["personal"], clusters);
  EXPECT_EQ(read_job({{"norms", true}}, problems).horizontal().training.personal, PersonalSettings{.norms = true});
  EXPECT_THAT(problems, IsEmpty());
}

TEST(PersonalJson, IsLeftOutWhereItSaysNothing) {
  Problems problems;
  EXPECT_FALSE(to_json(read_job(nullptr, problems))["training"].contains("personal")) << "an older server refuses it";
}

TEST(PersonalJson, NamesWhatIsWrong) {
  const auto pointers = [](const json& personal) {
    Problems problems;
    read_job(personal, problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(pointers({{"kind", "own"}, {"norms", true}}), ElementsAre("/training/personal/kind"));
  EXPECT_THAT(pointers(json::object()), ElementsAre("/training/personal/parameters"));
  EXPECT_THAT(pointers({{"norms", true}, {"head", 1}}), ElementsAre("/training/personal/head"));
  EXPECT_THAT(pointers({{"kind", "model"}}), ElementsAre("/training/personal/lambda"));
  EXPECT_THAT(pointers({{"kind", "model"}, {"lambda", 1}, {"first_epochs", 1}}),
              ElementsAre("/training/personal/first_epochs"));
}

}  // namespace
}  // namespace coterie
