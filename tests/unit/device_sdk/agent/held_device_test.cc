// A device that is held back: by what its app or a plan asks for and is not so, and by what it has spent; before it is
// assigned work, and in the middle of it.
#include <gtest/gtest.h>

#include "device_sdk/agent/metered_transport.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

const DeviceConditions kBest{.idle = ConditionAnswer::yes,
                             .charging = ConditionAnswer::yes,
                             .unmetered = ConditionAnswer::yes,
                             .foreground = ConditionAnswer::yes,
                             .battery_percent = 100,
                             .thermal = ThermalState::nominal,
                             .free_memory_bytes = 1 << 30};

// Requirements that a device of which nothing is known does not meet, and of which `kBest` meets all but `background`.
std::vector<std::pair<std::string, DeviceRequirements>> requirements() {
  using R = DeviceRequirements;
  return {{"idle", R{.idle = true}},
          {"charging", R{.charging = true}},
          {"unmetered", R{.unmetered = true}},
          {"foreground", R{.foreground = true}},
          {"background", R{.background = true}},
          {"battery", R{.battery_percent_min = 50}},
          {"thermal", R{.thermal_max = ThermalState::fair}},
          {"free_memory", R{.free_memory_bytes_min = 1000}}};
}

class HeldDevice : public AgentTest {
 protected:
  HeldDevice() {
    settings_.conditions = [this] {
      if (asked_until_worse_ > 0 && --asked_until_worse_ == 0) conditions_ = {};
      return conditions_;
    };
  }
  std::string reason_of(const AgentProgress& progress) const {
    return progress.error ? std::string(progress.error->reason()) : "";
  }

  DeviceConditions conditions_ = kBest;
  int asked_until_worse_ = 0;  // 0: they stay
};

TEST_F(HeldDevice, SendsNothingUntilWhatItsAppAsksForIsSoAndThenSaysWhatHeldIt) {
  ASSERT_OK(open());
  step_until(Activity::enrolled);
  for (const auto& [reason, required] : requirements()) {
    settings_.policy.required = required;
    ASSERT_OK(open());
    conditions_ = {};
    const int before = server_.calls(Call::check_in);
    const AgentProgress held = step();
    EXPECT_EQ(held.activity, Activity::held);
    EXPECT_EQ(reason_of(held), reason);
    EXPECT_GT(held.wait, Millis(0));
    EXPECT_EQ(server_.calls(Call::check_in), before);
    conditions_ = kBest;
    if (required.background) conditions_.foreground = ConditionAnswer::no;
    EXPECT_EQ(step().activity, Activity::checked_in);
    ASSERT_FALSE(server_.refusals().empty());
    EXPECT_EQ(server_.refusals().back(), (Refusal{RoundKey{}, reason}));
    const size_t heard = server_.refusals().size();
    step_until(Activity::uploaded);
    server_.begin_round(model_);
    EXPECT_EQ(server_.refusals().size(), heard) << "it is said once";
  }
}

TEST_F(HeldDevice, RefusesAPlanWhoseRequirementsAreNotMetWhenItComesAndTellsTheServer) {
  settings_.checkpoint_steps = 1;
  conditions_ = {};
  ASSERT_OK(open());
  for (const auto& [reason, required] : requirements()) {
    server_.plan.device_requirements = required;
    server_.begin_round(model_);
    const AgentProgress fetched = step_until(Activity::fetched_plan);
    ASSERT_TRUE(fetched.refused_plan) << reason;
    EXPECT_EQ(fetched.refused_plan->error.reason(), reason);
    const RoundKey round = server_.assignment().round;
    server_.begin_round(model_);
    step_until(Activity::checked_in);
    ASSERT_FALSE(server_.refusals().empty());
    EXPECT_EQ(server_.refusals().back(), (Refusal{round, reason}));
    step_until(Activity::fetched_plan);
  }
  EXPECT_EQ(server_.calls(Call::model), 0);
}

