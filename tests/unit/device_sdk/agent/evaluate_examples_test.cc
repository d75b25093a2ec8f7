// What a device says of models on its examples, against what the models' outputs come to by hand.
#include "device_sdk/agent/evaluate_examples.h"

#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <cmath>
#include <numeric>

#include "device_sdk/agent/training_seed.h"
#include "device_sdk/runtime/model_builder.h"
#include "proto/messages/analytics_lanes.h"
#include "secure/crypto/digest.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

constexpr uint32_t kInputs = 4, kClasses = 3;

// Example i has two numbers, and is in group i mod 3: the third one is no group.
class Answered final : public ExampleSource {
 public:
  explicit Answered(uint64_t size = 40) : size_(size) {}
  static std::array<float, kInputs> input(uint64_t i) {
    return {static_cast<float>(i % 5) - 2, static_cast<float>(i % 7) - 3, i % 3 == 0 ? 1.0f : 0, i % 3 == 1 ? 1.0f : 0};
  }
  static int32_t label(uint64_t i) { return static_cast<int32_t>((i * i + i / 4) % kClasses); }
  uint64_t size() const override { return size_; }
  Status read(uint64_t index, const Example& to) override {
    const auto input = Answered::input(index);
    std::ranges::copy(input, to.features().begin());
    to.labels()[0] = labelled_wrong ? 3 : label(index);
    return {};
  }
  bool labelled_wrong = false;

 private:
  uint64_t size_;
};

using Weights = std::array<float, kInputs * kClasses>;
constexpr Weights kFirst = {1, -1, 0.5f, 0.25f, 1, -1, 0, 0.5f, 0, 0, 0, 1};
constexpr Weights kSecond = {-1, 1, 0.5f, 0.75f, -1, 1, 0, 0, 0.5f, 0.25f, 0, 0};

Bytes linear(const Weights& weights) {
  ModelBuilder builder("linear", {kInputs}, 1);
  const TensorId w = builder.parameter("w", {kInputs, kClasses}, {weights.begin(), weights.end()});
  return *builder.finish(builder.op(OpKind::dense, {builder.input(), w}));
}

AnalyticsRules rules_for(std::vector<Bytes> models, uint32_t values_max = 64) {
  AnalyticsRules rules{.kind = AnalyticsKind::evaluation,
                       .input_values = kInputs,
                       .feature = 2,
                       .categories = 2,
                       .values_max = values_max,
                       .lane_max = evaluation_lane_max(values_max),
                       .evaluation = EvaluationRules{.models = {}, .classes = kClasses, .score_bins = 16}};
  for (const Bytes& file : models) rules.evaluation->models.push_back({content_digest(file), file.size()});
  return rules;
}

Result<std::vector<float>> evaluate(const AnalyticsRules& rules, std::vector<Bytes> files, ExampleSource& examples,
                                    uint64_t seed = 1) {
  std::vector<Model> models;
  for (Bytes& file : files) models.push_back(load_or_die(std::move(file)));
  COT_ASSIGN(ExampleEvaluator evaluator, ExampleEvaluator::create(rules, models, examples.size(), seed));
  while (!evaluator.finished()) COT_TRY(evaluator.step(examples));
  return evaluator.lanes();
}

// The class that such weights say, and the share that they give to each.
struct Said {
  uint32_t best = 0;
  std::array<double, kClasses> shares = {};
};
Said said(const Weights& weights, uint64_t i) {
  Said said;
  double sum = 0;
  std::array<double, kClasses> logits = {};
  for (uint32_t c = 0; c < kClasses; ++c) {
    for (uint32_t k = 0; k < kInputs; ++k)
      logits[c] += static_cast<double>(Answered::input(i)[k] * weights[k * kClasses + c]);
    if (logits[c] > logits[said.best]) said.best = c;
    sum += std::exp(logits[c]);
  }
  for (uint32_t c = 0; c < kClasses; ++c) said.shares[c] = std::exp(logits[c]) / sum;
  return said;
}

