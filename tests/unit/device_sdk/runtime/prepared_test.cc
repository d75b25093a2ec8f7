// What is computed once (prepared.h): the same bits as if it were computed in every step, and again when it must be.
#include "device_sdk/runtime/prepared.h"

#include <gtest/gtest.h>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

const float kTwo[] = {2};

// tanh(2 softplus(p)), once for each example of the batch: of settled values alone if p is not trained. `values` are
// those of p, or of the result if that is given as it is.
Model net(bool is_given, const std::vector<float>& values, bool is_frozen = true) {
  ModelBuilder build("settled", {6}, 1);
  TensorId x = build.relu(build.dense(build.input(), 5));
  TensorId y = build.parameter("p", {1, 5}, values);
  if (!is_given) {
    y = build.op(OpKind::mul,
                 {build.op(OpKind::softplus, {y}), build.constant("two", {1}, std::span<const float>(kTwo))});
    y = build.op(OpKind::tanh, {y});
  }
  y = build.op(OpKind::expand, {y}, ShapeAttributes{.shape = {-1, 5}});
  x = build.op(OpKind::mul, {x, y});
  const Model model = load_or_die(build.finish(build.dense(x, 3)));
  return load_or_die(forged(model, [&](ModelGraph& graph) {
    for (TensorInfo& tensor : graph.tensors) tensor.is_frozen = tensor.name == "p" && is_frozen;
  }));
}

const std::vector<float> kValues = {0.5f, -1, 2, 0.25f, -3};

// What the net makes of its values.
std::vector<float> given_values() {
  ModelBuilder build("values", {1}, 1);
  const TensorId p = build.op(OpKind::softplus, {build.parameter("p", {1, 5}, kValues)});
  const TensorId two = build.constant("two", {1}, std::span<const float>(kTwo));
  TensorId y = build.op(OpKind::tanh, {build.op(OpKind::mul, {p, two})});
  y = build.op(OpKind::add, {build.op(OpKind::expand, {y}, ShapeAttributes{.shape = {-1, 5}}), build.input()});
  const Model model = load_or_die(build.finish(y));
  Batch zero(model, 1);
  zero.floats() = {0};
  return outputs_of(model, zero);
}

CompileSettings settings_for(Purpose purpose) {
  return {.purpose = purpose, .batch_size = 4, .arena_bytes_max = limits::kArenaBytesMax};
}

TEST(Prepared, WhatIsSettledIsNoStepOfTheOtherPhases) {
  for (const Purpose purpose : {Purpose::predict, Purpose::evaluate, Purpose::train}) {
    const Result<CompiledModel> folded = compile(net(false, kValues), settings_for(purpose));
    const Result<CompiledModel> given = compile(net(true, kValues), settings_for(purpose));
    ASSERT_OK(folded);
    ASSERT_OK(given);
    EXPECT_EQ(folded->program.step_count(Phase::prepare), 4u);  // softplus, mul, tanh, expand
    EXPECT_EQ(given->program.step_count(Phase::prepare), 1u);
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::update}) {
      EXPECT_EQ(folded->program.step_count(phase), given->program.step_count(phase));
    }
    // The last result alone is kept: 4 x 5 floats, rounded up. What is in between is scratch memory.
    EXPECT_EQ(folded->layout.of(Region::prepared), 128u);
    EXPECT_EQ(given->layout.of(Region::prepared), 128u);
    EXPECT_EQ(folded->layout.bytes(), given->layout.bytes());
  }
  const Result<CompiledModel> trained = compile(net(false, kValues, false), settings_for(Purpose::train));
  ASSERT_OK(trained);
  EXPECT_EQ(trained->program.step_count(Phase::prepare), 0u);
}

TEST(Prepared, PredictsTheSameBits) {
  const Model folded = net(false, kValues), given = net(true, given_values());
  Batch batch(folded, 4);
  const std::vector<float> expected = outputs_of(given, batch);
  EXPECT_EQ(outputs_of(folded, batch), expected);
  for (const uint32_t threads : {1u, 3u}) {
    Result<Predictor> predictor = Predictor::create(folded, 3, limits::kArenaBytesMax, threads);
    ASSERT_OK(predictor);
    const std::span<const float> input = batch.floats();
    for (int run = 0; run < 2; ++run) {
      std::vector<float> seen(expected.size());
      ASSERT_OK(predictor->run({&input, 1}, 4, seen));
      for (size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-6);
    }
  }
}

// 11 examples in batches of 4: the last batch of an epoch has a program of its own, which prepares 3 x 5 floats.
TrainOptions options() {
  TrainOptions options;
  options.batch_size = 4;
  options.epochs = 3;
  options.optimizer = {.learning_rate = 0.1f, .momentum = 0.9f};
  return options;
}

