#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/device_sdk/runtime/gradient_of.h"
#include "train_kernels/counter_random.h"

namespace coterie::test {
namespace {

// Random123's known answers (kat_vectors, philox4x32 10).
TEST(CounterRandom, GivesTheKnownAnswers) {
  using kernels::philox4x32;
  using kernels::PhiloxCounter;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t all = 0xffffffff;
  EXPECT_EQ(philox4x32({all, all, all, all}, {all, all}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// x w dropped: the gradient of w is x^T m dy, so that a mask of the backward pass other than the forward's would show.
Model dropping(float rate) {
  ModelBuilder build("dropping", {6}, 3);
  const TensorId hidden = build.dense(shifted(build, build.input()), 40);
  return load_or_die(build.finish(build.dense(build.op(OpKind::dropout, {hidden}, DropoutAttributes{rate}), 3)));
}

TEST(DropoutRule, DropsInTrainingAndNotInEvaluation) {
  const Model model = dropping(0.5f), plain = dropping(0);
  Batch batch(model, 4);
  EXPECT_EQ(outputs_of(model, batch), outputs_of(plain, batch));
  const std::vector<float> start(model.parameters().begin(), model.parameters().end());
  EXPECT_NE(training_loss(model, start, batch, Loss::softmax_cross_entropy),
            training_loss(plain, start, batch, Loss::softmax_cross_entropy));
}

TEST(DropoutRule, UsesOneMaskForwardAndBackward) {
  const Model model = dropping(0.4f);
  Batch batch(model, 4);
  expect_gradient_is_numerical(model, batch);
}

TEST(DropoutRule, KeepsTheExpectedShareAndItsMean) {
  ModelBuilder build("wide", {10'000}, 3);
  const TensorId shift = build.parameter("shift", {10'000}, std::vector<float>(10'000));
  const TensorId x = build.op(OpKind::dropout, {build.add(build.input(), shift)}, DropoutAttributes{0.25f});
  const TensorId mean = build.op(OpKind::reduce_mean, {x}, ReduceAttributes{{1}, true});
  const Model model = load_or_die(build.finish(mean));
  Batch batch(model, 1);
  std::fill(batch.floats().begin(), batch.floats().end(), 1.0f);
  std::vector<float> delta(model.value_count());
  trained_once(model, batch, Loss::mean_squared_error).delta(delta);
  // Each kept element moved by the same, each dropped one not at all.
  const auto dropped = std::count(delta.begin(), delta.begin() + 10'000, 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped), 2500, 5 * 43);  // five standard deviations
}

TEST(DropoutRule, RefusesARateThatIsNone) {
  for (const float rate : {-0.1f, 1.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()}) {
    ModelBuilder build("dropout", {4}, 1);
    EXPECT_ERROR(build.finish(build.op(OpKind::dropout, {build.input()}, DropoutAttributes{rate})),
                 ErrorCode::malformed, "rate must be in [0, 1)");
  }
}

}  // namespace
}  // namespace coterie::test