TEST(EvaluateExamples, CountsWhatTheModelsSay) {
  const std::vector<Bytes> files = {linear(kFirst), linear(kSecond)};
  const AnalyticsRules rules = rules_for(files);
  const EvaluationLayout layout(rules);
  Answered examples;
  const auto lanes = evaluate(rules, files, examples);
  ASSERT_OK(lanes);
  for (size_t m = 0; m < 2; ++m) {
    std::vector<double> confusion(kClasses * (kClasses + 1)), right(4), count(4);
    double loss = 0, scored = 0;
    for (uint64_t i = 0; i < examples.size(); ++i) {
      const Said answer = said(m == 0 ? kFirst : kSecond, i);
      const auto label = static_cast<uint32_t>(Answered::label(i));
      confusion[label * (kClasses + 1) + answer.best] += 1;
      for (const size_t group : {size_t{0}, 1 + i % 3}) ++count[group], right[group] += answer.best == label ? 1 : 0;
      loss -= std::log(answer.shares[label]);
      scored += answer.shares[2] >= 0.5 && label == 2 ? 1 : 0;
    }
    for (uint32_t c = 0; c < kClasses; ++c) {
      for (uint32_t p = 0; p <= kClasses; ++p) {
        EXPECT_EQ((*lanes)[layout.confusion(m, c, p)], confusion[c * (kClasses + 1) + p]) << m << c << p;
      }
    }
    for (size_t g = 0; g < 4; ++g) {
      EXPECT_EQ(devices_in(layout, m, g, *lanes), 1);
      EXPECT_EQ(moment_in(layout, m, g, Moment::n, *lanes), count[g]);
      EXPECT_EQ(moment_in(layout, m, g, Moment::y, *lanes), right[g]);
      EXPECT_EQ(moment_in(layout, m, g, Moment::yy, *lanes), right[g] * right[g]);
    }
    EXPECT_NEAR(moment_in(layout, m, 0, Moment::l, *lanes) / kLossUnits, loss, 40 * 0.5 / kLossUnits);
    double above = 0;
    for (uint32_t bin = 8; bin < 16; ++bin) above += static_cast<double>((*lanes)[layout.score(m, 2, true, bin)]);
    EXPECT_EQ(above, scored);
    EXPECT_EQ((*lanes)[layout.accuracy(m, accuracy_bin(40, static_cast<uint64_t>(right[0])))], layout.device_unit());
  }
}

// The lane of a difference is drawn so that its mean is the difference.
TEST(EvaluateExamples, RoundsTheDifferenceOfTwoModelsWithoutBias) {
  const std::vector<Bytes> files = {linear(kFirst), linear(kSecond)};
  const AnalyticsRules rules = rules_for(files);
  const EvaluationLayout layout(rules);
  Answered examples;
  double sum = 0, exact = 0;
  constexpr int kDraws = 400;
  for (int seed = 0; seed < kDraws; ++seed) {
    const auto lanes = evaluate(rules, files, examples, static_cast<uint64_t>(seed));
    ASSERT_OK(lanes);
    double there = 0;
    for (int32_t step = -kDifferenceSteps; step <= kDifferenceSteps; ++step) {
      const double is = static_cast<double>((*lanes)[layout.difference(step)] / layout.device_unit());
      there += is;
      sum += is * step / kDifferenceSteps;
    }
    EXPECT_EQ(there, 1) << "a device is in one lane";
    exact = (moment_in(layout, 0, 0, Moment::y, *lanes) - moment_in(layout, 1, 0, Moment::y, *lanes)) / 40;
  }
  ASSERT_NE(exact * kDifferenceSteps, std::round(exact * kDifferenceSteps)) << "nothing would be rounded";
  EXPECT_NEAR(sum / kDraws, exact, 4 * 0.5 / kDifferenceSteps / std::sqrt(kDraws));
}

TEST(EvaluateExamples, DrawsAsManyAsItMay) {
  const std::vector<Bytes> files = {linear(kFirst)};
  const AnalyticsRules rules = rules_for(files, 21);
  const EvaluationLayout layout(rules);
  Answered many(500), none(0);
  const auto lanes = evaluate(rules, files, many);
  ASSERT_OK(lanes);
  EXPECT_EQ(moment_in(layout, 0, 0, Moment::n, *lanes), 21);
  EXPECT_EQ(*evaluate(rules, files, many), *lanes) << "the same seed draws the same";
  EXPECT_NE(*evaluate(rules, files, many, 2), *lanes);
  EXPECT_EQ(*evaluate(rules, files, none), std::vector<float>(layout.lanes())) << "who has none adds nothing";
}

