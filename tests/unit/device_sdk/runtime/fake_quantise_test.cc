// A training that counts on int8: what is rounded, which gradients go through, and that it goes on to the same bits.
#include "device_sdk/runtime/fake_quantise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "proto/codec/stored_integers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/gradient_of.h"
#include "tests/unit/device_sdk/runtime/learning.h"
#include "tests/unit/device_sdk/runtime/torch_vectors.h"

namespace coterie::test {
namespace {

using Values = std::vector<float>;

// torch.fake_quantize_per_channel_affine, scales by the largest of each channel.
TEST(RoundedWeight, IsPyTorchsAndItsGradientGoesStraightThrough) {
  for (const TorchCase& c : torch_cases("fake_quantize_channels", "kernel_vectors.txt")) {
    const auto shape = c.list("shape");
    Program program;
    const BufferId weight = program.add_planned(shape[0] * shape[1] * sizeof(float));
    program.fill_before(weight);
    const BufferId rounded = emit_rounded_weight(program, Phase::forward, {shape[0], shape[1], 1},
                                                 stored_level_max(static_cast<uint32_t>(c.number("bits"))), weight);
    program.read_after(rounded);
    ASSERT_OK(program.plan(1 << 20));
    ArenaLayout layout;
    layout.planned_bytes = program.planned_bytes();
    const Result<Arena> arena = Arena::create(layout, 1 << 20);
    ASSERT_OK(arena);
    program.bind(*arena);
    Draw draw(c.seed());
    const Values w = draw.floats(shape[0] * shape[1]), dy = draw.floats(w.size());
    std::ranges::copy(w, program.pointer(weight));
    program.run(Phase::forward, {.kernels = kernels::kernels()});
    expect_near(Values(program.pointer(rounded), program.pointer(rounded) + w.size()), c.answer("y"), 1e-6, "y");
    expect_near(dy, c.answer("dw"), 1e-6, "dw is dy: no backward step is there");
  }
}

// y = w x with x and y on grids, and a gradient of 1.
struct OneWeight {
  OneWeight() : model(load_or_die(made())) {
    CompileSettings settings{.purpose = Purpose::train, .batch_size = 1};
    settings.optimizer.learning_rate = 0.25f;
    settings.takes_output_gradient = true;
    settings.qat.emplace();
    settings.arena_bytes_max = 1 << 20;
    Result<CompiledModel> made = compile(model, settings);
    EXPECT_OK(made);
    compiled = std::move(*made);
    arena = *Arena::create(compiled.layout, 1 << 20);
    compiled.program.bind(arena);
    weight() = 1;
  }
  static Result<Bytes> made() {
    ModelBuilder build("one", {1}, 1);
    return build.finish(build.dense(build.input(), 1, false));
  }
  float& weight() { return arena.region(Region::parameters)[0]; }
  float step(float x) {
    *compiled.program.pointer(compiled.inputs[0]) = x;
    const StepContext context{.kernels = kernels::kernels(), .optimizer = {.learning_rate = 0.25}};
    compiled.program.run(Phase::forward, context);
    *compiled.program.pointer(compiled.output_gradient) = 1;
    compiled.program.run(Phase::backward, context);
    return *compiled.program.pointer(compiled.output);
  }
  Model model;
  CompiledModel compiled;
  Arena arena;
};

TEST(RoundedActivation, WidensAtOnceNarrowsSlowlyAndLetsEachGradientThrough) {
  OneWeight net;
  EXPECT_NEAR(net.step(1), 1, 1e-6);
  EXPECT_NEAR(net.weight(), 0.75f, 1e-6) << "dw = x";
  EXPECT_NEAR(net.step(10), 7.5f, 1e-5) << "the ends of the ranges are on the grid";
  EXPECT_NEAR(net.weight(), 0.75f - 0.25f * 10, 1e-5);
  // x lies in [0, 10 - 0.1 * 9] now: its 255 steps are 0.0357 each, of which 1 is 28.
  net.weight() = 0.75f;
  net.step(1);
  EXPECT_NEAR(net.weight(), 0.75f - 0.25f * 28 * 9.1f / 255, 1e-5);
}

Model norm_net() {
  ModelBuilder build("net", {6, 6, 2}, 3);
  TensorId x = build.relu(build.batch_norm(build.conv2d(build.input(), {.filters = 4, .kernel = 3, .bias = false})));
  x = build.max_pool2d(x, {.kernel = 2, .stride = 2});
  return load_or_die(build.finish(build.dense(build.flatten(x), 3)));
}

TEST(RoundedTensors, AreThoseThatTheQuantiserRounds) {
  const Model model = norm_net();
  const Result<RoundedTensors> full = rounded_tensors(model, QuantisedParts::full);
  ASSERT_OK(full);
  std::vector<std::string> names;
  for (const uint32_t tensor : full->activations) names.push_back(model.graph().tensors[tensor].name);
  ASSERT_EQ(names.size(), 3u) << "the input, what conv, norm and ReLU make, and the output";
  EXPECT_EQ(full->activations.front(), model.graph().inputs[0]);
  EXPECT_EQ(full->activations.back(), model.graph().output);
  EXPECT_EQ(full->weights.size(), 2u);
  EXPECT_EQ(rounded_tensors(model, QuantisedParts::weights)->weights.size(), 1u) << "one has fewer than 64 elements";
  ModelBuilder other("other", {4}, 3);
  const Model unable = load_or_die(other.finish(other.dense(other.op(OpKind::sigmoid, {other.input()}), 3)));
  EXPECT_ERROR(rounded_tensors(unable, QuantisedParts::full), ErrorCode::invalid_argument, "sigmoid");
  EXPECT_ERROR(rounded_tensors(unable, QuantisedParts::weights), ErrorCode::invalid_argument, "64 elements");
}

TrainOptions on_a_grid(uint32_t bits = 4) {
  TrainOptions options;
  options.batch_size = 5;
  options.epochs = 4;
  options.optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.02f};
  options.qat = QuantisedTraining{.parts = QuantisedParts::full, .weight_bits = bits};
  return options;
}

Values trained(const Model& model, const TrainOptions& options) {
  Batch batch(model, 13);
  Result<Trainer> trainer = Trainer::create(model, options, batch);
  EXPECT_OK(trainer);
  while (!trainer->finished()) EXPECT_OK(trainer->step());
  return {trainer->parameters().begin(), trainer->parameters().end()};
}

TEST(QuantisedTraining, HasTheSameBitsByThreadsAndFromACheckpoint) {
  const Model model = norm_net();
  const Values expected = trained(model, on_a_grid());
  EXPECT_NE(trained(model, on_a_grid(8)), expected);
  TrainOptions threads = on_a_grid();
  threads.threads = 3;
  threads.part_nanoseconds_min = 0;
  EXPECT_EQ(trained(model, threads), expected);

  Batch batch(model, 13);
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/checkpoint";
  Result<Trainer> first = Trainer::create(model, on_a_grid(), batch),
                  second = Trainer::create(model, on_a_grid(), batch);
  ASSERT_OK(first);
  ASSERT_OK(second);
  for (int i = 0; i < 4; ++i) ASSERT_OK(first->step());
  ASSERT_OK(first->save_checkpoint(path));
  ASSERT_OK(second->restore_checkpoint(path));
  while (!second->finished()) ASSERT_OK(second->step());
  EXPECT_EQ(Values(second->parameters().begin(), second->parameters().end()), expected);
  ASSERT_TRUE(second->restart(batch, 0));
  while (!second->finished()) ASSERT_OK(second->step());
  EXPECT_EQ(Values(second->parameters().begin(), second->parameters().end()), expected) << "ranges begin anew";

  TrainOptions other = on_a_grid();
  other.qat.reset();
  Result<Trainer> plain = Trainer::create(model, other, batch);
  ASSERT_OK(plain);
  EXPECT_ERROR(plain->restore_checkpoint(path), ErrorCode::conflict, "not the same: qat");
  const Result<TrainingMemory> memory = Trainer::plan(model, on_a_grid(), 13), less = Trainer::plan(model, other, 13);
  ASSERT_OK(memory);
  EXPECT_GT(memory->arena_bytes, less->arena_bytes) << "the rounded weights and activations count";
}

TEST(QuantisedTraining, HasTheSameBitsWithLessMemory) {
  ModelBuilder build("chain", {8, 8, 2}, 3);
  TensorId x = build.input();
  for (int i = 0; i < 5; ++i) x = build.relu(build.conv2d(x, {.filters = 4, .kernel = 3, .pad = 1}));
  const Model model = load_or_die(build.finish(build.dense(build.flatten(x), 3)));
  const Result<TrainingMemory> memory = Trainer::plan(model, on_a_grid(), 13);
  ASSERT_OK(memory);
  TrainOptions tight = on_a_grid();
  tight.planned_bytes_max = memory->planned_bytes * 9 / 10;
  Batch batch(model, 13);
  Result<Trainer> again = Trainer::create(model, tight, batch);
  ASSERT_OK(again);
  ASSERT_GT(again->memory().recomputed_steps, 0u);
  EXPECT_EQ(trained(model, tight), trained(model, on_a_grid()));
}

TEST(QuantisedTraining, LearnsWithFewBits) {
  const Model model = norm_net();
  Batch batch(model, 12);
  TrainOptions options = on_a_grid(4);
  options.batch_size = 12;
  options.epochs = 40;
  expect_halves_its_loss(Trainer::create(model, options, batch));
}

// Large steps over examples of one class in three: outputs outrun a range that only follows them.
TEST(QuantisedTraining, ComesBackFromStepsThatAreTooLarge) {
  ModelBuilder build("net", {12}, 3);
  const Model model = load_or_die(build.finish(build.dense(build.relu(build.dense(build.input(), 16)), 3)));
  Batch batch(model, 12);
  TrainOptions options = on_a_grid(8);
  options.batch_size = 2;
  options.epochs = 60;
  options.optimizer = {.kind = OptimizerKind::sgd, .learning_rate = 1.0f};
  expect_halves_its_loss(Trainer::create(model, options, batch));
}

TEST(QuantisedTraining, AValueThatIsNotFiniteIsSeen) {
  const Model model = norm_net();
  Batch batch(model, 5);
  batch.floats()[7] = std::numeric_limits<float>::infinity();
  Result<Trainer> trainer = Trainer::create(model, on_a_grid(), batch);
  ASSERT_OK(trainer);
  EXPECT_ERROR(trainer->step(), ErrorCode::invalid_argument, "not finite");
}

TEST(QuantisedTraining, RefusesBitsThatThereAreNot) {
  Batch batch(norm_net(), 5);
  for (const uint32_t bits : {0u, 1u, 9u}) {
    EXPECT_ERROR(Trainer::create(norm_net(), on_a_grid(bits), batch), ErrorCode::invalid_argument, "2 to 8 bits");
  }
}

}  // namespace
}  // namespace coterie::test
