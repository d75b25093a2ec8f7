// Trainings with several heads: a net whose gradient is computed by hand, others by central differences, and that one
// head is what the training without heads is, to the bit.
#include "device_sdk/runtime/loss_heads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/memory_budget.h"
#include "device_sdk/runtime/model_part.h"
#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/messages/model_outputs.h"
#include "tests/support/central_difference.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

// Features, and rows of a target of as many cells as there are.
class Rows : public ExampleSource {
 public:
  Rows(std::vector<std::vector<float>> features, std::vector<std::vector<float>> targets, bool are_labels = false)
      : features_(std::move(features)), targets_(std::move(targets)), are_labels_(are_labels) {}

  uint64_t size() const override { return features_.size(); }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::copy(features_[index], to.features().begin());
    const std::vector<float>& target = targets_[index];
    if (to.targets().size() != target.size()) return Error(ErrorCode::invalid_argument, "another target");
    for (size_t i = 0; i < target.size(); ++i) {
      if (are_labels_) to.labels()[i] = static_cast<int32_t>(target[i]);
      else to.targets()[i] = target[i];
    }
    return {};
  }

  std::vector<std::vector<float>> features_, targets_;
  bool are_labels_;
};

std::string name_of(const Model& model, size_t output) {
  return model.graph().tensors[(*graph_outputs(model.graph()))[output]].name;
}

LossSettings heads_of(const Model& model, std::vector<std::pair<Loss, float>> heads,
                      TargetKind target = TargetKind::values) {
  LossSettings loss{.target = target};
  std::vector<TrainingHead> asked;
  for (size_t i = 0; i < heads.size(); ++i) asked.push_back({name_of(model, i), heads[i].first, heads[i].second});
  set_heads(loss, std::move(asked));
  return loss;
}

// h = w x, y = a h, z = b h.
Model two_heads() {
  ModelBuilder build("two", {1}, 1);
  const TensorId h = build.op(OpKind::dense, {build.input(), build.parameter("w", {1, 1}, {0.5f})});
  const TensorId y = build.op(OpKind::dense, {h, build.parameter("a", {1, 1}, {3})});
  const TensorId z = build.op(OpKind::dense, {h, build.parameter("b", {1, 1}, {-1})});
  return load_or_die(build.finish(y, std::vector{z}));
}

float change_of(const Model& model, const Trainer& trainer, const std::string& name) {
  std::vector<float> delta(model.value_count());
  trainer.delta(delta);
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.name == name) return delta[tensor.payload_offset / sizeof(float)];
  }
  return NAN;
}

TrainOptions once(LossSettings loss, uint32_t batch = 8) {
  return {.loss = std::move(loss), .optimizer = {.learning_rate = 1}, .batch_size = batch, .seed = 1};
}

// With x = 2: h = 1, y = 3, z = -1; the targets are 1 and 1. The loss is 0.5 (y - 1)^2 + 2 (z - 1)^2 = 2 + 8.
TEST(LossHeads, FollowTheGradientOfTheirWeightedSum) {
  const Model model = two_heads();
  Rows rows({{2}}, {{1, 1}});
  const LossSettings loss = heads_of(model, {{Loss::mean_squared_error, 0.5f}, {Loss::mean_squared_error, 2}});
  Result<Trainer> trainer = Trainer::create(model, once(loss), rows);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  EXPECT_FLOAT_EQ(change_of(model, *trainer, "a"), -0.5f * 2 * 2 * 1);
  EXPECT_FLOAT_EQ(change_of(model, *trainer, "b"), -2.0f * 2 * -2 * 1);
  EXPECT_FLOAT_EQ(change_of(model, *trainer, "w"), -(0.5f * 2 * 2 * 3 + 2.0f * 2 * -2 * -1) * 2);
  EXPECT_DOUBLE_EQ(trainer->summary().loss_sum, 10);
  const std::vector<HeadResult> heads = trainer->heads();
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_DOUBLE_EQ(heads[0].loss_mean, 4);
  EXPECT_DOUBLE_EQ(heads[1].loss_mean, 4);
  EXPECT_EQ(heads[1].output, name_of(model, 1));
  EXPECT_EQ(heads[1].measure, HeadMeasure::mean_absolute_error);
  EXPECT_DOUBLE_EQ(heads[1].value, 2);

  Result<Evaluator> evaluator = Evaluator::create(model, loss, 4);
  ASSERT_OK(evaluator);
  const Result<Evaluation> evaluation = evaluator->run(model.parameters(), rows);
  ASSERT_OK(evaluation);
  EXPECT_DOUBLE_EQ(evaluation->loss_mean, 10);
  EXPECT_DOUBLE_EQ(evaluator->heads()[1].value, 2);
}

