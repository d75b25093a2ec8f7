// A device whose updates have the trained values alone: what it sends, keeps, and refuses.
#include <gtest/gtest.h>

#include <algorithm>

#include "device_sdk/agent/drift_state.h"
#include "device_sdk/agent/encode_update.h"
#include "device_sdk/runtime/lora.h"
#include "proto/messages/trained_values.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

class AgentTrained : public AgentTest {
 protected:
  void SetUp() override { whole_ = server_.plan.update.value_count; }
  // A round of these settings.
  void begin(const std::function<void(TrainingSettings&)>& change) {
    server_.plan.training.local_epochs = 2;
    change(server_.plan.training);
    const Model model = load_or_die(model_);
    server_.plan.update.whole_value_count = whole_;
    server_.plan.update.value_count = *trained_value_count(model.graph(), server_.plan.training);
    server_.begin_round(model_);
    ASSERT_OK(open());
  }
  const std::vector<float>& sent() const { return server_.uploads().back().values; }
  std::string why_not() {
    AgentProgress progress;
    for (int steps = 0; steps < 50 && !progress.error; ++steps) progress = step();
    EXPECT_TRUE(server_.uploads().empty());
    return progress.error ? std::string(progress.error->message()) : "";
  }

  uint64_t whole_ = 0;
};

TEST_F(AgentTrained, SendsTheValuesThatTrainingMoved) {
  begin([](TrainingSettings& training) { training.train_last = 1; });
  step_until(Activity::uploaded);
  const std::vector<float> whole = expected_delta(model_);
  const Model model = load_or_die(model_);
  const ValueSelection selection = *trained_values(model.graph(), server_.plan.training);
  std::vector<float> expected(selection.count());
  selection.gather(whole, expected);
  EXPECT_LT(expected.size(), whole.size());
  EXPECT_EQ(sent(), expected);
  EXPECT_EQ(selection.spread(expected, whole.size()), whole) << "what is frozen did not move";
}

TEST_F(AgentTrained, KeepsStateOfThoseValuesAlone) {
  const std::vector<Bytes> models = {mlp(1), mlp(2)};
  begin([](TrainingSettings& training) {
    training.train_last = 1;
    training.correction = {.kind = CorrectionKind::feddyn, .alpha = 0.5f};
  });
  std::vector<float> state;
  for (size_t round = 0; round < models.size(); ++round) {
    if (round > 0) server_.begin_round(models[round]);
    step_until(Activity::uploaded);
    const Model model = load_or_die(models[round]);
    const ValueSelection selection = *trained_values(model.graph(), server_.plan.training);
    Examples examples(20, 16, 3);
    const uint64_t seed = Prng::derived(settings_.seed, server_.assignment().model_version.value()).next();
    const std::vector<float> whole =
        state.empty() ? state : selection.spread(state, model.value_count());  // what each step adds
    Result<Trainer> trainer = Trainer::create(model, options_with_state(server_.plan.training, seed, whole), examples);
    ASSERT_OK(trainer);
    while (!trainer->finished()) ASSERT_OK(trainer->step());
    std::vector<float> delta(model.value_count()), expected(selection.count());
    trainer->delta(delta);
    selection.gather(delta, expected);
    EXPECT_EQ(sent(), expected) << "round " << round;
    const ValueRange all{0, expected.size()};
    state = next_state(server_.plan.training.correction, std::span(&all, 1), state, expected);
  }
}

TEST_F(AgentTrained, SendsTheCompanionsThatTrainingMoved) {
  begin([](TrainingSettings& training) {
    training.lora = LoraSettings{.rank = 2, .alpha = 4, .pattern = "*.weight", .fixed_a_seed = 3};
  });
  step_until(Activity::uploaded);
  const Model model = load_or_die(model_);
  const Result<Model> adapted = model_to_train(model, server_.plan.training);
  ASSERT_OK(adapted);
  Examples examples(20, 16, 3);
  const uint64_t seed = Prng::derived(settings_.seed, server_.assignment().model_version.value()).next();
  Result<Trainer> trainer = Trainer::create(*adapted, server_.plan.training, examples, seed);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  std::vector<float> delta(adapted->value_count()), expected;
  trainer->delta(delta);
  const std::vector<LoraPair> pairs = *lora_pairs(model.graph(), *server_.plan.training.lora);
  for (const LoraPair& pair : pairs) {  // in the order in which the server takes them
    const std::string name = model.graph().tensors[pair.weight].name + ".lora_b";
    const auto b = std::ranges::find(adapted->graph().tensors, name, &TensorInfo::name);
    ASSERT_NE(b, adapted->graph().tensors.end());
    const auto first = delta.begin() + static_cast<ptrdiff_t>(b->payload_offset / sizeof(float));
    expected.insert(expected.end(), first, first + static_cast<ptrdiff_t>(pair.b_values()));
  }
  EXPECT_GE(pairs.size(), 2u);
  EXPECT_EQ(sent(), expected);
  EXPECT_TRUE(std::ranges::any_of(sent(), [](float value) { return value != 0; }));
  // Merged as the server merges, the model computes what the device has trained.
  std::vector<float> merged(model.parameters().begin(), model.parameters().end());
  const std::vector<float> a = draw_lora_a(pairs, *server_.plan.training.lora);
  size_t a_first = 0, b_first = 0;
  for (const LoraPair& pair : pairs) {
    add_lora_product(pair, 2, std::span(a).subspan(a_first, pair.a_values()),
                     std::span(expected).subspan(b_first, pair.b_values()), 0,
                     std::span(merged).subspan(pair.first_value, pair.in * pair.out));
    a_first += pair.a_values();
    b_first += pair.b_values();
  }
  const std::vector<float> trained(trainer->parameters().begin(), trainer->parameters().end());
  EXPECT_EQ(merged, merge_lora(model, *server_.plan.training.lora, *adapted, trained));
}

// The server adds values up by their places: a device that counts others would move what it has not trained.
TEST_F(AgentTrained, RefusesAPlanThatCountsOtherValues) {
  begin([](TrainingSettings& training) { training.train_last = 1; });
  --server_.plan.update.value_count;
  server_.begin_round(model_);
  EXPECT_NE(why_not().find("values are trained"), std::string::npos);
}

// Refused before anything is drawn: the plan's counts have B alone, and A may be as large as its rank.
TEST_F(AgentTrained, RefusesCompanionsThatAreMoreThanTheModel) {
  begin([](TrainingSettings& training) {
    training.lora = LoraSettings{.rank = 1, .alpha = 1, .pattern = "*.weight", .fixed_a_seed = 3};
  });
  server_.plan.training.lora->rank = kLoraRankMax;
  server_.begin_round(model_);
  EXPECT_NE(why_not().find("companions of rank 4096"), std::string::npos);
}

TEST_F(AgentTrained, RefusesAPlanOfAnotherModel) {
  begin([](TrainingSettings& training) { training.train_last = 1; });
  ++server_.plan.update.whole_value_count;
  server_.begin_round(model_);
  EXPECT_NE(why_not().find("values, the model has"), std::string::npos);
}

}  // namespace
}  // namespace coterie::test
