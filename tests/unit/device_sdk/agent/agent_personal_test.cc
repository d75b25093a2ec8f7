// A device that keeps a part of the model, or a model, to itself: what it trains, sends, keeps, and hands to the app.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "device_sdk/agent/own_training.h"
#include "device_sdk/agent/personal_model.h"
#include "proto/messages/personal_part.h"
#include "proto/messages/trained_values.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

const PersonalSettings kHead{.parameters = {"dense2.*"}};
const PersonalSettings kHeadFirst{.parameters = {"dense2.*"}, .first_epochs = 3};
const PersonalSettings kModel{.kind = PersonalKind::model, .lambda = 0.5f};

class AgentPersonal : public AgentTest {
 protected:
  void begin(const PersonalSettings& personal) {
    TrainingSettings& training = server_.plan.training;
    training.local_epochs = 2;
    training.batch_size = 20;  // all of them: the order of examples is of no consequence
    training.personal = personal;
    const Model model = load_or_die(models_[0]);
    if (personal.kind == PersonalKind::part) {
      server_.plan.update.whole_value_count = model.value_count();
      server_.plan.update.value_count = *trained_value_count(model.graph(), training);
    } else {
      server_.plan.update.whole_value_count = 0;
      server_.plan.update.value_count = model.value_count();
    }
    server_.begin_round(models_[0]);
    ASSERT_OK(open());
  }
  // A training of `start` by these options alone.
  std::vector<float> trained(const Bytes& file, const std::vector<float>& start,
                             const std::function<void(TrainOptions&)>& change) {
    const Model model = load_or_die(load_or_die(file).file_with(start));
    TrainingSettings settings = server_.plan.training;
    settings.personal.reset();
    TrainOptions options = options_of(settings, 1);
    change(options);
    Examples examples(20, 16, 3);
    Result<Trainer> trainer = Trainer::create(model, options, examples);
    EXPECT_OK(trainer);
    while (!trainer->finished()) EXPECT_OK(trainer->step());
    return {trainer->parameters().begin(), trainer->parameters().end()};
  }
  std::vector<float> parameters(const Bytes& file) {
    const Model model = load_or_die(file);
    return {model.parameters().begin(), model.parameters().end()};
  }
  ValueSelection own(const Bytes& file) {
    const Model model = load_or_die(file);
    return *personal_values(model.graph(), server_.plan.training, model.value_count());
  }
  // `into` with the values of `from` that are the device's own.
  std::vector<float> with_own(const std::vector<float>& from, std::vector<float> into) {
    const ValueSelection selection = own(models_[0]);
    for (const ValueRange& range : selection.ranges()) {
      std::copy_n(from.begin() + static_cast<ptrdiff_t>(range.first), range.count,
                  into.begin() + static_cast<ptrdiff_t>(range.first));
    }
    return into;
  }
  // What is sent of such a training, and moves `kept` to what the device then keeps: a whole vector, empty at first.
  std::vector<float> expected(const Bytes& file, std::vector<float>& kept) {
    const std::vector<float> given = parameters(file);
    const PersonalSettings& personal = *server_.plan.training.personal;
    std::vector<float> start = kept.empty() ? given : with_own(kept, given), end;
    if (personal.kind == PersonalKind::model) {
      kept = own_model(file, kept.empty() ? given : kept, personal.lambda);
      end = trained(file, given, [](TrainOptions&) {});
      start = given;
    } else if (personal.first_epochs > 0) {
      start = trained(file, start, [&](TrainOptions& options) {
        options.train_only = {"dense2.*"};
        options.epochs = personal.first_epochs;
      });
      kept = start;
      end = trained(file, start, [](TrainOptions& options) { options.freeze = {"dense2.*"}; });
    } else {
      kept = end = trained(file, start, [](TrainOptions&) {});
    }
    for (size_t i = 0; i < end.size(); ++i) end[i] -= start[i];
    const Model model = load_or_die(file);
    if (personal.kind == PersonalKind::model) return end;
    const ValueSelection shared = *trained_values(model.graph(), server_.plan.training);
    std::vector<float> values(shared.count());
    shared.gather(end, values);
    return values;
  }
  // Ditto as its paper has it: so many steps, each along the gradient at v and towards the given model.
  std::vector<float> own_model(const Bytes& file, std::vector<float> v, float lambda) {
    const std::vector<float> given = parameters(file);
    const float rate = server_.plan.training.optimizer.learning_rate;
    for (uint32_t epoch = 0; epoch < server_.plan.training.local_epochs; ++epoch) {
      const std::vector<float> along = trained(file, v, [](TrainOptions& options) { options.epochs = 1; });
      for (size_t i = 0; i < v.size(); ++i) v[i] = along[i] - rate * lambda * (v[i] - given[i]);
    }
    return v;
  }
  std::vector<float> personal(const Bytes& file) {
    const Result<Model> model = agent_->personal_model(server_.plan.job, load_or_die(file));
    EXPECT_OK(model);
    return model ? std::vector<float>(model->parameters().begin(), model->parameters().end()) : std::vector<float>();
  }
  void expect_near(const std::vector<float>& found, const std::vector<float>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 2e-6f) << i;
  }
  const std::vector<float>& sent() const { return server_.uploads().back().values; }

  const std::vector<Bytes> models_ = {mlp(1), mlp(2), mlp(3)};
};

