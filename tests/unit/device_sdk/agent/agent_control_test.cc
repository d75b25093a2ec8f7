// A device whose updates have a control part (SCAFFOLD): what it is handed with the model, sends, and keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "device_sdk/agent/drift_state.h"
#include "device_sdk/agent/encode_update.h"
#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/update_layout.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

Bytes control_file(const std::vector<float>& values, uint8_t vectors = 1) {
  Bytes file = encode_head(
      OptimizerStateHeader{.strategy = 8, .step = 3, .value_count = values.size() / vectors, .vectors = vectors});
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  file.insert(file.end(), bytes, bytes + values.size() * sizeof(float));
  return file;
}

class AgentControl : public AgentTest {
 protected:
  void SetUp() override {
    values_ = server_.plan.update.value_count;
    server_.plan.training.correction = {.kind = CorrectionKind::scaffold};
    server_.plan.training.local_epochs = 2;
    server_.plan.update.value_count = 2 * values_;
    server_.plan.update.control_value_count = values_;
    begin_round(0, {});
    ASSERT_OK(open());
  }
  // With this control of the server's; empty: the plan names none.
  void begin_round(size_t model, const std::vector<float>& control) {
    server_.control = control.empty() ? Bytes() : control_file(control);
    server_.plan.control.reset();
    if (!control.empty()) server_.plan.control = content_digest(server_.control);
    server_.begin_round(models_[model]);
  }
  std::vector<float> some_control(float first) const {
    std::vector<float> control(values_);
    for (size_t i = 0; i < control.size(); ++i) control[i] = first + 1e-4f * static_cast<float>(i % 7);
    return control;
  }
  // What this device must send, and moves `state` as if it counted.
  std::vector<float> expected(const Bytes& file, const std::vector<float>& control, std::vector<float>& state) {
    const Model model = load_or_die(file);
    Examples examples(20, 16, 3);
    const TrainingSettings& training = server_.plan.training;
    const uint64_t seed = Prng::derived(settings_.seed, server_.assignment().model_version.value()).next();
    Result<Trainer> trainer = Trainer::create(model, options_with_state(training, seed, state, control), examples);
    EXPECT_OK(trainer);
    while (!trainer->finished()) EXPECT_OK(trainer->step());
    std::vector<float> update(2 * values_);
    const std::span<float> all(update);
    trainer->delta(all.first(values_));
    if (needs_gradient(training.correction.kind)) {
      const Result<UpdateLayout> layout = UpdateLayout::of(model, model.value_count(), server_.plan);
      const Result<GivenFacts> facts = given_facts(model, {}, *layout, server_.plan, seed, examples);
      EXPECT_OK(facts);
      make_gradient_part(training.correction, parameter_values(model.graph()), facts->gradient, state,
                         all.last(values_));
    } else {
      make_control_part(training, trainer->summary().steps, parameter_values(model.graph()), all.first(values_),
                        control, all.last(values_));
    }
    EXPECT_OK(limit_update(update, server_.plan.update));
    if (!keeps_state(training.correction.kind)) return update;
    state = next_state(training.correction, parameter_values(model.graph()), state, update);
    return update;
  }
  bool has_control_file() const {
    return std::ranges::any_of(files(), [](const std::string& name) { return name.starts_with("control-"); });
  }
  const std::vector<float>& sent() const { return server_.uploads().back().values; }

  const std::vector<Bytes> models_ = {mlp(1), mlp(2), mlp(3), mlp(4)};
  uint64_t values_ = 0;
};

TEST_F(AgentControl, SendsBothPartsAndGoesOnFromWhatCounted) {
  std::vector<float> state;
  for (size_t round = 0; round < models_.size(); ++round) {
    const std::vector<float> control = round == 0 ? std::vector<float>() : some_control(0.01f);
    if (round > 0) begin_round(round, control);
    step_until(Activity::uploaded);
    ASSERT_EQ(sent().size(), 2 * values_);
    std::vector<float> none;
    if (round > 0) EXPECT_NE(sent(), expected(models_[round], control, none)) << "without its state";
    none = state;
    if (round > 0) EXPECT_NE(sent(), expected(models_[round], {}, none)) << "without the server's control";
    EXPECT_EQ(sent(), expected(models_[round], control, state)) << "round " << round;
    EXPECT_FALSE(has_control_file()) << "the round is over";
  }
}