TEST_F(HeldDevice, StopsTrainingAtTheNextStepKeepsACheckpointAndGoesOnToTheSameUpdate) {
  settings_.checkpoint_steps = 1000;
  settings_.policy.required.charging = true;
  ASSERT_OK(open());
  step_until(Activity::fetched_model);
  asked_until_worse_ = 3;  // at the begin, before the first step, before the second
  const AgentProgress trained = step();
  EXPECT_EQ(trained.activity, Activity::trained);
  EXPECT_EQ(trained.training.steps, 1u);
  EXPECT_EQ(agent_->state().phase, ParticipantPhase::training);
  EXPECT_EQ(reason_of(step()), "charging");
  ASSERT_OK(open());  // as if it was killed
  EXPECT_EQ(reason_of(step()), "charging");
  conditions_ = kBest;
  const AgentProgress resumed = step();
  EXPECT_EQ(resumed.activity, Activity::trained);
  EXPECT_EQ(resumed.training.steps, 3u);
  step_until(Activity::uploaded);
  ASSERT_EQ(server_.uploads().size(), 1u);
  EXPECT_EQ(server_.uploads()[0].values, expected_delta(model_));
}

TEST_F(HeldDevice, GivesARoundUpThatIsOverWhileItIsHeldBackAndTellsTheServerOfThatRound) {
  settings_.policy.required.charging = true;
  ASSERT_OK(open());
  step_until(Activity::fetched_model);
  server_.not_after = wall_time_from_unix_ms(1);  // of the rounds that follow
  conditions_ = {};
  EXPECT_EQ(reason_of(step()), "charging");
  EXPECT_TRUE(agent_->state().assignment);
  const RoundKey round = agent_->state().assignment->round;
  EXPECT_EQ(agent_->state().refusal, (Refusal{round, "charging"}));
}

TEST_F(HeldDevice, IsHeldBackByEachBudgetAndNeverExceedsIt) {
  const uint64_t ahead = kTrafficAheadBytes;
  const std::vector<std::pair<std::string, DailyLimits>> budgets = {
      {"cpu_budget", {.work = {.cpu_us = 999'999}}},
      {"upload_budget", {.work = {.upload_bytes = 100}}},
      {"download_budget", {.work = {.download_bytes = ahead - 1}}},
      {"energy_budget", {.energy_mj = 999, .power_mw = 1'000}}};
  ASSERT_OK(open());
  step_until(Activity::enrolled);
  for (const auto& [reason, limits] : budgets) {
    settings_.limits = limits;
    ASSERT_OK(open());
    const int before = server_.calls(Call::check_in);
    const AgentProgress held = step();
    EXPECT_EQ(held.activity, Activity::held) << reason;
    EXPECT_EQ(reason_of(held), reason);
    EXPECT_EQ(server_.calls(Call::check_in), before) << reason;
  }
}

TEST_F(HeldDevice, RefusesAPlanForWhoseModelOrUpdateTooLittleIsLeft) {
  for (const auto& [reason, limits] :
       {std::pair<std::string, DailyLimits>{"upload_budget", {.work = {.upload_bytes = 3'000}}},
        {"download_budget", {.work = {.download_bytes = kTrafficAheadBytes + 3'000}}}}) {
    model_ = *make_model(ModelKind::mlp, {40, 40, 1}, 3, 1);
    server_.begin_round(model_);
    settings_.state_dir = directory_ / reason;
    settings_.limits = limits;
    ASSERT_OK(open());
    const AgentProgress fetched = step_until(Activity::fetched_plan);
    ASSERT_TRUE(fetched.refused_plan) << reason;
    EXPECT_EQ(fetched.refused_plan->error.reason(), reason);
  }
}

// Rounds go by until the budget of bytes up is spent: what the server got is within it.
TEST_F(HeldDevice, SpendsItsBudgetOnRoundsAndNoMore) {
  settings_.limits.work.upload_bytes = 20'000;
  ASSERT_OK(open());
  uint64_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    const AgentProgress progress = step();
    if (progress.activity == Activity::uploaded) server_.begin_round(model_);
    if (progress.activity == Activity::held || progress.refused_plan) break;
    if (i % 3 == 0) {
      ASSERT_OK(open());
    }
  }
  for (const ScriptedServer::Upload& upload : server_.uploads()) sent += upload.bytes.size();
  EXPECT_GE(server_.uploads().size(), 2u);
  EXPECT_LE(sent, 20'000u);
}

}  // namespace
}  // namespace coterie::test
