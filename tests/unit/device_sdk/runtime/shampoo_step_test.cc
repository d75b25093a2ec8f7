#include "device_sdk/runtime/shampoo_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/linear/inverse_root.h"
#include "base/linear/matrix_blocks.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

using Values = std::vector<float>;

constexpr OptimizerSettings kSettings{.kind = OptimizerKind::shampoo, .epsilon = 1e-4f};

// A matrix that is updated by gradients, one after the other, by so many threads.
class Updated {
 public:
  Updated(const ShampooMatrix& matrix, const OptimizerSettings& settings, const Values& values, uint32_t threads = 1)
      : pool_(*ThreadPool::create(threads)) {
    const uint64_t bytes = matrix.rows * matrix.columns * sizeof(float);
    program_.set_threads(threads, 0);
    for (BufferId* buffer : {&gradient_, &values_}) {
      *buffer = program_.add_planned(bytes);
      program_.fill_before(*buffer);
      program_.read_after(*buffer);
    }
    ArenaLayout layout;
    layout.of(Region::factors) = shampoo_factor_values(matrix) * sizeof(float);
    emit_shampoo(program_, Phase::backward, settings, 1, matrix,
                 {gradient_, values_, program_.add_fixed(Region::factors, 0)});
    EXPECT_OK(program_.plan(1 << 24));
    layout.planned_bytes = program_.planned_bytes();
    Result<Arena> arena = Arena::create(layout, 1 << 26);
    EXPECT_OK(arena);
    arena_ = std::make_unique<Arena>(*std::move(arena));
    program_.bind(*arena_);
    std::copy(values.begin(), values.end(), program_.pointer(values_));
  }

  Values step(const Values& gradient, double learning_rate) {
    std::copy(gradient.begin(), gradient.end(), program_.pointer(gradient_));
    program_.run(Phase::backward, {.kernels = kernels::kernels(),
                                   .optimizer = {.learning_rate = learning_rate, .step = ++steps_},
                                   .pool = pool_.get()});
    const float* const from = program_.pointer(values_);
    return {from, from + gradient.size()};
  }

 private:
  std::unique_ptr<ThreadPool> pool_;
  Program program_;
  std::unique_ptr<Arena> arena_;
  BufferId gradient_ = kNoBuffer, values_ = kNoBuffer;
  uint64_t steps_ = 0;
};

// The same in double, from the header's formulas.
class Reference {
 public:
  Reference(const ShampooMatrix& matrix, double epsilon, const Values& values)
      : matrix_(matrix), epsilon_(epsilon), values_(values.begin(), values.end()), states_(count()) {
    for (size_t i = 0; i < count(); ++i) {
      const MatrixBlock block = MatrixBlocks(matrix.rows, matrix.columns)[i];
      states_[i].left.resize(block.rows * block.rows);
      states_[i].right.resize(block.columns * block.columns);
    }
  }

  const std::vector<double>& step(const Values& gradient, double rate) {
    ++steps_;
    for (size_t i = 0; i < count(); ++i) {
      const MatrixBlock b = MatrixBlocks(matrix_.rows, matrix_.columns)[i];
      State& s = states_[i];
      const auto g = [&](size_t r, size_t c) {
        return static_cast<double>(gradient[(b.row + r) * matrix_.columns + b.column + c]);
      };
      add_square(b.rows, b.columns, g, s.left);
      add_square(
          b.columns, b.rows, [&](size_t c, size_t r) { return g(r, c); }, s.right);
      if (takes_roots_anew(steps_)) {
        s.left_root = root_of(b.rows, s.left);
        s.right_root = root_of(b.columns, s.right);
      }
      move(b, g, s, rate);
    }
    return values_;
  }

 private:
  struct State {
    std::vector<double> left, right, left_root, right_root;
  };

  size_t count() const { return MatrixBlocks(matrix_.rows, matrix_.columns).count(); }

  template <typename Element>
  static void add_square(size_t n, size_t inner, const Element& g, std::vector<double>& square) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        for (size_t k = 0; k < inner; ++k) square[i * n + j] += g(i, k) * g(j, k);
      }
    }
  }

  std::vector<double> root_of(size_t n, const std::vector<double>& square) const {
    std::vector<double> root(n * n), scratch(inverse_root_scratch(n));
    inverse_fourth_root(n, epsilon_, square.data(), root.data(), scratch.data());
    return root;
  }

  template <typename Element>
  void move(const MatrixBlock& b, const Element& g, const State& s, double rate) {
    std::vector<double> half(b.rows * b.columns), u(half.size());
    double squares = 0;
    for (size_t r = 0; r < b.rows; ++r) {
      for (size_t c = 0; c < b.columns; ++c) {
        for (size_t k = 0; k < b.rows; ++k) half[r * b.columns + c] += s.left_root[r * b.rows + k] * g(k, c);
      }
    }
    for (size_t r = 0; r < b.rows; ++r) {
      for (size_t c = 0; c < b.columns; ++c) {
        double& value = u[r * b.columns + c];
        for (size_t k = 0; k < b.columns; ++k) value += half[r * b.columns + k] * s.right_root[k * b.columns + c];
        squares += value * value;
      }
    }
    const double most = std::sqrt(static_cast<double>(std::min(b.rows, b.columns)));
    const double cut = std::sqrt(squares) > most ? most / std::sqrt(squares) : 1;
    const double length = .2 * std::sqrt(static_cast<double>(std::max(b.rows, b.columns)));
    for (size_t r = 0; r < b.rows; ++r) {
      for (size_t c = 0; c < b.columns; ++c) {
        values_[(b.row + r) * matrix_.columns + b.column + c] -= rate * length * cut * u[r * b.columns + c];
      }
    }
  }

  ShampooMatrix matrix_;
  double epsilon_;
  std::vector<double> values_;
  std::vector<State> states_;
  uint64_t steps_ = 0;
};

