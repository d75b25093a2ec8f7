// A build from a list has the kernels that its ops' rules call, and null pointers for all others. Here the table begins
// with what every build has, and each op that a test's model is made of adds what cmake/ops_from.py says it calls: so
// that the rules' own tests, which are linked with this file, end in a crash where a rule calls another.
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/runtime/gradient_of.h"
#include "tests/unit/device_sdk/runtime/kernels_by_op.h"

#define rule_of rule_of_registry
#include "device_sdk/runtime/ops/registry.cc"
#undef rule_of

namespace coterie {
namespace {

kernels::KernelTable begun_table() {
  kernels::KernelTable always{};
  kernels::keep_kernels_of(always, kernels::reference_kernels<float>());
  return always;
}

kernels::KernelTable& table() {
  static kernels::KernelTable made = begun_table();
  return made;
}

template <typename Kind>
void add_kernels_of(Kind kind) {
  kernels::keep_kernels_of(table(), kernels::reference_kernels<float>(), kind);
}

}  // namespace

// In the place of the library's.
const OpRule* rule_of(OpKind kind) {
  add_kernels_of(kind);
  return rule_of_registry(kind);
}

const kernels::KernelTable& kernels::kernels() { return table(); }

namespace test {
namespace {

// What some of the rules' tests train with.
class NamesAdam : public testing::Environment {
  void SetUp() override { add_kernels_of(OptimizerKind::adam); }
};
[[maybe_unused]] const auto* const names_adam = testing::AddGlobalTestEnvironment(new NamesAdam);

// Nothing is named but what a test names itself.
class ListedBuild : public testing::Test {
 protected:
  void SetUp() override { table() = begun_table(); }
  void TearDown() override { add_kernels_of(OptimizerKind::adam); }
};

Result<Trainer> trainer_with(const Model& model, Batch& batch, OptimizerKind optimizer, Loss loss, TargetKind target) {
  TrainOptions options;
  options.batch_size = static_cast<uint32_t>(batch.size());
  options.optimizer = {.kind = optimizer, .learning_rate = 0.01f};
  options.loss.kind = loss;
  options.loss.target = target;
  return Trainer::create(model, options, batch);
}

Model perceptron(uint32_t outputs) {
  ModelBuilder build("mlp", {6}, 1);
  return load_or_die(build.finish(build.dense(build.relu(build.dense(build.input(), 6)), outputs)));
}

constexpr OptimizerKind kOptimizers[] = {OptimizerKind::adam,    OptimizerKind::adamw,    OptimizerKind::adagrad,
                                         OptimizerKind::rmsprop, OptimizerKind::adadelta, OptimizerKind::lamb,
                                         OptimizerKind::lion,    OptimizerKind::muon,     OptimizerKind::shampoo};

TEST_F(ListedBuild, OptimizersThatNobodyNamedAreRefusedAndTheOthersTrain) {
  const Model model = perceptron(3);
  Batch batch(model, 4);
  const auto create = [&](OptimizerKind kind) {
    return trainer_with(model, batch, kind, Loss::softmax_cross_entropy, TargetKind::labels);
  };
  EXPECT_OK(create(OptimizerKind::sgd)->step());
  for (const OptimizerKind kind : kOptimizers) {
    EXPECT_ERROR(create(kind), ErrorCode::invalid_argument,
                 "this build has no optimizer " + std::string(to_string(kind)));
    add_kernels_of(kind);
    EXPECT_OK(create(kind)->step());
  }
}

TEST_F(ListedBuild, LossesThatNobodyNamedAreRefusedAndTheOthersTrain) {
  const Model model = perceptron(3);
  Batch batch(model, 4);
  const auto create = [&](Loss loss, TargetKind target) {
    return trainer_with(model, batch, OptimizerKind::sgd, loss, target);
  };
  EXPECT_OK(create(Loss::softmax_cross_entropy, TargetKind::values)->step());
  EXPECT_OK(create(Loss::negative_log_likelihood, TargetKind::labels)->step());
  EXPECT_OK(create(Loss::mean_squared_error, TargetKind::labels)->step());
  EXPECT_ERROR(create(Loss::l1, TargetKind::values), ErrorCode::invalid_argument, "this build has no loss l1");
  EXPECT_ERROR(create(Loss::triplet_margin, TargetKind::labels), ErrorCode::invalid_argument, "this build has no loss");
  add_kernels_of(Loss::l1);
  EXPECT_OK(create(Loss::l1, TargetKind::values)->step());
  EXPECT_OK(create(Loss::mean_squared_error, TargetKind::values)->step());
  add_kernels_of(Loss::triplet_margin);
  EXPECT_OK(create(Loss::triplet_margin, TargetKind::labels)->step());
}

}  // namespace
}  // namespace test
}  // namespace coterie
