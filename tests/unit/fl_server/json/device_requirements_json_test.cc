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

json job_with(const json& requirements) {
  return {{"name", "digits"}, {"model", std::string(64, 'a')}, {"device_requirements", requirements}};
}

TEST(DeviceRequirementsJson, ReadsWhatItWritesAndPutsItIntoThePlan) {
  Problems problems;
  const json asked = {{"idle", true},
                      {"charging", true},
                      {"unmetered", true},
                      {"background", true},
                      {"thermal_max", "fair"},
                      {"battery_percent_min", 30},
                      {"free_memory_bytes_min", 1 << 30}};
  const JobSettings read = job_settings_from_json(job_with(asked), problems);
  EXPECT_THAT(problems, IsEmpty());
  const DeviceRequirements expected{.idle = true,
                                    .charging = true,
                                    .unmetered = true,
                                    .background = true,
                                    .battery_percent_min = 30,
                                    .thermal_max = ThermalState::fair,
                                    .free_memory_bytes_min = 1 << 30};
  EXPECT_EQ(read.horizontal().device_requirements, expected);
  EXPECT_EQ(to_json(read).at("device_requirements"), asked);
  EXPECT_EQ(plan_of(read.horizontal(), JobId("j"), 10).device_requirements, expected);
}

TEST(DeviceRequirementsJson, IsLeftOutWhereItSaysNothing) {
  Problems problems;
  const json nothing = {{"idle", false}, {"thermal_max", "any"}, {"battery_percent_min", 0}};
  EXPECT_FALSE(to_json(job_settings_from_json(job_with(nothing), problems)).contains("device_requirements"));
  EXPECT_THAT(problems, IsEmpty());
}

TEST(DeviceRequirementsJson, NamesWhatIsWrong) {
  const auto problems_of_job = [](const json& requirements) {
    Problems problems;
    job_settings_from_json(job_with(requirements), problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(problems_of_job({{"battery_percent_min", 101}}), Contains("/device_requirements/battery_percent_min"));
  EXPECT_THAT(problems_of_job({{"battery_percent_min", 300}}), Contains("/device_requirements/battery_percent_min"));
  EXPECT_THAT(problems_of_job({{"thermal_max", "warm"}}), Contains("/device_requirements/thermal_max"));
  EXPECT_THAT(problems_of_job({{"foreground", true}, {"background", true}}),
              Contains("/device_requirements/background"));
  EXPECT_THAT(problems_of_job({{"free_memory_bytes_min", kFreeMemoryBytesMax + 1}}),
              Contains("/device_requirements/free_memory_bytes_min"));
  EXPECT_THAT(problems_of_job({{"sunny", true}}), Contains("/device_requirements/sunny"));
}

}  // namespace
}  // namespace coterie