const Values kStart = {.5f, -1, .25f, 1.5f, .75f, -.5f};
const std::vector<Values> kGradients = {
    {.1f, -.2f, .3f, .4f, .5f, -.6f}, {-.3f, .2f, .1f, .05f, -.15f, .25f}, {.2f, .2f, -.1f, -.4f, .3f, .1f}};
// Ten lines of NumPy in float64: 0.1 times the direction, L and R from 1e-4 I.
constexpr double kAfterThree[] = {.4538285108, -1.0658574911, .1567444235, 1.4693252107, .6596223801, -.4974065481};
const double kRate = .1 / (.2 * std::sqrt(3.0));

TEST(Shampoo, IsThePapersToFloatsPrecision) {
  Updated updated({2, 3}, kSettings, kStart);
  Values seen;
  for (const Values& gradient : kGradients) seen = updated.step(gradient, kRate);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], kAfterThree[i], 2e-6) << i;
}

// One block and several, wide and tall; more steps than have roots of their own.
TEST(Shampoo, IsItsFormulaInBlocksOfAnyShape) {
  for (const ShampooMatrix matrix : {ShampooMatrix{6, 11}, {40, 7}, {5, 45}, {131, 40}}) {
    SCOPED_TRACE(std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns));
    const size_t count = matrix.rows * matrix.columns;
    const Values start = random_values(count, 1);
    Updated updated(matrix, kSettings, start);
    Reference reference(matrix, static_cast<double>(kSettings.epsilon), start);
    for (uint64_t step = 0; step < 13; ++step) {
      const Values gradient = random_values(count, 10 + step);
      const Values seen = updated.step(gradient, .01);
      const std::vector<double>& expected = reference.step(gradient, .01);
      double most = 0;
      for (size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(std::isfinite(seen[i])) << step;  // max() passes NaN over
        most = std::max(most, std::fabs(static_cast<double>(seen[i]) - expected[i]));
      }
      ASSERT_LT(most, 2e-5) << step;
    }
  }
}

TEST(Shampoo, HasTheSameBitsByAnyNumberOfThreads) {
  const ShampooMatrix matrix{131, 20};
  const Values start = random_values(matrix.rows * matrix.columns, 1);
  ASSERT_GT(MatrixBlocks(matrix.rows, matrix.columns).count(), 1u);
  Updated one(matrix, kSettings, start), three(matrix, kSettings, start, 3);
  for (uint64_t step = 0; step < 2; ++step) {
    const Values gradient = random_values(start.size(), 10 + step);
    EXPECT_EQ(one.step(gradient, .01), three.step(gradient, .01));
  }
}

TEST(Shampoo, DecaysBesideTheGradientAndRestsWithoutOne) {
  OptimizerSettings settings = kSettings;
  const Values zeros(kStart.size());
  EXPECT_EQ(Updated({2, 3}, settings, kStart).step(zeros, .1), kStart);
  settings.epsilon = 0;
  EXPECT_EQ(Updated({2, 3}, settings, kStart).step(zeros, .1), kStart);
  settings.weight_decay = .5f;
  const Values decayed = Updated({2, 3}, settings, kStart).step(zeros, .1);
  for (size_t i = 0; i < decayed.size(); ++i) EXPECT_FLOAT_EQ(decayed[i], kStart[i] * .95f) << i;
}

