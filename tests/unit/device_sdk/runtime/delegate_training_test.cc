// Trainings some of whose parts a delegate computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/delegate/gradient_check.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/delegate/training_delegation.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/delegate_training_fixtures.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using testing::HasSubstr;

using Values = std::vector<float>;

TrainOptions options_for_test() {
  TrainOptions options;
  options.optimizer = {.kind = OptimizerKind::sgd, .learning_rate = 0.05f, .momentum = 0.9f};
  options.batch_size = 8;
  options.epochs = 2;
  options.seed = 7;
  return options;
}

Examples examples_for(const Model& model, uint64_t count = 44) {
  return {count, elements(model.input_shape()), static_cast<uint32_t>(model.output_shape().back())};
}

void run(Trainer& trainer) {
  while (!trainer.finished()) ASSERT_OK(trainer.step());
}

Values values_of(const Trainer& trainer) { return {trainer.parameters().begin(), trainer.parameters().end()}; }

Values own_training(const Model& model, const TrainOptions& options, uint64_t count = 44) {
  Examples examples = examples_for(model, count);
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  EXPECT_OK(trainer);
  run(*trainer);
  return values_of(*trainer);
}

struct Delegated {
  Values values;
  TrainingSummary summary;
  TrainingMemory memory;
  std::vector<TrainingDelegation::Batch> report;
};

Delegated delegated_training(const Model& model, const TrainOptions& options, Delegate& delegate, uint64_t count = 44) {
  Examples examples = examples_for(model, count);
  TrainingDelegation delegation(delegate);
  Result<Trainer> trainer = Trainer::create(model, options, examples, delegation);
  EXPECT_OK(trainer);
  run(*trainer);
  return {values_of(*trainer), trainer->summary(), trainer->memory(), delegation.report()};
}

void expect_near(const Values& seen, const Values& expected, float bound) {
  ASSERT_EQ(seen.size(), expected.size());
  for (size_t i = 0; i < seen.size(); ++i) ASSERT_NEAR(seen[i], expected[i], bound) << i;
}

std::string own_reason_of(const DelegateReport& report, const Model& model, OpKind kind) {
  for (const OwnOp& own : report.own) {
    if (model.graph().ops[own.op].kind == kind) return own.reason;
  }
  return {};
}

// Conv, norm, dropout and dense: what follows its batches and what draws stays with our kernels.
Model normed_dropout_net() {
  ModelBuilder build("normed_dropout", {6, 6, 2}, 9);
  TensorId x = build.conv2d(build.input(), {.filters = 4, .kernel = 3, .pad = 1});
  x = build.relu(build.batch_norm(x));
  x = build.dense(build.flatten(x), 8);
  x = build.op(OpKind::dropout, {build.relu(x)}, DropoutAttributes{.rate = 0.25f});
  return load_or_die(build.finish(build.dense(x, 3)));
}

// The double computes each part as our kernels would: the same bits, with the smaller last batch and whatever the
// settings.
struct Case {
  const char* name;
  void (*change)(TrainOptions&);
};

class DelegatedTraining : public testing::TestWithParam<Case> {};

TEST_P(DelegatedTraining, HasTheBitsOfOurKernels) {
  const Model model = small_cnn();
  TrainOptions options = options_for_test();
  GetParam().change(options);
  ReferenceTrainer delegate(model);
  const Delegated seen = delegated_training(model, options, delegate);
  EXPECT_EQ(seen.values, own_training(model, options));
  EXPECT_EQ(seen.summary.steps, 12u);
  ASSERT_FALSE(seen.report.empty());
  for (const auto& [batch, report] : seen.report) {
    ASSERT_EQ(report.parts.size(), 1u) << batch;
    EXPECT_EQ(report.parts[0].refusal, "");
    EXPECT_TRUE(report.parts[0].verified.has_value());
    ASSERT_TRUE(report.parts[0].gradients.has_value());
    EXPECT_EQ(report.parts[0].gradients->difference, 0);
    EXPECT_EQ(report.delegated_flops(), report.flops);
  }
  EXPECT_GT(delegate.backwards, 11);
  EXPECT_EQ(delegate.forwards, delegate.backwards);
}