TEST_F(AgentPersonal, TrainsSendsAndKeepsInEachRoundWhatItsKindSays) {
  for (const PersonalSettings& settings : {kHead, kHeadFirst, kModel}) {
    begin(settings);
    std::vector<float> kept;
    EXPECT_ERROR(agent_->personal_model(server_.plan.job, load_or_die(models_[0])), ErrorCode::not_found,
                 "keeps nothing to itself");
    for (size_t round = 0; round < models_.size(); ++round) {
      if (round > 0) server_.begin_round(models_[round]);
      step_until(Activity::uploaded);
      expect_near(sent(), expected(models_[round], kept));
      const bool has_part = settings.kind == PersonalKind::part;
      expect_near(personal(models_[2]), has_part ? with_own(kept, parameters(models_[2])) : kept);
    }
    agent_.reset();
    std::filesystem::remove_all(settings_.state_dir);
  }
}

TEST_F(AgentPersonal, SendsNothingOfItsOwn) {
  begin(kHead);
  step_until(Activity::uploaded);
  const Model model = load_or_die(models_[0]);
  uint64_t head = 0;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role == TensorRole::parameter && tensor.name.starts_with("dense2.")) {
      head += *element_count(tensor.shape);
    }
  }
  uint64_t all = 0;
  for (const ValueRange& range : parameter_values(model.graph())) all += range.count;
  EXPECT_GT(head, 0u);
  EXPECT_EQ(sent().size(), all - head);
}

TEST_F(AgentPersonal, GoesOnFromTheOldOneWhenAnUpdateIsLost) {
  begin(kHead);
  std::vector<float> kept;
  step_until(Activity::uploaded);
  expect_near(sent(), expected(models_[0], kept));
  server_.begin_round(models_[1]);
  server_.fail_next(Call::upload, ScriptedServer::typed(ErrorCode::round_closed));
  ASSERT_TRUE(step_until(Activity::uploaded).error);
  expect_near(personal(models_[2]), with_own(kept, parameters(models_[2])));
  server_.begin_round(models_[2]);
  step_until(Activity::uploaded);
  expect_near(sent(), expected(models_[2], kept));
}

// To the bit, through both trainings.
TEST_F(AgentPersonal, IsTheSameThroughADeathBeforeEveryStep) {
  for (const PersonalSettings& settings : {kHeadFirst, kModel}) {
    std::vector<std::vector<float>> wanted;
    for (const bool dies : {false, true}) {
      begin(settings);
      ScriptedServer server{models_[0]};  // of its own: so that both have the same versions
      server.plan = server_.plan;
      settings_.state_dir = directory_ / (std::string(to_string(settings.kind)) + (dies ? "-dies" : "-lives"));
      std::unique_ptr<Agent> agent;
      for (size_t round = 0; round < 2; ++round) {
        server.begin_round(models_[round]);
        for (int steps = 0; server.uploads().size() <= round && steps < 400; ++steps) {
          if (!agent || dies) {
            agent.reset();
            Result<std::unique_ptr<Agent>> opened = Agent::open(settings_, server, examples_);
            ASSERT_OK(opened);
            agent = std::move(*opened);
          }
          ASSERT_OK(agent->step());
        }
        ASSERT_EQ(server.uploads().size(), round + 1);
        if (!dies) wanted.push_back(server.uploads().back().values);
        else EXPECT_EQ(server.uploads().back().values, wanted.at(round)) << "to the bit";
      }
      agent_.reset();
    }
  }
}

// A part of other parameters is another one, though it is as long.
TEST_F(AgentPersonal, BeginsAnewIfTheJobAsksForAnotherPart) {
  begin(kHead);
  step_until(Activity::uploaded);
  server_.plan.training.personal->parameters = {"dense2.weight", "dense2.bias"};
  server_.begin_round(models_[1]);
  step_until(Activity::uploaded);
  std::vector<float> nothing;
  expect_near(sent(), expected(models_[1], nothing));
}

TEST_F(AgentPersonal, IsHandedOutToWhoHasTheDirectoryAlone) {
  begin(kHead);
  step_until(Activity::uploaded);
  const Model published = load_or_die(models_[1]);
  const std::vector<float> mine = personal(models_[1]);
  EXPECT_ERROR(personal_model(settings_.state_dir, server_.plan.job, published), ErrorCode::conflict, "another client");
  agent_.reset();
  const Result<Model> read = personal_model(settings_.state_dir, server_.plan.job, published);
  ASSERT_OK(read);
  EXPECT_TRUE(std::ranges::equal(read->parameters(), mine));
  EXPECT_ERROR(personal_model(settings_.state_dir, JobId("other"), published), ErrorCode::not_found, "other");
  const Model other = load_or_die(*make_model(ModelKind::mlp, {4, 4, 1}, 5, 1));
  EXPECT_ERROR(personal_model(settings_.state_dir, server_.plan.job, other), ErrorCode::data_loss, "");
  EXPECT_ERROR(personal_model(settings_.state_dir + "/none", server_.plan.job, published), ErrorCode::not_found,
               "no state directory");
}

}  // namespace
}  // namespace coterie::test
