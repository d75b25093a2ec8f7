// The agent against a scripted server: whole rounds, and everything that ends one early.
#include <gtest/gtest.h>

#include <limits>

#include "proto/codec/codec.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

class AgentRound : public AgentTest {
 protected:
  void SetUp() override { ASSERT_OK(open()); }
};

TEST_F(AgentRound, DoesOneThingAStepAndCleansUpWhenTheUpdateIsAccepted) {
  EXPECT_EQ(step().activity, Activity::enrolled);
  EXPECT_EQ(step().activity, Activity::checked_in);
  EXPECT_EQ(step().activity, Activity::fetched_plan);
  EXPECT_EQ(step().activity, Activity::fetched_model);
  const AgentProgress trained = train();
  EXPECT_EQ(trained.training.examples, 20u);
  EXPECT_EQ(trained.training.steps, 3u);
  const AgentProgress uploaded = step();
  EXPECT_EQ(uploaded.activity, Activity::uploaded);
  EXPECT_FALSE(uploaded.error) << uploaded.error->message();
  EXPECT_EQ(uploaded.rounds_done, 1u);
  EXPECT_EQ(files(), (std::vector<std::string>{"gate", "identity.key", "lock", "session.state"}));
  EXPECT_EQ(step().activity, Activity::checked_in);
}

TEST_F(AgentRound, FetchesThePlanOfAJobOnceAndAnotherPlanWhenThereIsOne) {
  step_until(Activity::uploaded);
  server_.begin_round(model_);
  step_until(Activity::uploaded);
  EXPECT_EQ(server_.calls(Call::plan), 1);
  server_.plan.update.clip_l2 = 0.5f;
  server_.begin_round(model_);
  step_until(Activity::uploaded);
  EXPECT_EQ(server_.calls(Call::plan), 2);
  EXPECT_EQ(server_.uploads().size(), 3u);
}

TEST_F(AgentRound, SendsWhatTrainingOnItsExamplesGivesAndNothingElse) {
  step_until(Activity::uploaded);
  ASSERT_EQ(server_.uploads().size(), 1u);
  const ScriptedServer::Upload& upload = server_.uploads()[0];
  EXPECT_EQ(upload.header.round, server_.assignment().round);
  EXPECT_EQ(upload.header.model, server_.assignment().model);
  EXPECT_EQ(upload.header.weight, 20u);
  EXPECT_EQ(upload.header.examples, 20u);
  EXPECT_GT(upload.header.loss_sum, 0);
  EXPECT_EQ(upload.values, expected_delta(model_));
}

TEST_F(AgentRound, ClipsAsThePlanSays) {
  server_.plan.update.clip_l2 = 0.01f;
  server_.begin_round(model_);
  step_until(Activity::uploaded);
  ASSERT_EQ(server_.uploads().size(), 1u);
  double squares = 0;
  for (const float value : server_.uploads()[0].values)
    squares += static_cast<double>(value) * static_cast<double>(value);
  EXPECT_NEAR(std::sqrt(squares), 0.01, 1e-6);
}

