// What an evaluation job's result says of groups, and what others come to.
#include "tools/model_report/fairness_on_devices.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json score(double accuracy) {
  return {{"devices", 20}, {"examples", 300}, {"accuracy", {{"value", accuracy}, {"low", 0.5}, {"high", 0.9}}}};
}

json result() {
  json before = score(0.6), now = score(0.8);
  before["model"] = "aa";
  now["model"] = "bb";
  now["worst_tenth"] = {{"from", 0.35}, {"to", 0.4}};
  for (const double accuracy : {0.7, 0.85, 0.6}) now["groups"].push_back(score(accuracy));
  now["groups"].push_back({{"name", "rare"}, {"devices", 1}, {"examples", 2}, {"accuracy", nullptr}});
  now["groups"].push_back(score(0.1));
  now["groups"].back()["name"] = "other";
  now["groups"][0]["name"] = "north";
  return {{"schema", "coterie.evaluation_result.v1"}, {"column", "region"}, {"models", {before, now}}};
}

TEST(FairnessOnDevices, IsOfTheReportsModel) {
  const Result<DeviceFairness> made = parse_device_fairness(result().dump(), "bb");
  ASSERT_OK(made);
  EXPECT_TRUE(made->is_of_model);
  EXPECT_EQ(made->column, "region");
  EXPECT_DOUBLE_EQ(made->all.accuracy->value, 0.8);
  ASSERT_EQ(made->groups.size(), 5u);
  EXPECT_EQ(made->groups[0].name, "north");
  EXPECT_DOUBLE_EQ(*made->groups[0].accuracy->low, 0.5);
  EXPECT_FALSE(made->groups[3].accuracy);
  EXPECT_NEAR(*made->accuracy_gap, 0.25, 1e-12) << "of the groups that have one, without the examples in none";
  EXPECT_DOUBLE_EQ(*made->worst_to, 0.4);
  EXPECT_DOUBLE_EQ(parse_device_fairness(result().dump(), "aa")->all.accuracy->value, 0.6);
  EXPECT_FALSE(parse_device_fairness(result().dump(), "cc")->is_of_model);
}

TEST(FairnessOnDevices, OthersAreRefused) {
  json none = result(), crowd = result(), bare = result();
  none["models"] = json::array();
  for (size_t i = 0; i < kDeviceGroupsMax; ++i) crowd["models"][1]["groups"].push_back(score(1));
  bare["models"][1]["groups"][0].erase("devices");
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), none.dump(), crowd.dump(), bare.dump()}) {
    EXPECT_EQ(parse_device_fairness(text, "bb").error().code(), ErrorCode::malformed) << text.substr(0, 80);
  }
  EXPECT_THAT(read_device_fairness("/nowhere", "bb").error().message(), HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace coterie::test
