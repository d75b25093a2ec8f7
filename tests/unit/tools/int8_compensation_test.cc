// Integers that make up for each other in a network that computes in int8, and when they are kept.
#include "tools/model/int8_compensation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/support/matchers.h"
#include "tools/model/quantise_full.h"

namespace coterie {
namespace {

using namespace test;

// Inputs that move together, with numbers as targets.
class Together final : public ExampleSource {
 public:
  Together(uint64_t count, uint64_t inputs, uint64_t targets) : inputs_(inputs), targets_(targets) {
    Prng prng(9);
    for (uint64_t i = 0; i < count; ++i) {
      const double common = prng.uniform(0, 2);
      for (uint64_t k = 0; k < inputs; ++k) x_.push_back(static_cast<float>(common + prng.uniform(-.5, .5)));
    }
    t_.resize(count * targets);
  }
  uint64_t size() const override { return x_.size() / inputs_; }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::copy(std::span(x_).subspan(index * inputs_, inputs_), to.features().begin());
    std::ranges::copy(std::span(t_).subspan(index * targets_, targets_), to.targets().begin());
    return {};
  }
  std::vector<float> answers(const Model& model) const {
    std::vector<float> outputs(size() * targets_);
    const std::vector<std::span<const float>> inputs = {x_};
    EXPECT_OK(Predictor::create(model, static_cast<uint32_t>(size()))->run(inputs, size(), outputs));
    return outputs;
  }
  std::vector<float> answers(const Int8Choice& choice) const {
    const Result<Int8Program> program = choice.program();
    EXPECT_OK(program);
    std::vector<float> outputs(size() * targets_);
    EXPECT_OK(Int8Predictor(*program).run(x_, size(), outputs));
    return outputs;
  }
  void wants(const std::vector<float>& targets) { t_ = targets; }
  std::span<const float> inputs() const { return x_; }

 private:
  uint64_t inputs_, targets_;
  std::vector<float> x_, t_;
};

// How far numbers are apart, and their means output by output.
struct Apart {
  double square = 0, largest_mean = 0;
};
Apart apart(const std::vector<float>& one, const std::vector<float>& other, size_t outputs) {
  Apart found;
  std::vector<double> means(outputs);
  for (size_t i = 0; i < one.size(); ++i) {
    const auto off = static_cast<double>(one[i] - other[i]);
    found.square += off * off;
    means[i % outputs] += off * static_cast<double>(outputs) / static_cast<double>(one.size());
  }
  for (const double mean : means) found.largest_mean = std::max(found.largest_mean, std::fabs(mean));
  return found;
}

// Two layers: the second makes up for the first.
TEST(Int8Compensation, ComesNearerToTheModel) {
  ModelBuilder build("two", {24}, 5);
  const TensorId hidden = build.relu(build.dense(build.input(), 32));
  const Model model = *Model::load(*build.finish(build.dense(hidden, 6)));
  Together examples(120, 24, 6);
  const std::vector<float> exact = examples.answers(model);
  for (const uint32_t bits : {2u, 3u, 8u}) {
    Result<Int8Choice> plain = Int8Choice::create(model, examples, 6, bits);
    ASSERT_OK(plain);
    for (size_t i = 0; i < 2; ++i) plain->round_weight(i, RangeRule::least_mse);
    const Result<Int8Choice> found = int8_compensated(*plain, model, examples, 6);
    ASSERT_OK(found);
    const Apart before = apart(examples.answers(*plain), exact, 6), after = apart(examples.answers(*found), exact, 6);
    EXPECT_LT(after.square, (bits < 8 ? .5 : 1) * before.square) << bits;
    EXPECT_LT(after.largest_mean, .02) << bits << ": biases take back what is off on average";
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(found->is_compensated(i) && found->is_bias_corrected(i));
      EXPECT_EQ(found->weight_bits(i), bits);
    }
    // A weight and its bias as they were before.
    Int8Choice back = *found;
    for (size_t i = 0; i < 2; ++i) ASSERT_OK(back.take_weight(i, *plain));
    EXPECT_EQ(examples.answers(back), examples.answers(*plain));
    EXPECT_FALSE(back.is_compensated(0));
  }
}

Result<FullQuantiseReport> quantised(const Model& model, Together& examples) {
  return quantise_full(model, examples, examples,
                       {.loss = {.kind = Loss::mean_squared_error, .target = TargetKind::values},
                        .calibration_examples = 120,
                        .target_elements = 6,
                        .weight_bits = 3});
}

TEST(QuantiseFull, IntegersMakeUpForEachOtherWhereThatPays) {
  ModelBuilder build("one", {24}, 5);
  const Model model = *Model::load(*build.finish(build.dense(build.input(), 6)));
  Together examples(120, 24, 6);
  examples.wants(examples.answers(model));
  const Result<FullQuantiseReport> report = quantised(model, examples);
  ASSERT_OK(report);
  EXPECT_LT(report->calibration_loss, .5 * report->calibration_plain);
  EXPECT_TRUE(report->layers.at(1).weights.value().is_compensated);
  const Result<Int8Model> opened = open_int8_model(report->file);
  ASSERT_OK(opened);
  std::vector<float> answers(120 * 6);
  ASSERT_OK(Int8Predictor(opened->program).run(examples.inputs(), 120, answers));
  EXPECT_NEAR(apart(answers, examples.answers(model), 6).square / (120 * 6), report->after.loss_mean, 1e-6);
}

// With f, p and c what the model, its plain rounding and integers that make up for each other answer, the examples want
// f - l (c - f). By l > (d^2 - e^2) / (2 (e^2 - e d)), e = c - f and d = p - f, c is further from that than p is, and f
// is nearest all the same: the remedy is tried, and refused.
TEST(QuantiseFull, IntegersThatMakeUpAreRefusedWhereTheLossRises) {
  ModelBuilder build("one", {24}, 5);
  const Model model = *Model::load(*build.finish(build.dense(build.input(), 6)));
  Together examples(120, 24, 6);
  const Result<Int8Choice> plain = Int8Choice::create(model, examples, 6, 3);
  ASSERT_OK(plain);
  const Result<Int8Choice> other = int8_compensated(*plain, model, examples, 6);
  ASSERT_OK(other);
  const std::vector<float> f = examples.answers(model), p = examples.answers(*plain), c = examples.answers(*other);
  double d_d = 0, e_e = 0, e_d = 0;
  for (size_t i = 0; i < f.size(); ++i) {
    const auto d = static_cast<double>(p[i] - f[i]), e = static_cast<double>(c[i] - f[i]);
    d_d += d * d, e_e += e * e, e_d += e * d;
  }
  ASSERT_GT(e_e, 1.2 * e_d);
  const double l = 2 * (d_d - e_e) / (2 * (e_e - e_d));
  std::vector<float> wanted = f;
  for (size_t i = 0; i < f.size(); ++i) wanted[i] -= static_cast<float>(l) * (c[i] - f[i]);
  examples.wants(wanted);
  const Result<FullQuantiseReport> report = quantised(model, examples);
  ASSERT_OK(report);
  EXPECT_GT(report->calibration_loss, report->calibration_exact);
  EXPECT_LE(report->calibration_loss, report->calibration_plain);
  EXPECT_FALSE(report->layers.at(1).weights.value().is_compensated);
}

}  // namespace
}  // namespace coterie
