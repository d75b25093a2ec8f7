#include "device_sdk/runtime/muon_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

using Values = std::vector<float>;

// A matrix that is updated by gradients, one after the other.
class Updated {
 public:
  Updated(const MuonMatrix& matrix, const OptimizerSettings& settings, const Values& values) {
    const uint64_t bytes = matrix.rows * matrix.columns * sizeof(float);
    for (BufferId* buffer : {&gradient_, &values_, &momentum_}) {
      *buffer = program_.add_planned(bytes);
      program_.fill_before(*buffer);
      program_.read_after(*buffer);
    }
    emit_muon(program_, Phase::backward, settings, 1, matrix, {gradient_, values_, momentum_});
    EXPECT_OK(program_.plan(1 << 20));
    ArenaLayout layout;
    layout.planned_bytes = program_.planned_bytes();
    Result<Arena> arena = Arena::create(layout, 1 << 20);
    EXPECT_OK(arena);
    arena_ = std::make_unique<Arena>(*std::move(arena));
    program_.bind(*arena_);
    std::copy(values.begin(), values.end(), program_.pointer(values_));
    std::fill_n(program_.pointer(momentum_), values.size(), 0.0f);
  }

  Values step(const Values& gradient, double learning_rate) {
    std::copy(gradient.begin(), gradient.end(), program_.pointer(gradient_));
    program_.run(Phase::backward, {.kernels = kernels::kernels(), .optimizer = {.learning_rate = learning_rate}});
    const float* const from = program_.pointer(values_);
    return {from, from + gradient.size()};
  }

 private:
  Program program_;
  std::unique_ptr<Arena> arena_;
  BufferId gradient_ = kNoBuffer, values_ = kNoBuffer, momentum_ = kNoBuffer;
};

Values transposed(const Values& x, size_t rows, size_t columns) {
  Values y(x.size());
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < columns; ++k) y[k * rows + i] = x[i * columns + k];
  }
  return y;
}

const Values kStart = {.5f, -1, .25f, 1.5f, .75f, -.5f};
const std::vector<Values> kGradients = {
    {.1f, -.2f, .3f, .4f, .5f, -.6f}, {-.3f, .2f, .1f, .05f, -.15f, .25f}, {.2f, .2f, -.1f, -.4f, .3f, .1f}};
// Ten lines of NumPy in float64, by the paper's code: 0.02 times the direction, at a momentum of 0.95.
constexpr double kAfterThree[] = {.4793451841, -1.0150268079, .2199754666, 1.4860935515, .7184578501, -.4940833563};
const double kRate = .02 / (.2 * std::sqrt(3.0));
constexpr OptimizerSettings kSettings{.kind = OptimizerKind::muon, .beta1 = .95f};

TEST(Muon, IsThePapersToFloatsPrecisionWideOrTall) {
  Updated wide({2, 3}, kSettings, kStart), tall({3, 2}, kSettings, transposed(kStart, 2, 3));
  Values seen, seen_tall;
  for (const Values& gradient : kGradients) {
    seen = wide.step(gradient, kRate);
    seen_tall = transposed(tall.step(transposed(gradient, 2, 3), kRate), 3, 2);
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_NEAR(seen[i], kAfterThree[i], 2e-6) << i;
    EXPECT_NEAR(seen_tall[i], kAfterThree[i], 2e-6) << i;
  }
}

TEST(Muon, DecaysBesideTheMomentumAndRestsWithoutAGradient) {
  OptimizerSettings settings = kSettings;
  const Values zeros(kStart.size());
  EXPECT_EQ(Updated({2, 3}, settings, kStart).step(zeros, .1), kStart);
  settings.weight_decay = .5f;
  const Values decayed = Updated({2, 3}, settings, kStart).step(zeros, .1);
  for (size_t i = 0; i < decayed.size(); ++i) EXPECT_FLOAT_EQ(decayed[i], kStart[i] * .95f) << i;
}

// However long the gradient is. All singular values of X are near 1, and their squares add up to those of its elements.
TEST(Muon, AStepHasTheLengthOfAdamWs) {
  const MuonMatrix matrix{24, 40};
  const size_t count = matrix.rows * matrix.columns;
  for (const float scale : {1e-3f, 1e3f}) {
    Values gradient = random_values(count, 9);
    for (float& value : gradient) value *= scale;
    const Values moved = Updated(matrix, kSettings, Values(count)).step(gradient, 1);
    double squares = 0;
    for (const float value : moved) squares += static_cast<double>(value) * static_cast<double>(value);
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), .2, .06) << scale;
  }
}

// Weights of dense and convolutions are Muon's; biases, scales and tables of embeddings are AdamW's.
TEST(Muon, UpdatesLinearMapsAlone) {
  ModelBuilder build("words", {6}, 3, DataType::int32);
  TensorId x = build.embedding(build.input(), 9, 4);
  x = build.dense(build.op(OpKind::flatten, {x}), 5);
  const Model model = load_or_die(build.finish(build.dense(build.relu(x), 3)));
  Batch batch(model, 8);
  const auto moved = [&](OptimizerKind kind) {
    TrainOptions options;
    options.batch_size = 8;
    options.optimizer = {.kind = kind, .learning_rate = .01f};
    Result<Trainer> trainer = Trainer::create(model, options, batch);
    EXPECT_OK(trainer);
    EXPECT_OK(trainer->step());
    Values delta(model.value_count());
    trainer->delta(delta);
    return delta;
  };
  const Values muon = moved(OptimizerKind::muon), adamw = moved(OptimizerKind::adamw);
  size_t maps = 0;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    const auto first = static_cast<std::ptrdiff_t>(tensor.payload_offset / sizeof(float));
    const auto end = first + static_cast<std::ptrdiff_t>(elements(tensor.shape));
    const bool is_map = tensor.shape.size() > 1 && tensor.name.find("table") == std::string::npos;
    EXPECT_EQ(std::equal(muon.begin() + first, muon.begin() + end, adamw.begin() + first), !is_map) << tensor.name;
    maps += is_map ? 1 : 0;
  }
  EXPECT_EQ(maps, 2u);
}

}  // namespace
}  // namespace coterie::test
