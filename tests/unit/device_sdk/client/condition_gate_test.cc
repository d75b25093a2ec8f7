// The conditions gate, by table: each requirement against what is so, what is not, and what nobody has said.
#include "device_sdk/client/condition_gate.h"

#include <gtest/gtest.h>

#include "proto/messages/refusal.h"

namespace coterie {
namespace {

const DeviceConditions kBest{.idle = ConditionAnswer::yes,
                             .charging = ConditionAnswer::yes,
                             .unmetered = ConditionAnswer::yes,
                             .foreground = ConditionAnswer::yes,
                             .battery_percent = 100,
                             .thermal = ThermalState::nominal,
                             .free_memory_bytes = 1 << 30};

std::string_view reason_of(const Status& status) { return status ? std::string_view() : status.error().reason(); }

struct Row {
  std::string_view reason;
  DeviceRequirements required;
  DeviceConditions shut;  // what does not do
};

DeviceConditions best_but(auto change) {
  DeviceConditions conditions = kBest;
  change(conditions);
  return conditions;
}

std::vector<Row> rows() {
  using R = DeviceRequirements;
  using C = DeviceConditions;
  return {{"idle", R{.idle = true}, best_but([](C& c) { c.idle = ConditionAnswer::no; })},
          {"charging", R{.charging = true}, best_but([](C& c) { c.charging = ConditionAnswer::no; })},
          {"unmetered", R{.unmetered = true}, best_but([](C& c) { c.unmetered = ConditionAnswer::no; })},
          {"foreground", R{.foreground = true}, best_but([](C& c) { c.foreground = ConditionAnswer::no; })},
          {"background", R{.background = true}, kBest},
          {"battery", R{.battery_percent_min = 41}, best_but([](C& c) { c.battery_percent = 40; })},
          {"thermal", R{.thermal_max = ThermalState::fair}, best_but([](C& c) { c.thermal = ThermalState::serious; })},
          {"free_memory", R{.free_memory_bytes_min = 1001}, best_but([](C& c) { c.free_memory_bytes = 1000; })}};
}

TEST(ConditionGate, IsShutByEachRequirementWithItsReason) {
  for (const Row& row : rows()) {
    const Status judged = check_conditions(row.required, row.shut);
    ASSERT_FALSE(judged) << row.reason;
    EXPECT_EQ(judged.error().code(), ErrorCode::refused);
    EXPECT_EQ(judged.error().reason(), row.reason);
    EXPECT_EQ(judged.error().message().find("held back: "), 0u) << judged.error().message();
    EXPECT_NE(refusal_reason::known(row.reason), refusal_reason::kOther);
    EXPECT_TRUE(check_conditions({}, row.shut)) << "nothing is asked for";
  }
}

TEST(ConditionGate, IsOpenWhereWhatIsAskedForIsSo) {
  for (const Row& row : rows()) {
    DeviceConditions conditions = kBest;
    if (row.required.background) conditions.foreground = ConditionAnswer::no;
    EXPECT_TRUE(check_conditions(row.required, conditions)) << row.reason;
  }
  EXPECT_TRUE(check_conditions({.battery_percent_min = 100, .thermal_max = ThermalState::nominal}, kBest));
  EXPECT_TRUE(check_conditions({.free_memory_bytes_min = 1 << 30}, kBest));
}

TEST(ConditionGate, IsShutByWhatNobodyHasSaid) {
  for (const Row& row : rows()) EXPECT_EQ(reason_of(check_conditions(row.required, {})), row.reason);
  EXPECT_TRUE(check_conditions({}, {}));
}

TEST(ConditionGate, NamesTheFirstOfSeveralReasons) {
  DeviceRequirements required;
  const std::vector<Row> all = rows();
  for (auto row = all.rbegin(); row != all.rend(); ++row) {
    required = combined(required, row->required);
    EXPECT_EQ(reason_of(check_conditions(required, {})), row->reason);
  }
}

TEST(ConditionGate, APlanAsksForMoreAndNeverForLess) {
  for (const Row& row : rows()) {
    EXPECT_EQ(combined(row.required, {}), row.required) << row.reason;
    EXPECT_EQ(combined({}, row.required), row.required) << row.reason;
  }
  const DeviceRequirements strict{
      .battery_percent_min = 60, .thermal_max = ThermalState::nominal, .free_memory_bytes_min = 500};
  const DeviceRequirements lax{
      .battery_percent_min = 10, .thermal_max = ThermalState::critical, .free_memory_bytes_min = 5};
  EXPECT_EQ(combined(strict, lax), strict);
  EXPECT_EQ(combined(lax, strict), strict);
}

}  // namespace
}  // namespace coterie