TEST_F(AgentRound, DoesNotUploadWhenAnExampleIsNotANumber) {
  examples_.set_feature(3, 5, std::numeric_limits<float>::quiet_NaN());
  step_until(Activity::fetched_model);
  const AgentProgress trained = train();
  ASSERT_TRUE(trained.error);
  EXPECT_EQ(trained.error->code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(agent_->state().assignment);
  EXPECT_EQ(files(), (std::vector<std::string>{"gate", "identity.key", "lock", "session.state"}));
  EXPECT_EQ(server_.calls(Call::upload), 0);
}

TEST_F(AgentRound, DoesNotUploadWhenTheLastStepOverflows) {
  server_.plan.training.batch_size = 20;  // one step: its loss is finite, its weights are not
  server_.plan.training.optimizer.learning_rate = 1e6f;
  server_.plan.training.optimizer.momentum = 0;
  for (uint64_t i = 0; i < 20; ++i) {
    for (size_t f = 0; f < 16; ++f) examples_.set_feature(i, f, f % 2 == 0 ? 1e34f : -1e34f);
  }
  server_.begin_round(model_);
  step_until(Activity::fetched_model);
  const AgentProgress trained = train();
  ASSERT_TRUE(trained.error);
  EXPECT_NE(trained.error->message().find("not finite"), std::string::npos) << trained.error->message();
  EXPECT_EQ(server_.calls(Call::upload), 0);
}

TEST_F(AgentRound, IsGivenUpWhenTheAppCannotReadAnExample) {
  examples_.fail_at(7);
  step_until(Activity::fetched_model);
  const AgentProgress trained = train();
  ASSERT_TRUE(trained.error);
  EXPECT_EQ(trained.error->message(), "the test's disk is gone");
  EXPECT_FALSE(agent_->state().assignment);
  examples_.heal();
  server_.begin_round(model_);
  EXPECT_FALSE(step_until(Activity::uploaded).error);
}

TEST_F(AgentRound, RefusesAPlanThatDoesNotFitItsModel) {
  server_.plan.update.value_count += 16;
  server_.begin_round(model_);
  step_until(Activity::fetched_model);
  const AgentProgress trained = train();
  ASSERT_TRUE(trained.error);
  EXPECT_EQ(trained.error->code(), ErrorCode::refused);
  EXPECT_EQ(server_.calls(Call::upload), 0);
}

// As many as a test likes; reading one is never reached.
class ManyExamples final : public ExampleSource {
 public:
  explicit ManyExamples(uint64_t size) : size_(size) {}
  uint64_t size() const override { return size_; }
  Status read(uint64_t, const Example&) override { return Error(ErrorCode::internal, "read"); }

 private:
  uint64_t size_;
};

TEST_F(AgentRound, RefusesToTrainWhatNoDeviceCanHold) {
  // 16 MiB of activations an example; a batch of them is over the arena's limit.
  ModelBuilder build("wide", {512, 512, 1}, 1);
  const TensorId wide = build.relu(build.conv2d(build.input(), {.filters = 16, .kernel = 3, .pad = 1}));
  const Bytes model = *build.finish(build.dense(build.global_average_pool2d(wide), 3));
  server_.plan.training.batch_size = 4096;
  server_.plan.update.value_count = load_or_die(model).value_count();
  server_.begin_round(model);
  for (const uint64_t size : {uint64_t{4096}, UINT64_MAX}) {
    ManyExamples examples(size);
    agent_.reset();
    settings_.state_dir = directory_ / std::to_string(size);
    auto opened = Agent::open(settings_, server_, examples);
    ASSERT_OK(opened);
    agent_ = std::move(*opened);
    step_until(Activity::fetched_model);
    const AgentProgress trained = train();
    agent_.reset();
    ASSERT_TRUE(trained.error);
    EXPECT_EQ(trained.error->code(), ErrorCode::too_large) << trained.error->message();
    EXPECT_EQ(server_.calls(Call::upload), 0);
  }
}

TEST_F(AgentRound, RefusesAModelWithAnotherDigestAndFetchesTheNextOneWhole) {
  step_until(Activity::fetched_plan);
  server_.fail_next(Call::model, ScriptedServer::answer(200, mlp(2)));
  const AgentProgress fetched = step_until(Activity::fetched_model);
  ASSERT_TRUE(fetched.error);
  EXPECT_EQ(fetched.error->code(), ErrorCode::refused);
  EXPECT_EQ(files(), (std::vector<std::string>{"gate", "identity.key", "lock", "session.state"}));
  EXPECT_FALSE(step_until(Activity::uploaded).error);
  EXPECT_EQ(server_.ranges(), (std::vector<std::string>{"", ""}));
}

TEST_F(AgentRound, EndsWithoutFilesWhenTheServerHasClosedIt) {
  step_until(Activity::trained);
  server_.fail_next(Call::upload, ScriptedServer::typed(ErrorCode::round_closed));
  const AgentProgress uploaded = step_until(Activity::uploaded);
  ASSERT_TRUE(uploaded.error);
  EXPECT_EQ(uploaded.error->code(), ErrorCode::round_closed);
  EXPECT_EQ(uploaded.rounds_done, 0u);
  EXPECT_EQ(files(), (std::vector<std::string>{"gate", "identity.key", "lock", "session.state"}));
}

TEST_F(AgentRound, AsksTheAppForATokenInsteadOfTheServer) {
  settings_.enrollment_token.clear();
  ASSERT_OK(open());
  const AgentProgress first = step();
  ASSERT_TRUE(first.error);
  EXPECT_NE(first.error->message().find("enrollment token"), std::string::npos);
  EXPECT_EQ(step().activity, Activity::stopped);
  EXPECT_EQ(server_.calls(Call::enroll), 0);
}

TEST_F(AgentRound, AnAssignmentThatIsOverBeforeItBeganIsNotBegun) {
  server_.not_after = wall_time_from_unix_ms(1'000'000'000'000);
  server_.begin_round(model_);
  const AgentProgress checked_in = step_until(Activity::checked_in);
  ASSERT_TRUE(checked_in.error);
  EXPECT_EQ(checked_in.error->code(), ErrorCode::ticket_expired);
  EXPECT_EQ(server_.calls(Call::plan), 0);
}

TEST_F(AgentRound, TellsAppAndServerWhichPlanItsPolicyRefuses) {
  settings_.policy.privacy.security_level_min = SecurityLevel::masked;
  ASSERT_OK(open());
  const AgentProgress fetched = step_until(Activity::fetched_plan);
  ASSERT_TRUE(fetched.refused_plan);
  EXPECT_EQ(fetched.refused_plan->error.reason(), "security_level");
  EXPECT_EQ(fetched.refused_plan->round, server_.assignment().round);
  EXPECT_TRUE(server_.refusals().empty());
  ASSERT_OK(open());
  const AgentProgress checked_in = step_until(Activity::checked_in);
  EXPECT_FALSE(checked_in.refused_plan);
  EXPECT_EQ(server_.refusals(), std::vector<Refusal>({{server_.assignment().round, "security_level"}}));
  EXPECT_EQ(server_.calls(Call::model), 0) << "nothing more was fetched";
  EXPECT_TRUE(server_.uploads().empty());
}

// What the round before cost is on the disk before its update leaves.
TEST_F(AgentRound, RemembersItsPartThroughAKillBeforeTheUpload) {
  settings_.policy.privacy.separation_min = 5;
  ASSERT_OK(open());
  step_until(Activity::fetched_model);
  train();
  const auto stored = os::read_file(settings_.state_dir + "/session.state", 1 << 20);
  ASSERT_OK(stored);
  const auto state = decode_participant_state(*stored);
  ASSERT_OK(state);
  EXPECT_EQ(state->took_part.at(JobId("job")), server_.assignment().model_version);
  step_until(Activity::uploaded);
  server_.begin_round(model_);
  EXPECT_EQ(step_until(Activity::fetched_plan).refused_plan->error.reason(), "separation");
}

TEST_F(AgentRound, IsNotOpenedWithAPolicyThatMeansNothing) {
  settings_.policy.privacy.delta_max = 2;
  EXPECT_ERROR(open(), ErrorCode::invalid_argument, "delta_max");
}

// Twice while the device sleeps once: it follows both, and a restart does not forget them.
TEST_F(AgentTest, GoesOnWithAServerWhoseKeyIsReplaced) {
  ASSERT_OK(open());
  server_.begin_round(model_);
  step_until(Activity::uploaded);
  server_.replace_key();
  server_.begin_round(model_);
  step_until(Activity::uploaded);
  EXPECT_EQ(server_.uploads().size(), 2u);
  server_.replace_key();
  server_.replace_key();
  ASSERT_OK(open());
  server_.begin_round(model_);
  step_until(Activity::uploaded);
  EXPECT_EQ(server_.uploads().size(), 3u);
  EXPECT_EQ(agent_->state().keys.retiring.size(), 3u);
}

TEST_F(AgentTest, RefusesAServerWhoseKeyAStrangerHasNamed) {
  ASSERT_OK(open());
  step_until(Activity::enrolled);
  const PinnedKeys pinned = agent_->state().keys;
  const std::unique_ptr<Signer> stranger = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 9)));
  server_.replace_key(stranger.get());
  server_.begin_round(model_);
  const AgentProgress progress = step_until(Activity::checked_in);
  ASSERT_TRUE(progress.error);
  EXPECT_EQ(progress.error->code(), ErrorCode::refused) << progress.error->message();
  EXPECT_EQ(agent_->state().keys, pinned);
  EXPECT_EQ(server_.calls(Call::plan), 0);
}

// What was trained for the one is no update for the other, though one answer leads from this to that.
TEST_F(AgentRound, TrainsAnewWhereItsUpdateIsTooLateForTheNextRound) {
  server_.plan.staleness = {.versions_max = 1, .exponent = 0.5f};
  server_.begin_round(model_);
  step_until(Activity::fetched_model);
  train();
  server_.fail_next(Call::upload, ScriptedServer::typed(ErrorCode::ticket_expired));
  EXPECT_TRUE(step().error);
  const Bytes later = mlp(2);
  server_.begin_round(mlp(3));
  server_.begin_round(later);
  EXPECT_EQ(step().activity, Activity::checked_in);
  EXPECT_EQ(agent_->state().phase, ParticipantPhase::assigned) << "two versions: its plan counts one";
  step_until(Activity::uploaded);
  ASSERT_EQ(server_.uploads().size(), 1u);
  EXPECT_EQ(server_.uploads()[0].header.round, server_.assignment().round);
  EXPECT_EQ(server_.uploads()[0].header.model, server_.assignment().model);
  EXPECT_EQ(server_.uploads()[0].values, expected_delta(later));
}

}  // namespace
}  // namespace coterie::test