// A trunk, a head within it whose output later layers read, a class, and a yes or no.
Model branched() {
  ModelBuilder build("branched", {5}, 3);
  const TensorId trunk = build.dense(build.op(OpKind::tanh, {build.dense(build.input(), 6)}), 4);
  const TensorId classes = build.dense(build.op(OpKind::tanh, {trunk}), 3);
  const TensorId odds = build.dense(trunk, 1);
  return load_or_die(build.finish(classes, std::vector{trunk, odds}));
}

Rows branched_rows(uint64_t count) {
  Prng prng(9);
  std::vector<std::vector<float>> features(count), targets(count);
  for (uint64_t i = 0; i < count; ++i) {
    for (int k = 0; k < 5; ++k) features[i].push_back(static_cast<float>(prng.uniform(-1, 1)));
    targets[i].push_back(static_cast<float>(prng.below(3)));
    for (int k = 0; k < 4; ++k) targets[i].push_back(static_cast<float>(prng.uniform(-1, 1)));
    targets[i].push_back(static_cast<float>(prng.below(2)));
  }
  return {std::move(features), std::move(targets)};
}

LossSettings branched_loss(const Model& model) {
  return heads_of(model, {{Loss::softmax_cross_entropy, 1.5f}, {Loss::huber, 0.5f}, {Loss::binary_cross_entropy, 2}});
}

double loss_at(const Model& model, const std::vector<float>& parameters, Rows& rows, const LossSettings& loss) {
  Result<Evaluator> evaluator = Evaluator::create(model, loss, 8);
  EXPECT_OK(evaluator);
  const Result<Evaluation> evaluation = evaluator->run(parameters, rows);
  EXPECT_OK(evaluation);
  return evaluation->loss_mean;
}

TEST(LossHeads, HaveTheGradientOfCentralDifferences) {
  const Model model = branched();
  Rows rows = branched_rows(8);
  const LossSettings loss = branched_loss(model);
  Result<Trainer> trainer = Trainer::create(model, once(loss), rows);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);
  std::vector<float> parameters(model.parameters().begin(), model.parameters().end());
  EXPECT_NEAR(trainer->summary().loss_sum / 8, loss_at(model, parameters, rows, loss), 1e-6);
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    const size_t first = tensor.payload_offset / sizeof(float);
    for (size_t i = first; i < first + elements(tensor.shape); i += 2) {
      const double gradient =
          central_difference(parameters[i], 5e-3f, [&] { return loss_at(model, parameters, rows, loss); });
      ASSERT_NEAR(-delta[i], gradient, 2e-4 + 4e-3 * std::fabs(gradient)) << tensor.name << " " << i - first;
      ASSERT_GT(std::fabs(gradient), 1e-6) << tensor.name;
    }
  }
}

TEST(LossHeads, DoNotDependOnMicroBatchesOrThreads) {
  const Model model = branched();
  Rows rows = branched_rows(11);
  const auto trained = [&](uint32_t micro, uint32_t threads) {
    TrainOptions options = once(branched_loss(model), 4);
    options.micro_batch_size = micro;
    options.threads = threads;
    options.part_nanoseconds_min = 0;
    options.optimizer.learning_rate = 0.1f;
    Result<Trainer> trainer = Trainer::create(model, options, rows);
    EXPECT_OK(trainer);
    while (!trainer->finished()) EXPECT_OK(trainer->step());
    return std::move(*trainer);
  };
  const Trainer whole = trained(0, 1), cut = trained(0, 3), parts = trained(2, 1);
  EXPECT_EQ(std::memcmp(whole.parameters().data(), cut.parameters().data(), whole.parameters().size_bytes()), 0);
  for (size_t i = 0; i < model.value_count(); ++i) EXPECT_NEAR(whole.parameters()[i], parts.parameters()[i], 1e-5);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(whole.heads()[i].loss_mean, parts.heads()[i].loss_mean, 1e-5);
    EXPECT_NEAR(whole.heads()[i].value, parts.heads()[i].value, 1e-5);
  }
  EXPECT_EQ(whole.heads()[2].measure, HeadMeasure::accuracy);
}

