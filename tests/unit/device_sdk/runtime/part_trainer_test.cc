// A part of a network is trained from gradients of its output as the whole is trained from its loss.
#include "device_sdk/runtime/part_trainer.h"

#include <cmath>

#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

// Two layers, with the weights of one network cut in two.
struct Parts {
  Bytes whole, front, back;
};

Parts parts() {
  const std::vector<float> first = {0.5f, -1, 0.25f, 1, 0.75f, -0.5f}, second = {1, -0.5f, 0.25f};
  Parts made;
  for (Bytes* file : {&made.whole, &made.front, &made.back}) {
    ModelBuilder build("part", file == &made.back ? Shape{3} : Shape{2}, 1);
    TensorId x = build.input();
    if (file != &made.back) {
      x = build.op(OpKind::tanh, {build.op(OpKind::matmul, {x, build.parameter("first", {2, 3}, first)})});
    }
    if (file != &made.front) x = build.op(OpKind::matmul, {x, build.parameter("second", {3, 1}, second)});
    *file = *build.finish(x);
  }
  return made;
}

PartTrainer trainer(const Bytes& file, const OptimizerSettings& optimizer, std::vector<uint32_t> inputs = {}) {
  return *PartTrainer::create(*Model::load(file),
                              {.optimizer = optimizer, .batch_size = 4, .inputs_with_gradient = std::move(inputs)});
}

TEST(PartTrainer, TwoPartsAreTheWhole) {
  const Parts files = parts();
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam}) {
    const OptimizerSettings optimizer{.kind = kind, .learning_rate = 0.1f};
    PartTrainer whole = trainer(files.whole, optimizer), front = trainer(files.front, optimizer);
    PartTrainer back = trainer(files.back, optimizer, {0});
    for (int step = 0; step < 5; ++step) {
      // The last batches are smaller.
      const uint64_t rows = step < 3 ? 4 : 3;
      std::vector<float> x(rows * 2), y(rows), cut(rows * 3), cut_slopes(rows * 3), of_whole(rows);
      for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i + 3 * static_cast<size_t>(step)));
      const std::span<const float> x_in[] = {x}, cut_in[] = {cut};
      const std::span<float> wanted[] = {cut_slopes};
      ASSERT_OK(whole.forward(x_in, rows, of_whole));
      ASSERT_OK(front.forward(x_in, rows, cut));
      ASSERT_OK(back.forward(cut_in, rows, y));
      std::vector<float> slopes;
      for (size_t i = 0; i < rows; ++i) {
        EXPECT_FLOAT_EQ(y[i], of_whole[i]);
        slopes.push_back(y[i] - 0.5f);
      }
      ASSERT_OK(whole.backward(slopes, {}));
      ASSERT_OK(back.backward(slopes, wanted));
      ASSERT_OK(front.backward(cut_slopes, {}));
    }
    for (size_t i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(front.parameters()[i], whole.parameters()[i]);
    EXPECT_EQ(front.steps(), 5u);
  }
}

TEST(PartTrainer, GoesOnFromItsStateToTheSameBits) {
  const OptimizerSettings optimizer{.kind = OptimizerKind::adam, .learning_rate = 0.1f};
  PartTrainer one = trainer(parts().front, optimizer), two = trainer(parts().front, optimizer);
  const std::vector<float> x = {1, 2}, slopes = {1, -1, 0.5f};
  const std::span<const float> in[] = {x};
  std::vector<float> out(3);
  const auto step = [&](PartTrainer& of) {
    ASSERT_OK(of.forward(in, 1, out));
    ASSERT_OK(of.backward(slopes, {}));
  };
  step(one);
  ASSERT_OK(two.restore(one.steps(), one.state()));
  step(one);
  step(two);
  EXPECT_EQ(one.state(), two.state());
}

TEST(PartTrainer, RefusesWhatDoesNotFit) {
  PartTrainer part = trainer(parts().front, {});
  std::vector<float> x(2), out(3), slopes(3);
  const std::span<const float> in[] = {x};
  EXPECT_ERROR(part.backward(slopes, {}), ErrorCode::invalid_argument, "without its forward");
  EXPECT_ERROR(part.forward(in, 5, out), ErrorCode::invalid_argument, "expected 1 to 4");
  EXPECT_ERROR(part.forward(in, 2, out), ErrorCode::invalid_argument, "expected 6");
  EXPECT_ERROR(part.restore(1, x), ErrorCode::invalid_argument, "its state");
  std::vector<float> state = part.state();
  state[0] = std::nanf("");
  EXPECT_ERROR(part.restore(1, state), ErrorCode::invalid_argument, "not finite");
  EXPECT_FALSE(PartTrainer::create(*Model::load(parts().front), {.batch_size = 0}));
  EXPECT_FALSE(PartTrainer::create(*Model::load(parts().front), {.inputs_with_gradient = {1}}));
}

TEST(PartTrainer, IsUnchangedByABackwardThatIsRefused) {
  PartTrainer part = trainer(parts().back, {.learning_rate = 0.1f}, {0});
  std::vector<float> cut = {1, 2, 3}, out(1), short_one(2);
  const std::vector<float> slope = {1}, before(part.parameters().begin(), part.parameters().end());
  const std::span<const float> in[] = {cut};
  const std::span<float> wanted[] = {short_one};
  ASSERT_OK(part.forward(in, 1, out));
  EXPECT_ERROR(part.backward(slope, wanted), ErrorCode::invalid_argument, "gradient 0 has 2 values, expected 3");
  EXPECT_EQ(part.steps(), 0u);
  EXPECT_THAT(part.parameters(), testing::ElementsAreArray(before));
}

}  // namespace
}  // namespace coterie