INSTANTIATE_TEST_SUITE_P(
    All, DelegatedTraining,
    testing::Values(Case{"Plain", [](TrainOptions&) {}},
                    Case{"Adam", [](TrainOptions& o) { o.optimizer = {.kind = OptimizerKind::adam}; }},
                    Case{"MicroBatches", [](TrainOptions& o) { o.micro_batch_size = 4; }},
                    Case{"Clipped", [](TrainOptions& o) { o.clip_norm = 0.1f; }},
                    Case{"LossScaling", [](TrainOptions& o) { o.loss_scaling = {.start = 1024}; }},
                    Case{"Threads", [](TrainOptions& o) { o.threads = 2, o.part_nanoseconds_min = 0; }},
                    Case{"FrozenParameters", [](TrainOptions& o) { o.train_last = 1; }},
                    Case{"SomeChannels",
                         [](TrainOptions& o) { o.channels = {{.pattern = "*.weight", .fraction = 0.5f}}; }},
                    Case{"Proximal", [](TrainOptions& o) { o.proximal_mu = 0.1f; }}),
    [](const testing::TestParamInfo<Case>& one) { return one.param.name; });

// Whichever ops are taken: parts with several inputs, outputs and readers, and a parameter that two layers share.
TEST(DelegatedTraining, IsOursUpToRoundingWhateverIsTaken) {
  const Model model = tangled_net();
  TrainOptions options = options_for_test();
  options.optimizer.learning_rate = 0.01f;
  const Values expected = own_training(model, options);
  size_t parts = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    ReferenceTrainer delegate(model);
    Prng prng(seed);
    for (uint32_t op = 0; op < model.graph().ops.size(); ++op) {
      if (prng.below(4) == 0) delegate.refused_ops.insert(op);
    }
    const Delegated seen = delegated_training(model, options, delegate);
    expect_near(seen.values, expected, 1e-4f);
    for (const DelegateReport::Part& part : seen.report.at(0).report.parts) {
      EXPECT_EQ(part.refusal, "");
      EXPECT_TRUE(part.verified.has_value());
      EXPECT_EQ(part.gradients.has_value(), !part.plan.gradients.empty());
    }
    parts += seen.report.at(0).report.parts.size();
  }
  EXPECT_GT(parts, 10u);
}

TEST(DelegatedTraining, LeavesDropoutAndNormsThatFollowTheirBatchesToOurKernels) {
  const Model model = normed_dropout_net();
  TrainOptions options = options_for_test();
  ReferenceTrainer delegate(model);
  const Delegated seen = delegated_training(model, options, delegate);
  expect_near(seen.values, own_training(model, options), 1e-6f);
  const DelegateReport& report = seen.report.at(0).report;
  EXPECT_THAT(own_reason_of(report, model, OpKind::batch_norm), HasSubstr("follow the batches"));
  EXPECT_THAT(own_reason_of(report, model, OpKind::dropout), HasSubstr("at random"));
  EXPECT_EQ(report.parts.size(), 3u);
  for (const DelegateReport::Part& part : report.parts) EXPECT_EQ(part.refusal, "");
}

// Then a norm is an affine map like any other, with a scale and a shift that are trained.
TEST(DelegatedTraining, TakesANormWhoseStatisticsStay) {
  const Model model = normed_dropout_net();
  TrainOptions options = options_for_test();
  options.freeze_statistics = true;
  ReferenceTrainer delegate(model);
  const Delegated seen = delegated_training(model, options, delegate);
  expect_near(seen.values, own_training(model, options), 1e-5f);
  EXPECT_EQ(own_reason_of(seen.report.at(0).report, model, OpKind::batch_norm), "");
  EXPECT_EQ(seen.report.at(0).report.parts.size(), 2u);
}