TEST(EvaluateExamples, AnAnswerThatIsNoNumberIsNoneAndWorthTheMost) {
  Weights huge = kFirst;
  huge.fill(3e38f);
  const std::vector<Bytes> files = {linear(huge)};
  const AnalyticsRules rules = rules_for(files);
  const EvaluationLayout layout(rules);
  Answered examples(1);  // -2 and -3: both sums overflow
  const auto lanes = evaluate(rules, files, examples);
  ASSERT_OK(lanes);
  EXPECT_EQ((*lanes)[layout.confusion(0, static_cast<uint32_t>(Answered::label(0)), kClasses)], 1);
  EXPECT_EQ(moment_in(layout, 0, 0, Moment::y, *lanes), 0);
  EXPECT_EQ(moment_in(layout, 0, 0, Moment::l, *lanes), kLossMax * kLossUnits);
}

TEST(EvaluateExamples, RefusesWhatDoesNotFit) {
  const std::vector<Bytes> files = {linear(kFirst)};
  Answered examples;
  examples.labelled_wrong = true;
  EXPECT_ERROR(evaluate(rules_for(files), files, examples), ErrorCode::conflict, "has class 3, and there are 3");
  AnalyticsRules rules = rules_for(files);
  rules.evaluation->classes = 2;
  EXPECT_ERROR(evaluate(rules, files, examples), ErrorCode::invalid_argument, "says 3 numbers of an example");
  rules = rules_for(files);
  rules.input_values = 5;
  EXPECT_ERROR(evaluate(rules, files, examples), ErrorCode::invalid_argument, "takes examples of 4 numbers");
}

class AgentEvaluates : public AgentTest {
 protected:
  AgentEvaluates() {
    settings_.policy.privacy.accepts_analytics = true;
    server_.plan.training = {};
    server_.plan.analytics = rules_;
    server_.plan.update.value_count = lane_count(rules_);
    server_.plan.update.clip_l2 = clip_of(rules_);
    server_.plan.update.fixed_point = FixedPointSpec::finest(static_cast<float>(rules_.lane_max), 1, 1000);
    server_.control = linear(kSecond);  // whatever has this digest is sent
    server_.begin_round(linear(kFirst));
  }
  Status open() {
    agent_.reset();
    COT_ASSIGN(agent_, Agent::open(settings_, server_, answered_));
    return {};
  }

  AnalyticsRules rules_ = rules_for({linear(kFirst), linear(kSecond)});
  Answered answered_;
};

TEST_F(AgentEvaluates, FetchesBothModelsAndSendsWhatTheySay) {
  ASSERT_OK(open());
  step_until(Activity::fetched_model);
  EXPECT_EQ(agent_->state().phase, ParticipantPhase::training);
  ASSERT_OK(open());  // as if it was killed in between
  step_until(Activity::uploaded);
  ASSERT_EQ(server_.uploads().size(), 1u);
  const uint64_t seed = repeated_seed(5, server_.assignment().model_version);
  EXPECT_EQ(server_.uploads()[0].values, *evaluate(rules_, {linear(kFirst), linear(kSecond)}, answered_, seed));
  EXPECT_EQ(server_.calls(Call::model), 2);
}

TEST_F(AgentEvaluates, SendsNothingOfAModelThatItsDiskHasDamaged) {
  ASSERT_OK(open());
  step_until(Activity::fetched_model);
  const std::string path = settings_.state_dir + "/model-" + rules_.evaluation->models[1].digest.hex() + ".cotf";
  ASSERT_OK(os::write_file_atomically(path, linear(kFirst), os::Durability::content));
  const AgentProgress progress = step_until(Activity::trained);
  ASSERT_TRUE(progress.error);
  EXPECT_EQ(progress.error->code(), ErrorCode::data_loss);
  EXPECT_TRUE(server_.uploads().empty());
}

}  // namespace
}  // namespace coterie::test