TEST(LossHeads, AloneAreTheTrainingWithoutHeads) {
  const Model model = small_cnn();
  Examples examples(20, 64, 10);
  const auto trained = [&](const LossSettings& loss) {
    Result<Trainer> trainer = Trainer::create(model, {.loss = loss, .batch_size = 8, .epochs = 2}, examples);
    EXPECT_OK(trainer);
    while (!trainer->finished()) EXPECT_OK(trainer->step());
    return std::move(*trainer);
  };
  const Trainer plain = trained({});
  const Trainer headed = trained(heads_of(model, {{Loss::softmax_cross_entropy, 1}}, TargetKind::labels));
  EXPECT_EQ(std::memcmp(plain.parameters().data(), headed.parameters().data(), plain.parameters().size_bytes()), 0);
  EXPECT_EQ(plain.summary().correct, headed.summary().correct);
  EXPECT_NEAR(plain.summary().loss_sum, headed.summary().loss_sum, 1e-9);
  EXPECT_TRUE(plain.heads().empty());
}

// Two classifications, of which examples may lack one: their labels are int32, and -100 is none.
TEST(LossHeads, IgnoreLabelsEachByItself) {
  const Model model = [] {
    ModelBuilder build("classes", {3}, 2);
    const TensorId trunk = build.dense(build.input(), 4);
    const TensorId a = build.dense(trunk, 2);
    return load_or_die(build.finish(a, std::vector{build.dense(trunk, 3)}));
  }();
  LossSettings loss =
      heads_of(model, {{Loss::softmax_cross_entropy, 1}, {Loss::softmax_cross_entropy, 1}}, TargetKind::labels);
  Rows rows({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {{1, -100}, {-100, 2}, {0, -100}}, true);
  Result<Trainer> refused = Trainer::create(model, once(loss, 3), rows);
  ASSERT_OK(refused);
  EXPECT_ERROR(refused->step(), ErrorCode::invalid_argument, "of the head " + name_of(model, 1));
  loss.ignore_label = -100;
  Result<Trainer> trainer = Trainer::create(model, once(loss, 3), rows);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  EXPECT_EQ(trainer->heads()[0].rows, 2u);
  EXPECT_EQ(trainer->heads()[1].rows, 1u);
  EXPECT_EQ(trainer->summary().rows, 2u);
  Rows first({{1, 0, 0}, {0, 0, 1}}, {{1}, {0}}, true);
  LossSettings alone = loss;
  alone.heads.pop_back();
  Result<Evaluator> evaluator = Evaluator::create(model, alone, 2);
  ASSERT_OK(evaluator);
  ASSERT_OK(evaluator->run(model.parameters(), first));
  EXPECT_NEAR(trainer->heads()[0].loss_mean, evaluator->heads()[0].loss_mean, 1e-6);
  TrainOptions parts = once(loss, 3);
  parts.micro_batch_size = 1;
  EXPECT_ERROR(Trainer::create(model, parts, rows), ErrorCode::invalid_argument, "micro_batch_size must be 0");
  EXPECT_ERROR(fit_training_within(model, once(loss, 4), 4, 1), ErrorCode::too_large, "it needs at least");
}

TEST(LossHeads, AreRememberedByACheckpoint) {
  const TemporaryDirectory folder;
  const Model model = branched();
  Rows rows = branched_rows(10);
  TrainOptions options = once(branched_loss(model), 4);
  options.optimizer.learning_rate = 0.1f;
  Result<Trainer> trainer = Trainer::create(model, options, rows);
  ASSERT_OK(trainer);
  for (int i = 0; i < 2; ++i) ASSERT_OK(trainer->step());
  ASSERT_OK(trainer->save_checkpoint(folder / "ck"));
  Result<Trainer> again = Trainer::create(model, options, rows);
  ASSERT_OK(again);
  ASSERT_OK(again->restore_checkpoint(folder / "ck"));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again->heads()[i].loss_mean, trainer->heads()[i].loss_mean);
    EXPECT_EQ(again->heads()[i].value, trainer->heads()[i].value);
  }
  options.loss.heads[1].weight = 0.25f;
  Result<Trainer> other = Trainer::create(model, options, rows);
  ASSERT_OK(other);
  EXPECT_ERROR(other->restore_checkpoint(folder / "ck"), ErrorCode::conflict, "heads");
}

TEST(LossHeads, AreAnsweredTogether) {
  const Model model = branched();
  Result<Predictor> all = Predictor::create_of_all(model, 2);
  ASSERT_OK(all);
  Result<Predictor> own = Predictor::create(model, 2);
  ASSERT_OK(own);
  const std::vector<float> x = {.1f, .2f, .3f, .4f, .5f, -1, -2, 1, 2, 0, 3, 1, 4, 1, 5};
  const std::span<const float> inputs[] = {x};
  std::vector<float> a(9), b(12), c(3), alone(9);
  ASSERT_OK(all->run(inputs, 3, std::vector<std::span<float>>{a, b, c}));
  ASSERT_OK(own->run(inputs, 3, alone));
  EXPECT_EQ(a, alone);
  EXPECT_NE(b[0], 0);
  EXPECT_NE(c[2], 0);
  EXPECT_ERROR(all->run(inputs, 3, alone), ErrorCode::invalid_argument, "1 outputs, computed are 3");
}