// What is frozen below all that is trained has a forward alone.
TEST(DelegatedTraining, AsksAFrozenPartForNoBackward) {
  const Model model = normed_dropout_net();
  TrainOptions options = options_for_test();
  options.train_last = 1;
  ReferenceTrainer delegate(model);
  const Delegated seen = delegated_training(model, options, delegate);
  expect_near(seen.values, own_training(model, options), 1e-6f);
  const DelegateReport::Part& frozen = seen.report.at(0).report.parts.at(0);
  EXPECT_TRUE(frozen.plan.parameters.empty());
  EXPECT_TRUE(frozen.plan.gradients.empty());
  EXPECT_TRUE(frozen.verified.has_value());
  EXPECT_FALSE(frozen.gradients.has_value());
  EXPECT_GT(delegate.forwards, delegate.backwards);
}

// Steps that run again are our own, whatever the limit; the delegate's forward runs once a batch.
TEST(DelegatedTraining, KeepsToAMemoryLimit) {
  const Model model = tangled_net();
  TrainOptions options = options_for_test();
  options.epochs = 1;
  const std::set<OpKind> refused = {OpKind::relu, OpKind::average_pool2d, OpKind::add};
  ReferenceTrainer unlimited(model);
  unlimited.refused_kinds = refused;
  const Delegated without = delegated_training(model, options, unlimited);
  size_t limits = 0;
  for (options.planned_bytes_max = without.memory.planned_bytes - 512;;
       options.planned_bytes_max -= options.planned_bytes_max / 10) {
    SCOPED_TRACE(options.planned_bytes_max);
    ReferenceTrainer delegate(model);
    delegate.refused_kinds = refused;
    Examples examples = examples_for(model);
    TrainingDelegation delegation(delegate);
    Result<Trainer> trainer = Trainer::create(model, options, examples, delegation);
    if (!trainer) break;
    run(*trainer);
    EXPECT_GT(trainer->memory().recomputed_steps, 0u);
    EXPECT_EQ(values_of(*trainer), without.values);
    EXPECT_EQ(delegate.forwards, unlimited.forwards);
    ++limits;
  }
  EXPECT_GT(limits, 0u);
}

TEST(DelegatedTraining, LeavesWhatIsRoundedToOurKernels) {
  const Model model = small_cnn();
  TrainOptions quantised = options_for_test(), narrow = options_for_test();
  quantised.qat = QuantisedTraining{};
  narrow.storage = Storage::bfloat16;
  const std::pair<TrainOptions, const char*> cases[] = {{quantised, "counts on int8"}, {narrow, "as bfloat16"}};
  for (const auto& [options, reason] : cases) {
    SCOPED_TRACE(reason);
    ReferenceTrainer delegate(model);
    const Delegated seen = delegated_training(model, options, delegate);
    EXPECT_EQ(seen.values, own_training(model, options));
    EXPECT_TRUE(seen.report.at(0).report.parts.empty());
    EXPECT_THAT(own_reason_of(seen.report.at(0).report, model, OpKind::conv2d), HasSubstr(reason));
    EXPECT_EQ(delegate.forwards, 0);
  }
}

TEST(DelegatedTraining, RefusesHeadsAndASecondTrainer) {
  const Model model = small_cnn();
  Examples examples = examples_for(model);
  ReferenceTrainer delegate(model);
  TrainingDelegation delegation(delegate);
  TrainOptions options = options_for_test();
  options.loss.heads = {{.output = "logits", .loss = Loss::softmax_cross_entropy}};
  EXPECT_ERROR(Trainer::create(model, options, examples, delegation), ErrorCode::invalid_argument, "heads");
  EXPECT_OK(Trainer::create(model, options_for_test(), examples, delegation));
  EXPECT_ERROR(Trainer::create(model, options_for_test(), examples, delegation), ErrorCode::invalid_argument,
               "one trainer");
}

// --- what does wrong: in the middle of the training our kernels go on, and no step is lost or counts twice