// The change of each parameter by name, after all steps.
std::map<std::string, std::vector<float>> trained_changes(const Model& model, const TrainOptions& options) {
  Batch examples(model, 11);
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  EXPECT_OK(trainer);
  while (!trainer->finished()) EXPECT_OK(trainer->step());
  return changes_of(model, *trainer);
}

TEST(Prepared, TrainsTheSameBitsWithProgramsOfTwoBatchSizes) {
  const Model folded = net(false, kValues), given = net(true, given_values());
  const auto expected = trained_changes(given, options());
  EXPECT_EQ(trained_changes(folded, options()), expected);
  TrainOptions several = options();
  several.threads = 3;
  several.part_nanoseconds_min = 0;
  EXPECT_EQ(trained_changes(folded, several), expected);
  TrainOptions clipped = options();  // with an update phase
  clipped.clip_norm = 0.1f;
  EXPECT_EQ(trained_changes(folded, clipped), trained_changes(given, clipped));
}

TEST(Prepared, IsLeftAloneByRecomputationAndStorage) {
  const Model folded = net(false, kValues), given = net(true, given_values());
  TrainOptions narrow = options();
  narrow.storage = Storage::bfloat16;
  EXPECT_EQ(trained_changes(folded, narrow), trained_changes(given, narrow));
  TrainOptions small = options();
  small.planned_bytes_max = 1;
  small.planned_bytes_max = Trainer::plan(folded, small, 11)->planned_bytes;
  EXPECT_EQ(trained_changes(folded, small), trained_changes(given, options()));
}

TEST(Prepared, IsPartOfWhatIsTold) {
  const Result<TrainingMemory> memory = Trainer::plan(net(false, kValues), options(), 11);
  ASSERT_OK(memory);
  EXPECT_EQ(memory->prepared_bytes, 128u);
  EXPECT_GE(memory->arena_bytes, memory->parameter_bytes + memory->prepared_bytes + memory->planned_bytes);
}

TEST(Prepared, FollowsTheParametersOfEachEvaluation) {
  const Model model = net(false, kValues);
  const Model other = net(false, {1, 2, 3, 4, 5});
  Batch examples(model, 11);
  const auto loss_of = [&](Evaluator& evaluator, const Model& with) {
    const Result<Evaluation> evaluation = evaluator.run(with.parameters(), examples);
    EXPECT_OK(evaluation);
    return evaluation->loss_mean;
  };
  std::vector<double> expected;
  for (const Model* with : {&model, &other}) {
    Result<Evaluator> fresh = Evaluator::create(*with, Loss::softmax_cross_entropy, 4);
    ASSERT_OK(fresh);
    expected.push_back(loss_of(*fresh, *with));
  }
  EXPECT_NE(expected[0], expected[1]);
  Result<Evaluator> evaluator = Evaluator::create(model, Loss::softmax_cross_entropy, 4);
  ASSERT_OK(evaluator);
  EXPECT_EQ(loss_of(*evaluator, model), expected[0]);
  EXPECT_EQ(loss_of(*evaluator, other), expected[1]);
  EXPECT_EQ(loss_of(*evaluator, model), expected[0]);
}

// An index outside a table, in what is prepared: an error in each run, not in the first alone.
TEST(Prepared, AFaultIsFoundInEachRun) {
  const int32_t indices[] = {0, 7};
  ModelBuilder build("fault", {2}, 1);
  const TensorId table = build.parameter("table", {3, 1}, {1, 2, 3});
  const TensorId rows =
      build.op(OpKind::embedding, {table, build.constant("rows", {2}, std::span<const int32_t>(indices))});
  const TensorId y =
      build.op(OpKind::mul, {build.input(), build.op(OpKind::reshape, {rows}, ShapeAttributes{.shape = {1, 2}})});
  const Model model = load_or_die(build.finish(y));
  Result<Predictor> predictor = Predictor::create(model, 1);
  ASSERT_OK(predictor);
  const std::vector<float> features = {1, 1};
  const std::span<const float> input = features;
  std::vector<float> output(2);
  for (int run = 0; run < 2; ++run) {
    EXPECT_ERROR(predictor->run({&input, 1}, 1, output), ErrorCode::invalid_argument, "prediction: ");
  }
}

// A net whose output depends on no input at all.
TEST(Prepared, TheOutputMayBeSettled) {
  ModelBuilder build("constant", {1}, 1);
  const TensorId p = build.op(OpKind::neg, {build.parameter("p", {1, 2}, {1, -2})});
  const Model model = load_or_die(build.finish(build.op(OpKind::expand, {p}, ShapeAttributes{.shape = {-1, 2}})));
  Batch batch(model, 2);
  EXPECT_EQ(outputs_of(model, batch), (std::vector<float>{-1, 2, -1, 2}));
}

}  // namespace
}  // namespace coterie::test