double length_of(const Values& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// However long the gradient is, and whatever the roots have not seen of it.
TEST(Shampoo, NoStepIsLongerThanAdamWs) {
  const ShampooMatrix matrix{24, 40};
  const size_t count = matrix.rows * matrix.columns;
  for (const float scale : {1e-2f, 1e3f}) {
    Updated updated(matrix, kSettings, Values(count));
    Values gradient = random_values(count, 9);
    for (float& value : gradient) value *= scale;
    std::fill_n(gradient.begin(), count / 2, 0.0f);
    Values before = updated.step(gradient, 1);
    EXPECT_NEAR(length_of(before), .2 / std::sqrt(2.0), .01) << scale << ": half of the rows move";
    for (int step = 2; step < 12; ++step) {
      if (step == 11) std::reverse(gradient.begin(), gradient.end());
      const Values after = updated.step(gradient, 1);
      for (size_t i = 0; i < count; ++i) before[i] = after[i] - before[i];
      EXPECT_LE(length_of(before), .2001) << scale << " " << step;
      before = after;
    }
  }
}

Model perceptron() {
  ModelBuilder build("words", {6}, 3, DataType::int32);
  TensorId x = build.embedding(build.input(), 9, 4);
  x = build.dense(build.op(OpKind::flatten, {x}), 5);
  return load_or_die(build.finish(build.dense(build.relu(x), 3)));
}

// Weights of dense and convolutions are Shampoo's; biases, scales and tables of embeddings are AdamW's.
TEST(Shampoo, UpdatesLinearMapsAloneAndItsFactorsAreCounted) {
  const Model model = perceptron();
  Batch batch(model, 8);
  const auto moved = [&](OptimizerKind kind, uint64_t& bytes) {
    TrainOptions options;
    options.batch_size = 8;
    options.optimizer = {.kind = kind, .learning_rate = .01f};
    bytes = Trainer::plan(model, options, 8)->optimizer_bytes;
    Result<Trainer> trainer = Trainer::create(model, options, batch);
    EXPECT_OK(trainer);
    EXPECT_OK(trainer->step());
    Values delta(model.value_count());
    trainer->delta(delta);
    return delta;
  };
  uint64_t shampoo_bytes = 0, adamw_bytes = 0;
  const Values shampoo = moved(OptimizerKind::shampoo, shampoo_bytes), adamw = moved(OptimizerKind::adamw, adamw_bytes);
  uint64_t factors = 0;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    const auto first = static_cast<std::ptrdiff_t>(tensor.payload_offset / sizeof(float));
    const auto end = first + static_cast<std::ptrdiff_t>(elements(tensor.shape));
    const bool is_map = tensor.shape.size() > 1 && tensor.name.find("table") == std::string::npos;
    EXPECT_EQ(std::equal(shampoo.begin() + first, shampoo.begin() + end, adamw.begin() + first), !is_map)
        << tensor.name;
    if (is_map) {
      factors += shampoo_factor_values({static_cast<size_t>(tensor.shape[0]), static_cast<size_t>(tensor.shape[1])});
    }
  }
  EXPECT_GT(factors, 0u);
  EXPECT_EQ(shampoo_bytes, adamw_bytes + factors * sizeof(float));
}

// Step 12 takes the roots of step 10.
TEST(Shampoo, GoesOnFromACheckpointToTheSameBits) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  const Model model = perceptron();
  Batch batch(model, 10);
  TrainOptions options;
  options.batch_size = 4;
  options.epochs = 6;
  options.optimizer = {.kind = OptimizerKind::shampoo, .learning_rate = .01f};
  Trainer whole = *Trainer::create(model, options, batch);
  for (int step = 0; step < 12; ++step) ASSERT_OK(whole.step());
  ASSERT_OK(whole.save_checkpoint(path));
  Trainer resumed = *Trainer::create(model, options, batch);
  ASSERT_OK(resumed.restore_checkpoint(path));
  while (!whole.finished()) {
    ASSERT_OK(whole.step());
    ASSERT_OK(resumed.step());
  }
  EXPECT_TRUE(std::ranges::equal(whole.parameters(), resumed.parameters()));
  options.optimizer.kind = OptimizerKind::adamw;
  Trainer other = *Trainer::create(model, options, batch);
  EXPECT_ERROR(other.restore_checkpoint(path), ErrorCode::conflict, "optimizer");
}

// Ten patterns and noise: what a small net's loss is in each of two epochs, at the rates to begin with and at rates
// that are good for each.
TEST(Shampoo, LearnsAtLeastAsFastAsAdamAnEpoch) {
  constexpr uint64_t kCount = 320;
  constexpr size_t kFeatures = 36;
  const Model model = load_or_die(make_model(ModelKind::mlp, {6, 6, 1}, 10, 5));
  Examples examples(kCount, kFeatures, 10);
  const Values patterns = random_values(10 * kFeatures, 4);
  for (uint64_t i = 0; i < kCount; ++i) {
    const auto label = static_cast<size_t>(examples.labels()[i]);
    for (size_t k = 0; k < kFeatures; ++k) {
      const float noise = examples.values()[i * kFeatures + k];
      examples.set_feature(i, k, patterns[label * kFeatures + k] + 1.5f * noise);
    }
  }
  const auto losses = [&](OptimizerKind kind, float learning_rate) {
    TrainOptions options;
    options.batch_size = 16;
    options.epochs = 2;
    options.optimizer = {.kind = kind, .learning_rate = learning_rate};
    Trainer trainer = *Trainer::create(model, options, examples);
    double first = 0;
    while (!trainer.finished()) {
      EXPECT_OK(trainer.step());
      if (trainer.summary().examples == kCount) first = trainer.summary().loss_sum;
    }
    return std::pair(first, trainer.summary().loss_sum - first);
  };
  for (const auto& [rate, adams] : {std::pair{.05f, .001f}, {.2f, .01f}}) {
    const auto adam = losses(OptimizerKind::adam, adams), shampoo = losses(OptimizerKind::shampoo, rate);
    EXPECT_LE(shampoo.first, adam.first) << rate;
    EXPECT_LE(shampoo.second, adam.second) << rate;
  }
}

}  // namespace
}  // namespace coterie::test