struct TrainingCrime {
  const char* name;
  TrainingDeed deed;
  const char* sentence;
};

class HostileTraining : public testing::TestWithParam<TrainingCrime> {};

TEST_P(HostileTraining, IsRefusedAndReplaced) {
  const Model model = small_cnn();
  for (const uint32_t micro_batch_size : {0u, 4u}) {
    SCOPED_TRACE(micro_batch_size);
    TrainOptions options = options_for_test();
    options.micro_batch_size = micro_batch_size;
    ReferenceTrainer delegate(model, GetParam().deed);
    const Delegated seen = delegated_training(model, options, delegate, 40);
    EXPECT_EQ(seen.values, own_training(model, options, 40));
    EXPECT_EQ(seen.summary.steps, 10u);
    EXPECT_EQ(seen.summary.examples, 80u);
    const DelegateReport& report = seen.report.at(0).report;
    ASSERT_EQ(report.parts.size(), 1u);
    EXPECT_THAT(report.parts[0].refusal, HasSubstr(GetParam().sentence));
    EXPECT_EQ(report.delegated_flops(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileTraining,
    testing::Values(
        TrainingCrime{"ScalesGradient", TrainingDeed::scales_gradient, "rounding explains at most"},
        TrainingCrime{"LiesInOneElement", TrainingDeed::lies_in_one_element, "rounding explains at most"},
        TrainingCrime{"LeavesGradientUnwritten", TrainingDeed::leaves_gradient_unwritten, "is off by inf"},
        TrainingCrime{"WritesBeyondGradient", TrainingDeed::writes_beyond_gradient,
                      "beyond the buffer of the gradient"},
        TrainingCrime{"WritesIntoOutputGradient", TrainingDeed::writes_into_output_gradient,
                      "written into the gradient of tensor"},
        TrainingCrime{"WritesIntoParameter", TrainingDeed::writes_into_parameter, "which it only reads"},
        TrainingCrime{"ThrowsInBackward", TrainingDeed::throws_in_backward, "in backward: it has thrown"},
        TrainingCrime{"ThrowsInBackwardLater", TrainingDeed::throws_in_backward_later, "the test's bad day"},
        TrainingCrime{"FailsInForwardLater", TrainingDeed::fails_in_forward_later, "the test's device is gone"},
        TrainingCrime{"ScalesValues", TrainingDeed::scales_values, "and rounding by at most"},
        TrainingCrime{"DoesNotCompile", TrainingDeed::does_not_compile, "was not compiled"}),
    [](const testing::TestParamInfo<TrainingCrime>& crime) { return crime.param.name; });

// Running statistics have moved in front of the fault, and are put back.
TEST(DelegatedTraining, LosesNoStatisticsToAFault) {
  const Model model = normed_dropout_net();
  TrainOptions options = options_for_test();
  options.micro_batch_size = 4;
  ReferenceTrainer delegate(model, TrainingDeed::throws_in_backward_later);
  // What is left is the convolution in front of the norm.
  delegate.refused_kinds = {OpKind::dense, OpKind::relu, OpKind::flatten};
  const Delegated seen = delegated_training(model, options, delegate, 40);
  EXPECT_EQ(seen.values, own_training(model, options, 40));
  EXPECT_THAT(seen.report.at(0).report.parts.at(0).refusal, HasSubstr("the test's bad day"));
}

TEST(DelegatedTraining, AcceptsGradientsThatRoundingExplains) {
  const Model model = small_cnn();
  ReferenceTrainer delegate(model, TrainingDeed::rounds_gradient);
  const Delegated seen = delegated_training(model, options_for_test(), delegate);
  const DelegateReport::Part& part = seen.report.at(0).report.parts.at(0);
  EXPECT_EQ(part.refusal, "");
  ASSERT_TRUE(part.gradients.has_value());
  EXPECT_GT(part.gradients->difference, 0);
  EXPECT_LT(part.gradients->bound, 0.01 * part.gradients->largest);
  EXPECT_NE(seen.values, own_training(model, options_for_test()));
  expect_near(seen.values, own_training(model, options_for_test()), 1e-4f);
}

// One of eight units is at 0 to rounding: our own gradients jump by more than a third of their norm.
TEST(GradientCheck, AllowsATwentiethWhereRoundingJumps) {
  ModelBuilder build("jump", {2}, 3);
  Values weights(16, 1);
  weights[8] = -1;  // the first unit's second
  const TensorId weight = build.parameter("weight", {2, 8}, weights);
  const TensorId x = build.relu(build.op(OpKind::dense, {build.input(), weight}));
  const Model model = load_or_die(build.finish(build.dense(x, 4)));
  ReferenceTrainer delegate(model);
  const Result<Partition> plan = partition(model, delegate, {.trains = true});
  ASSERT_OK(plan);
  ASSERT_EQ(plan->parts.size(), 1u);
  const PlannedPart& part = plan->parts[0];
  const Values input = {0.5f, 0.5f}, output_gradient = {1, 2, 3, 4};
  const std::span<const float> inputs(input), from_outputs(output_gradient);
  const auto check = [&](const std::vector<Values>& seen) {
    const std::vector<std::span<const float>> views(seen.begin(), seen.end());
    return *check_gradients(model, part, 1, model.parameters(), {&inputs, 1}, {&from_outputs, 1}, views);
  };
  std::vector<Values> seen;
  for (const uint32_t tensor : part.gradients) seen.emplace_back(elements(model.graph().tensors[tensor].shape));
  const std::vector<Values> own = check(seen).own;
  const auto scaled = [&](size_t i, float by) {
    std::vector<Values> changed = own;
    for (float& value : changed[i]) value *= by;
    return check(changed).mismatch;
  };
  const auto jumps = std::ranges::find(part.gradients, weight) - part.gradients.begin();
  EXPECT_EQ(check(own).mismatch, "");
  EXPECT_EQ(scaled(static_cast<size_t>(jumps), 1.04f), "");
  EXPECT_THAT(scaled(static_cast<size_t>(jumps), 1.06f), HasSubstr("the gradient of tensor weight is off by"));
  EXPECT_THAT(scaled(own.size() - 1, 1.001f), HasSubstr("is off by")) << "that of the output's bias jumps nowhere";
}

TEST(DelegatedTraining, CopiesToADeviceAndCountsIt) {
  const Model model = small_cnn();
  const TrainOptions options = options_for_test();
  ReferenceTrainer delegate(model);
  delegate.traits_.domain = MemoryDomain::device;
  const Delegated seen = delegated_training(model, options, delegate, 40);
  EXPECT_EQ(seen.values, own_training(model, options, 40));
  const DelegateReport::Part& part = seen.report.at(0).report.parts.at(0);
  EXPECT_EQ(part.copies.runs, 10u);
  EXPECT_EQ(part.copies.bytes, 10 * (part.plan.input_bytes + part.plan.output_bytes));
  EXPECT_TRUE(delegate.heap.allocated.empty());
}

// A checkpoint is one of ours: it goes on without the delegate.
TEST(DelegatedTraining, GoesOnElsewhereFromItsCheckpoint) {
  const Model model = small_cnn();
  const TrainOptions options = options_for_test();
  const TemporaryDirectory folder;
  const std::string path = folder / "training.cotc";
  ReferenceTrainer delegate(model);
  {
    Examples examples = examples_for(model);
    TrainingDelegation delegation(delegate);
    Result<Trainer> trainer = Trainer::create(model, options, examples, delegation);
    ASSERT_OK(trainer);
    for (int i = 0; i < 5; ++i) ASSERT_OK(trainer->step());
    ASSERT_OK(trainer->save_checkpoint(path));
  }
  Examples examples = examples_for(model);
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->restore_checkpoint(path));
  run(*trainer);
  EXPECT_EQ(values_of(*trainer), own_training(model, options));
}

}  // namespace
}  // namespace coterie::test
