// A device in rounds of a job with groups (AFL): what it multiplies its update by, what it tells of its group, and for
// which plans it lets itself be drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/update_layout.h"
#include "proto/codec/codec.h"
#include "proto/messages/group_weights.h"
#include "secure/crypto/digest.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

constexpr float kWhole = 8;  // value_abs_max of the scripted plan
constexpr float kLossMax = 4;

Bytes file_of(const std::vector<float>& values) {
  Bytes file = encode_head(OptimizerStateHeader{.strategy = 12, .step = 3, .value_count = values.size(), .vectors = 1});
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  file.insert(file.end(), bytes, bytes + values.size() * sizeof(float));
  return file;
}

class AgentGroups : public AgentTest {
 protected:
  void SetUp() override {
    values_ = server_.plan.update.value_count;
    server_.plan.update.scalars.assign(2, {ScalarKind::group_member, 1});
    server_.plan.update.scalars.insert(server_.plan.update.scalars.end(), 2, {ScalarKind::group_loss, kLossMax});
    server_.plan.update.value_count = values_ + 4;
    settings_.group = 2;
  }
  // Empty: the plan names none.
  void begin_round(const Bytes& model, const std::vector<float>& control) {
    server_.control = control.empty() ? Bytes() : file_of(control);
    server_.plan.control.reset();
    if (!control.empty()) server_.plan.control = content_digest(server_.control);
    server_.begin_round(model);
  }
  std::vector<float> sent_step() const {
    const std::vector<float>& sent = server_.uploads().back().values;
    return {sent.begin(), sent.begin() + static_cast<long>(values_)};
  }
  std::vector<float> told() const {
    const std::vector<float>& sent = server_.uploads().back().values;
    return {sent.begin() + static_cast<long>(values_), sent.end()};
  }
  float loss_told(const Bytes& file) {
    const Model model = load_or_die(file);
    Examples examples(20, 16, 3);
    const Result<UpdateLayout> layout = UpdateLayout::of(model, model.value_count(), server_.plan);
    EXPECT_OK(layout);
    const Result<GivenFacts> facts = given_facts(model, {}, *layout, server_.plan, 1, examples);
    EXPECT_OK(facts);
    return static_cast<float>(facts->loss / static_cast<double>(kLossMax) * static_cast<double>(kWhole));
  }

  const std::vector<Bytes> models_ = {mlp(1), mlp(2)};
  uint64_t values_ = 0;
};

TEST_F(AgentGroups, WeighsItsUpdateByItsGroupThroughADeathBeforeEveryStep) {
  for (size_t round = 0; round < models_.size(); ++round) {
    begin_round(models_[round], round == 0 ? std::vector<float>() : std::vector<float>{0.75f, 0.25f, 0.25f, 0.75f});
    for (int lives = 0; server_.uploads().size() <= round && lives < 200; ++lives) {
      ASSERT_OK(open());
      step();
    }
    ASSERT_EQ(server_.uploads().size(), round + 1);
    std::vector<float> wanted = expected_delta(models_[round]);
    const auto factor = static_cast<float>(round == 0 ? 1.0 : (0.25 / 0.75) / (0.75 / 0.25));
    for (float& value : wanted) value *= factor;
    EXPECT_THAT(sent_step(), testing::Pointwise(FloatEq(), wanted)) << "round " << round;
    EXPECT_THAT(told(), ElementsAre(0, kWhole, 0, FloatEq(loss_told(models_[round]))));
  }
}

// It would be drawn in vain.
TEST_F(AgentGroups, SaysThatItKnowsGroupsOnlyIfItIsInOne) {
  begin_round(models_[0], {});
  for (const uint32_t group : {0u, 1u}) {
    settings_.group = group;
    PlanFeatures said = 0;
    server_.fail_next(Call::check_in, [&](const TransportRequest& request, const BodySink&) {
      const Result<CheckinRequest> asked = decode_checkin_request(request.body);
      EXPECT_OK(asked);
      said = asked->features;
      return Result<TransportResponse>(Error(ErrorCode::unavailable, "not now"));
    });
    ASSERT_OK(open());
    for (int steps = 0; said == 0 && steps < 5; ++steps) step();
    EXPECT_EQ(said & plan_feature::kGroups, group == 0 ? 0 : plan_feature::kGroups) << group;
    EXPECT_EQ(said | plan_feature::kGroups, kKnownFeatures) << group;
  }
}

TEST_F(AgentGroups, TrainsNothingForGroupsThatItIsNotIn) {
  for (const uint32_t group : {0u, 3u}) {
    settings_.group = group;
    begin_round(models_[0], {});
    ASSERT_OK(open());
    const AgentProgress progress = train();
    ASSERT_TRUE(progress.error) << group;
    EXPECT_NE(progress.error->message().find("the job's groups are 1 to 2"), std::string::npos)
        << progress.error->message();
  }
  EXPECT_TRUE(server_.uploads().empty());
  settings_.group = kGroupsMax + 1;
  EXPECT_ERROR(open(), ErrorCode::invalid_argument, "group must be at most 8");
}

TEST_F(AgentGroups, TrainsNothingByWeightsThatAreNone) {
  for (const std::vector<float>& bad : {std::vector<float>{2, 0, 0.5f, 0.5f}, {0, 0, 0.5f, 0.5f}, {0.5f, 0.5f, 1}}) {
    begin_round(models_[0], bad);
    ASSERT_OK(open());
    AgentProgress progress;
    for (int steps = 0; steps < 50 && !progress.error; ++steps) progress = step();
    EXPECT_TRUE(progress.error);
    EXPECT_TRUE(server_.uploads().empty());
  }
}

}  // namespace
}  // namespace coterie::test