TEST_F(AgentControl, KeepsTheOldStateWhenAnUpdateIsLost) {
  std::vector<float> state;
  step_until(Activity::uploaded);
  EXPECT_EQ(sent(), expected(models_[0], {}, state));
  begin_round(1, some_control(0.02f));
  server_.fail_next(Call::upload, ScriptedServer::typed(ErrorCode::round_closed));
  ASSERT_TRUE(step_until(Activity::uploaded).error);
  begin_round(2, some_control(0.03f));
  step_until(Activity::uploaded);
  EXPECT_EQ(sent(), expected(models_[2], some_control(0.03f), state)) << "as if the second round had not been";
}

TEST_F(AgentControl, IsTheSameThroughADeathBeforeEveryStep) {
  std::vector<float> state;
  for (size_t round = 0; round < models_.size(); ++round) {
    const std::vector<float> control = round == 0 ? std::vector<float>() : some_control(0.01f);
    if (round > 0) begin_round(round, control);
    for (int lives = 0; server_.uploads().size() <= round && lives < 200; ++lives) {
      ASSERT_OK(open());
      step();
    }
    ASSERT_EQ(server_.uploads().size(), round + 1);
    EXPECT_EQ(sent(), expected(models_[round], control, state)) << "to the bit";
  }
}

// Before each training the device looks at the given model; of that nothing outlives it.
TEST_F(AgentControl, SendsTheGradientAtTheGivenModelThroughADeathBeforeEveryStep) {
  size_t sent_before = 0;
  for (const CorrectionKind kind : {CorrectionKind::scaffold_gradient, CorrectionKind::mime_lite}) {
    server_.plan.training.correction = {.kind = kind};
    std::vector<float> state;
    for (size_t round = 0; round < models_.size(); ++round) {
      const std::vector<float> control = round == 0 ? std::vector<float>() : some_control(0.01f);
      begin_round(round, control);
      for (int lives = 0; server_.uploads().size() <= sent_before && lives < 200; ++lives) {
        ASSERT_OK(open());
        step();
      }
      ASSERT_EQ(server_.uploads().size(), ++sent_before) << to_string(kind) << ", round " << round;
      EXPECT_EQ(sent(), expected(models_[round], control, state)) << to_string(kind) << ", round " << round;
      EXPECT_EQ(state.empty(), kind == CorrectionKind::mime_lite);
    }
  }
}

// Whoever can put another vector in the control's place would steer the training.
TEST_F(AgentControl, RefusesAControlThatThePlanDoesNotName) {
  begin_round(1, some_control(0.01f));
  server_.fail_next(Call::model, [this](const TransportRequest& request, const BodySink& sink) {
    return ScriptedServer::answer(200, server_.model())(request, sink);
  });
  server_.fail_next(Call::model, ScriptedServer::answer(200, control_file(some_control(0.5f))));
  AgentProgress progress;
  for (int steps = 0; steps < 50 && !progress.error; ++steps) progress = step();
  ASSERT_TRUE(progress.error);
  EXPECT_NE(progress.error->message().find("control"), std::string::npos) << progress.error->message();
  EXPECT_TRUE(server_.uploads().empty());
}

TEST_F(AgentControl, TrainsNothingFromAControlThatIsNoVectorOfTheModel) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Bytes> bad;
  std::vector<float> values = some_control(0.01f);
  values[3] = nan;
  bad.push_back(control_file(values));
  if (values_ % 2 == 0) bad.push_back(control_file(some_control(0.01f), 2));
  bad.push_back(Bytes(bad[0].size(), 7));
  for (const Bytes& file : bad) {
    server_.control = file;
    server_.plan.control = content_digest(file);
    server_.begin_round(models_[1]);
    AgentProgress progress;
    for (int steps = 0; steps < 50 && !progress.error; ++steps) progress = step();
    EXPECT_TRUE(progress.error);
    EXPECT_TRUE(server_.uploads().empty());
  }
}

}  // namespace
}  // namespace coterie::test