TEST(LossHeads, AreRefusedByName) {
  const Model model = branched();
  Rows rows = branched_rows(4);
  const auto refuses = [&](const LossSettings& loss, const std::string& why) {
    EXPECT_ERROR(Trainer::create(model, once(loss), rows), ErrorCode::invalid_argument, why);
  };
  const LossSettings good = branched_loss(model);
  LossSettings bad = good;
  for (const float weight : {0.0f, -1.0f, NAN, INFINITY}) {
    bad.heads[1].weight = weight;
    refuses(bad, "the weight of " + good.heads[1].output + " must be in");
  }
  bad = good;
  bad.heads[2].output = "nothing";
  refuses(bad, "the model has no output nothing; it has " + good.heads[0].output);
  bad.heads[2].output = good.heads[1].output;
  refuses(bad, "two are of the output");
  bad = good;
  bad.heads.resize(kHeadsMax + 1, bad.heads[0]);
  refuses(bad, "there are 17, at most 16");
  bad = good;
  bad.heads[0].loss = static_cast<Loss>(99);
  bad.kind = bad.heads[0].loss;
  refuses(bad, "unknown");
  bad = good;
  bad.heads[2].loss = Loss::softmax_cross_entropy;
  refuses(bad, "head " + good.heads[2].output);
  bad = good;
  std::swap(bad.heads[0], bad.heads[1]);
  bad.kind = bad.heads[0].loss;
  refuses(bad, "the first must be of the model's own output");
  bad = good;
  bad.class_weights = {1, 2, 3};
  refuses(bad, "class_weights");
  TrainOptions quantised = once(good);
  quantised.qat.emplace();
  EXPECT_ERROR(Trainer::create(model, quantised, rows), ErrorCode::invalid_argument,
               "qat and heads do not go together");
  for (const float label : {0.5f, NAN, 3e9f}) {
    rows.targets_[1][0] = label;
    Result<Trainer> trainer = Trainer::create(model, once(good), rows);
    ASSERT_OK(trainer);
    EXPECT_ERROR(trainer->step(), ErrorCode::invalid_argument, "that is no whole number");
  }
}

TEST(LossHeads, AreTextsOfOutputLossAndWeight) {
  EXPECT_EQ(*parse_training_head("a:b:l1:0.5"), (TrainingHead{"a:b", Loss::l1, 0.5f}));
  EXPECT_EQ(*parse_training_head("age:huber"), (TrainingHead{"age", Loss::huber, 1}));
  for (const char* text : {"", "age", "age:", ":l1", "age:none", "age:l1:0", "age:l1:-1", "age:l1:nan", "age:l1:x"}) {
    EXPECT_FALSE(parse_training_head(text)) << text;
  }
}

TEST(ModelOutputs, OfAFileAreChecked) {
  const Model model = branched();
  const auto refuses = [&](const char* key, const std::string& value, const std::string& why) {
    const Bytes file = forged(model, [&](ModelGraph& graph) { graph.properties[key] = value; });
    EXPECT_ERROR(Model::load(file), ErrorCode::malformed, why);
  };
  refuses("output.1", "nothing", "output.1 names nothing, which no op writes");
  refuses("output.1", "input", "which no op writes");
  refuses("output.1", name_of(model, 0), "an output already");
  refuses("output.4", "x", "output.3 is missing");
  refuses("output.x", "x", "output.3 is missing");
  const Bytes many = forged(model, [](ModelGraph& graph) {
    for (int i = 1; i <= 16; ++i) graph.properties["output." + std::to_string(i)] = "x";
  });
  EXPECT_ERROR(Model::load(many), ErrorCode::malformed, "one too many");
}

TEST(ModelOutputs, AreNoneOfAPartOfTheModelButItsEnd) {
  const Model model = branched();
  const uint32_t trunk = further_outputs(model.graph())[0];
  const Result<Model> part = model_ending_with(model, trunk);
  ASSERT_OK(part);
  EXPECT_EQ(name_of(*part, 0), name_of(model, 1));
  EXPECT_TRUE(further_outputs(part->graph()).empty());
}

}  // namespace
}  // namespace coterie::test
