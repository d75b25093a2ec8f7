#include <cmath>
#include <limits>

#include "proto/codec/codec.h"
#include "proto/generated/wire_generated.h"
#include "proto/messages/quantized_lanes.h"
#include "proto/messages/training_rules.h"
#include "tests/support/matchers.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::changed;
using test::expect_accepted;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// A plan has one set of rules: whoever makes it and whoever receives it must say the same, except that the maker's
// mistake is an argument and the receiver sees bad bytes.
template <typename Change>
void expect_bad(std::string_view words, Change change) {
  const Plan plan = changed<Plan>(change);
  EXPECT_ERROR(validate(plan), ErrorCode::invalid_argument, words);
  test::expect_rejected<Plan>(words, change);
}

template <typename Change>
void expect_good(Change change) {
  EXPECT_OK(validate(changed<Plan>(change)));
  expect_accepted<Plan>(change);
}

TEST(Plan, SaysWhichJobIsWrong) {
  expect_bad("job", [](Plan& p) { p.job = JobId(""); });
  expect_bad("job", [](Plan& p) { p.job = JobId(std::string(65, 'j')); });
}

TEST(Plan, HasDeviceRequirementsInRange) {
  expect_good([](Plan& p) {
    p.device_requirements = {.idle = true,
                             .charging = true,
                             .unmetered = true,
                             .background = true,
                             .battery_percent_min = 100,
                             .thermal_max = ThermalState::critical,
                             .free_memory_bytes_min = kFreeMemoryBytesMax};
  });
  expect_good([](Plan& p) { p.device_requirements.foreground = true; });
  expect_bad("battery_percent_min", [](Plan& p) { p.device_requirements.battery_percent_min = 101; });
  expect_bad("thermal_max", [](Plan& p) { p.device_requirements.thermal_max = static_cast<ThermalState>(5); });
  expect_bad("free_memory_bytes_min",
             [](Plan& p) { p.device_requirements.free_memory_bytes_min = kFreeMemoryBytesMax + 1; });
  expect_bad("background", [](Plan& p) { p.device_requirements = {.foreground = true, .background = true}; });
}

TEST(Plan, LimitsTrainingByName) {
  expect_bad("loss", [](Plan& p) { p.training.loss = static_cast<Loss>(0); });
  expect_bad("loss", [](Plan& p) { p.training.loss = static_cast<Loss>(12); });
  expect_bad("batch_size", [](Plan& p) { p.training.batch_size = 0; });
  expect_bad("batch_size", [](Plan& p) { p.training.batch_size = 4097; });
  expect_bad("local_epochs", [](Plan& p) { p.training.local_epochs = 0; });
  expect_bad("local_epochs", [](Plan& p) { p.training.local_epochs = 1001; });
  expect_good([](Plan& p) { p.training.batch_size = 4096; });
  expect_good([](Plan& p) { p.training.local_epochs = 1000; });
}

TEST(Plan, LimitsEveryOptimizerSettingByName) {
  using Set = void (*)(OptimizerSettings&, float);
  struct Rule {
    const char* name;
    Set set;
    std::vector<float> bad;
    std::vector<float> good;
  };
  const float above_one = std::nextafter(1.0f, 2.0f);
  const float below_one = std::nextafter(1.0f, 0.0f);
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<Rule> rules = {
      {"learning_rate",
       [](OptimizerSettings& o, float v) { o.learning_rate = v; },
       {0, -tiny, 1.000001e6f},
       {tiny, 1e6f}},
      {"momentum", [](OptimizerSettings& o, float v) { o.momentum = v; }, {-tiny, above_one}, {0, 1}},
      {"weight_decay", [](OptimizerSettings& o, float v) { o.weight_decay = v; }, {-tiny, 1.000001e6f}, {0, 1e6f}},
      {"beta1", [](OptimizerSettings& o, float v) { o.beta1 = v; }, {-tiny, 1}, {0, below_one}},
      {"beta2", [](OptimizerSettings& o, float v) { o.beta2 = v; }, {-tiny, 1}, {0, below_one}},
      {"epsilon", [](OptimizerSettings& o, float v) { o.epsilon = v; }, {0, -tiny, above_one}, {tiny, 1}},
  };
  for (const Rule& rule : rules) {
    std::vector<float> bad = rule.bad;
    bad.insert(bad.end(), {kNaN, kInf, -kInf});
    const auto with = [&](float value) {
      return [&rule, value](Plan& p) {
        p.training.optimizer.kind = OptimizerKind::adam;
        rule.set(p.training.optimizer, value);
      };
    };
    for (float value : bad) expect_bad(rule.name, with(value));
    for (float value : rule.good) expect_good(with(value));
  }
  expect_bad("optimizer", [](Plan& p) { p.training.optimizer.kind = static_cast<OptimizerKind>(0); });
  expect_bad("optimizer", [](Plan& p) { p.training.optimizer.kind = static_cast<OptimizerKind>(11); });
}

// SGD does not use Adam's settings; they may be absent (zero), but a plan never holds a number that is none.
TEST(Plan, OfSgdStillHoldsOnlyFiniteNumbers) {
  expect_good([](Plan& p) { p.training.optimizer.beta1 = p.training.optimizer.epsilon = 0; });
  expect_bad("beta1", [](Plan& p) { p.training.optimizer.beta1 = kNaN; });
  expect_bad("beta2", [](Plan& p) { p.training.optimizer.beta2 = kInf; });
  expect_bad("epsilon", [](Plan& p) { p.training.optimizer.epsilon = -kInf; });
}

TEST(Plan, LimitsTheOtherOptimizersSettings) {
  expect_bad("smoothing", [](Plan& p) { p.training.optimizer.smoothing = 1; });
  expect_bad("smoothing", [](Plan& p) { p.training.optimizer.smoothing = kNaN; });
  expect_bad("nesterov", [](Plan& p) { p.training.optimizer = {.kind = OptimizerKind::adam, .nesterov = true}; });
  expect_bad("nesterov", [](Plan& p) { p.training.optimizer = {.kind = OptimizerKind::sgd, .nesterov = true}; });
  expect_good([](Plan& p) { p.training.optimizer = {.momentum = 0.9f, .nesterov = true}; });
  for (const std::string_view name : optimizer_names()) {
    const OptimizerKind kind = *optimizer_from(name);
    expect_good([kind](Plan& p) { p.training.optimizer.kind = kind; });
    const auto without = [kind](Plan& p) { p.training.optimizer = {.kind = kind, .epsilon = 0}; };
    if (kind == OptimizerKind::sgd || kind == OptimizerKind::lion) expect_good(without);
    else expect_bad("epsilon", without);
  }
}

TEST(Plan, LimitsTheObjectiveByName) {
  for (const std::string_view name : loss_names()) {
    const Loss loss = *loss_from(name);
    expect_good([loss](Plan& p) { p.training.loss = loss; });
    const bool is_softmax = loss == Loss::softmax_cross_entropy;
    const auto smoothed = [loss](Plan& p) { p.training.loss = loss, p.training.label_smoothing = 0.1f; };
    const auto weighed = [loss](Plan& p) { p.training.loss = loss, p.training.class_weights = {1, 0.5f}; };
    if (is_softmax) expect_good(smoothed);
    else expect_bad("label_smoothing", smoothed);
    if (is_softmax || loss == Loss::negative_log_likelihood) expect_good(weighed);
    else expect_bad("class_weights", weighed);
  }
  expect_bad("label_smoothing", [](Plan& p) { p.training.label_smoothing = 1; });
  expect_bad("label_smoothing", [](Plan& p) { p.training.label_smoothing = kNaN; });
  expect_bad("loss_threshold", [](Plan& p) { p.training.loss_threshold = -1; });
  expect_bad("loss_threshold", [](Plan& p) { p.training.loss = Loss::huber, p.training.loss_threshold = 0; });
  for (const std::vector<float>& weights : {std::vector{-1.0f}, {kNaN}, {1.0f, kInf}, {0.0f, 0.0f}})
    expect_bad("class_weights", [&weights](Plan& p) { p.training.class_weights = weights; });
  expect_bad("class_weights", [](Plan& p) { p.training.class_weights.assign(kClassWeightsMax + 1, 1); });
  for (const float mu : {-0.1f, 1.000001e6f, kNaN, kInf}) {
    expect_bad("proximal_mu", [mu](Plan& p) { p.training.proximal_mu = mu; });
  }
  for (const float mu : {0.01f, 1e6f}) expect_good([mu](Plan& p) { p.training.proximal_mu = mu; });
}

TEST(Plan, LimitsTheCorrectionByName) {
  const auto with = [](uint8_t kind, float alpha) {
    return [kind, alpha](Plan& p) { p.training.correction = {static_cast<CorrectionKind>(kind), alpha}; };
  };
  expect_good(with(1, 0.1f));
  expect_good(with(1, 1e6f));
  expect_bad("kind", with(5, 0.1f));
  expect_bad("kind", with(255, 0.1f));
  expect_bad("alpha", with(0, 0.1f));
  for (const float alpha : {0.0f, -1.0f, 1.1e6f, kNaN, kInf}) expect_bad("alpha", with(1, alpha));
  expect_bad("proximal_mu", [&](Plan& p) { with(1, 0.1f)(p), p.training.proximal_mu = 0.1f; });
}

void make_scaffold(Plan& p) {
  p.training = {.correction = {.kind = CorrectionKind::scaffold}};
  p.update.encoding = UpdateEncoding::float32;
  p.update.value_count = 10;
  p.update.control_value_count = 5;
  p.privacy = {};
}

TEST(Plan, LimitsTheControlPartByName) {
  const auto with = [](const std::function<void(Plan&)>& change) {
    return [change](Plan& p) { make_scaffold(p), change(p); };
  };
  expect_good(make_scaffold);
  expect_good(with([](Plan& p) { p.control = Digest{{1}}; }));
  expect_good(with([](Plan& p) { p.update.encoding = UpdateEncoding::float32_pooled; }));
  for (const uint64_t values : {0u, 4u, 6u, 10u}) {
    expect_bad("control_value_count", with([values](Plan& p) { p.update.control_value_count = values; }));
  }
  expect_bad("control_value_count", with([](Plan& p) { p.training.correction = {}; }));
  expect_bad("control must be absent", [](Plan& p) { p.control = Digest{{1}}; });
  expect_bad("alpha", with([](Plan& p) { p.training.correction.alpha = 0.1f; }));
  expect_bad("momentum", with([](Plan& p) { p.training.optimizer.momentum = 0.9f; }));
  expect_bad("must be sgd with scaffold", with([](Plan& p) { p.training.optimizer.kind = OptimizerKind::adam; }));
  expect_bad("proximal_mu", with([](Plan& p) { p.training.proximal_mu = 0.1f; }));
  expect_bad("normalised_steps", with([](Plan& p) { p.training.normalised_steps = 1; }));
  expect_bad("encoding", with([](Plan& p) {
               p.update.encoding = UpdateEncoding::quantized;
               p.update.clip_l2 = 1;
               p.update.quantization = {.bits = 8};
             }));
}

TEST(Plan, LimitsNormalisedStepsByName) {
  for (const float steps : {0.5f, 1e6f}) expect_good([steps](Plan& p) { p.training.normalised_steps = steps; });
  for (const float steps : {-1.0f, 1.1e6f, kNaN, kInf}) {
    expect_bad("normalised_steps", [steps](Plan& p) { p.training.normalised_steps = steps; });
  }
  expect_bad("sgd without nesterov", [](Plan& p) {
    p.training.normalised_steps = 1;
    p.training.optimizer.kind = OptimizerKind::adam;
  });
  expect_bad("sgd without nesterov", [](Plan& p) {
    p.training.normalised_steps = 1;
    p.training.optimizer = {.momentum = 0.5f, .nesterov = true};
  });
  expect_bad("must be 0 with feddyn", [](Plan& p) {
    p.training.normalised_steps = 1;
    p.training.correction = {CorrectionKind::feddyn, 0.1f};
  });
}

TEST(Plan, LimitsPatternsByName) {
  using Patterns = std::vector<std::string> TrainingSettings::*;
  for (const auto& [name, patterns] : {std::pair<const char*, Patterns>("freeze", &TrainingSettings::freeze),
                                       {"train_only", &TrainingSettings::train_only}}) {
    expect_good([patterns](Plan& p) { p.training.*patterns = {"features.*", std::string(kPatternBytesMax, 'x')}; });
    expect_good([patterns](Plan& p) { (p.training.*patterns).assign(kPatternsMax, "x"); });
    expect_bad(name, [patterns](Plan& p) { (p.training.*patterns).assign(kPatternsMax + 1, "x"); });
    expect_bad(name, [patterns](Plan& p) { p.training.*patterns = {""}; });
    expect_bad(name, [patterns](Plan& p) { p.training.*patterns = {std::string(kPatternBytesMax + 1, 'x')}; });
  }
  expect_good([](Plan& p) { p.training.train_last = 2; });
  expect_bad("train_last", [](Plan& p) { p.training.train_last = 1, p.training.train_only = {"x"}; });
}

TEST(Plan, IsAFrameHoweverMuchItSays) {
  expect_good([](Plan& p) {
    p.training.class_weights.assign(kClassWeightsMax, 0.5f);
    p.training.freeze.assign(kPatternsMax, std::string(kPatternBytesMax, 'x'));
    p.training.train_only = p.training.freeze;
    p.training.personal.emplace();
    p.training.personal->parameters.assign(kPersonalPatternsMax, std::string(kPatternBytesMax, 'x'));
    p.update.whole_value_count = p.update.value_count + 5;
  });
}

// They would read past what they do not know, and train something else.
TEST(Plan, ThatOlderDevicesWouldMisreadHasALossThatTheyRefuse) {
  using Change = void (*)(TrainingSettings&);
  const auto loss_seen_by_older = [](Change change) {
    const Bytes frame = encode(changed<Plan>([&](Plan& p) {
      p.training = {};
      change(p.training);
    }));
    return static_cast<int>(
        flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training()->loss());
  };
  EXPECT_EQ(loss_seen_by_older([](TrainingSettings&) {}), 1);
  EXPECT_EQ(loss_seen_by_older([](TrainingSettings& t) { t.loss = Loss::mean_squared_error; }), 2);
  for (const Change change : std::initializer_list<Change>{
           [](TrainingSettings& t) { t.loss = Loss::l1; }, [](TrainingSettings& t) { t.label_smoothing = 0.1f; },
           [](TrainingSettings& t) { t.loss_threshold = 2; },
           [](TrainingSettings& t) {
             t.class_weights = {1, 2};
           },
           [](TrainingSettings& t) { t.freeze = {"a"}; }, [](TrainingSettings& t) { t.train_only = {"a"}; },
           [](TrainingSettings& t) { t.train_last = 1; }, [](TrainingSettings& t) { t.proximal_mu = 0.1f; },
           [](TrainingSettings& t) {
             t.correction = {CorrectionKind::feddyn, 0.1f};
           },
           [](TrainingSettings& t) { t.normalised_steps = 5; },
           [](TrainingSettings& t) { t.loss = Loss::mean_squared_error, t.target = TargetKind::values; },
           [](TrainingSettings& t) { t.augment = "flip"; },
           [](TrainingSettings& t) { t.optimizer.kind = OptimizerKind::lion; },
           [](TrainingSettings& t) { t.optimizer.smoothing = 0.5f; },
           [](TrainingSettings& t) { t.optimizer = {.momentum = 0.5f, .nesterov = true}; }}) {
    EXPECT_EQ(loss_seen_by_older(change), 0);
  }
}

// Those that know all else would send every value.
TEST(Plan, WithTrainedValuesAloneHasNoLossWhereOlderDevicesLook) {
  const Bytes frame = encode(changed<Plan>([](Plan& p) {
    p.training = {.loss = Loss::huber,
                  .freeze = {"a.*"},
                  .target = TargetKind::values,
                  .correction = {CorrectionKind::feddyn, 0.1f},
                  .augment = "flip"};
    p.update.whole_value_count = p.update.value_count + 5;
  }));
  const auto* training =
      flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training();
  EXPECT_EQ(training->loss(), 0);
  EXPECT_EQ(training->objective()->loss(), 0);
  EXPECT_EQ(training->correction()->loss(), 0);
  EXPECT_EQ(training->target()->loss(), 0);
  EXPECT_EQ(training->augment()->loss(), 0);
  EXPECT_EQ(training->trained()->loss(), static_cast<uint8_t>(Loss::huber));
  const Result<Plan> read = decode_plan(frame);
  ASSERT_OK(read);
  EXPECT_EQ(read->training.loss, Loss::huber);
  EXPECT_EQ(read->update.model_value_count(), read->update.step_value_count() + 5);
}

TEST(Plan, SaysHowManyValuesOfHowManyAreTrained) {
  expect_good([](Plan& p) { p.update.whole_value_count = p.update.value_count; });
  expect_bad("value_count", [](Plan& p) { p.update.whole_value_count = p.update.value_count - 1; });
  expect_bad("whole_value_count", [](Plan& p) { p.update.whole_value_count = (1ull << 32) + 1; });
}

TEST(Plan, LimitsLora) {
  const auto with = [](const LoraSettings& lora) {
    return [lora](Plan& p) {
      p.training = {.lora = lora};
      p.update.whole_value_count = 1'000;
    };
  };
  expect_good(with({.rank = kLoraRankMax, .alpha = 0.5f, .pattern = "a.*", .fixed_a_seed = UINT64_MAX}));
  expect_good(with({.fixed_a_seed = 0}));
  expect_bad("rank", with({.rank = 0, .fixed_a_seed = 0}));
  expect_bad("rank", with({.rank = kLoraRankMax + 1, .fixed_a_seed = 0}));
  for (const float alpha : {0.0f, -1.0f, kNaN, kInf}) expect_bad("alpha", with({.alpha = alpha, .fixed_a_seed = 0}));
  expect_bad("pattern", with({.pattern = "", .fixed_a_seed = 0}));
  expect_bad("freeze", [&](Plan& p) {
    with({.fixed_a_seed = 0})(p);
    p.training.freeze = {"a"};
  });
  Plan whole = changed<Plan>(with({.fixed_a_seed = 0}));
  whole.update.whole_value_count = 0;
  EXPECT_ERROR(validate(whole), ErrorCode::invalid_argument, "whole_value_count must be above 0 with lora");
  Plan own_a = changed<Plan>(with({}));
  EXPECT_ERROR(validate(own_a), ErrorCode::invalid_argument, "seed must be there");
}

// Those that know objectives would train without the state.
TEST(Plan, WithACorrectionHasNoLossWhereDevicesWithoutCorrectionsLook) {
  const Bytes frame = encode(changed<Plan>([](Plan& p) {
    p.training = {.loss = Loss::l1, .correction = {CorrectionKind::feddyn, 0.1f}};
  }));
  const auto* training =
      flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training();
  EXPECT_EQ(training->loss(), 0);
  EXPECT_EQ(training->objective()->loss(), 0);
  EXPECT_EQ(training->correction()->loss(), static_cast<uint8_t>(Loss::l1));
}

// Those that know both would take a number's bytes for a class.
TEST(Plan, WithNumbersAsTargetsHasNoLossWhereDevicesWithoutThemLook) {
  for (const CorrectionKind kind : {CorrectionKind::none, CorrectionKind::feddyn}) {
    const Bytes frame = encode(changed<Plan>([kind](Plan& p) {
      p.training = {.loss = Loss::huber, .target = TargetKind::values, .correction = {kind, 0}};
      if (kind != CorrectionKind::none) p.training.correction.alpha = 0.1f;
    }));
    const auto* training =
        flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training();
    EXPECT_EQ(training->loss(), 0);
    EXPECT_EQ(training->objective()->loss(), 0);
    EXPECT_TRUE(training->correction() == nullptr || training->correction()->loss() == 0);
    EXPECT_EQ(training->target()->loss(), static_cast<uint8_t>(Loss::huber));
    ASSERT_OK(decode_plan(frame));
    EXPECT_EQ(decode_plan(frame)->training.target, TargetKind::values);
    EXPECT_EQ(decode_plan(frame)->training.loss, Loss::huber);
  }
}

TEST(Plan, LimitsTheTargetByName) {
  const auto with = [](Loss loss, uint8_t kind) {
    return [loss, kind](Plan& p) { p.training = {.loss = loss, .target = static_cast<TargetKind>(kind)}; };
  };
  for (const Loss loss : {Loss::mean_squared_error, Loss::l1, Loss::huber, Loss::smooth_l1, Loss::kl_divergence}) {
    expect_good(with(loss, 1));
  }
  expect_bad("target must be labels or values", with(Loss::huber, 2));
  expect_bad("target must be labels or values", with(Loss::huber, 255));
  for (const Loss loss : {Loss::negative_log_likelihood, Loss::cosine_embedding, Loss::triplet_margin}) {
    expect_bad("target must be labels with", with(loss, 1));
  }
  expect_bad("class_weights", [](Plan& p) { p.training = {.class_weights = {1, 2}, .target = TargetKind::values}; });
}

// Those that know objectives and corrections would train on the images as they are.
TEST(Plan, WithAnAugmentationHasNoLossWhereDevicesWithoutAugmentationsLook) {
  for (const DriftCorrection& correction : {DriftCorrection{}, DriftCorrection{CorrectionKind::feddyn, 0.1f}}) {
    const Plan plan =
        changed<Plan>([&](Plan& p) { p.training = {.correction = correction, .augment = "crop=4,flip"}; });
    const Bytes frame = encode(plan);
    const auto* training =
        flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training();
    EXPECT_EQ(training->loss(), 0);
    EXPECT_EQ(training->objective()->loss(), 0);
    EXPECT_EQ(training->correction() == nullptr ? 0 : training->correction()->loss(), 0);
    EXPECT_EQ(training->augment()->loss(), static_cast<uint8_t>(Loss::softmax_cross_entropy));
    EXPECT_EQ(decode_plan(frame)->training, plan.training);
  }
  expect_bad("augment", [](Plan& p) { p.training.augment = "flop"; });
  expect_bad("augment", [](Plan& p) { p.training.augment = std::string(2000, 'x'); });
}

TEST(Plan, LimitsTheUpdateByName) {
  expect_bad("encoding", [](Plan& p) { p.update.encoding = static_cast<UpdateEncoding>(0); });
  expect_bad("encoding", [](Plan& p) { p.update.encoding = static_cast<UpdateEncoding>(7); });
  expect_good([](Plan& p) { p.update.encoding = UpdateEncoding::float32_pooled; });
  expect_bad("value_count", [](Plan& p) { p.update.value_count = 0; });
  expect_bad("value_count", [](Plan& p) { p.update.value_count = (1ull << 32) + 1; });
  expect_good([](Plan& p) { p.update.value_count = 1ull << 32; });
  for (float value : {-1.0f, 1.1e9f, kNaN, kInf}) {
    expect_bad("clip_l2", [value](Plan& p) { p.update.clip_l2 = value; });
  }
  expect_good([](Plan& p) { p.update.clip_l2 = 0; });
}

void quantize(Plan& plan) {
  plan.update.encoding = UpdateEncoding::quantized;
  plan.update.clip_l2 = 2;
  plan.update.quantization = {.bits = 4, .rotated = true};
}

void quantize_masked(Plan& plan) {
  quantize(plan);
  plan.privacy = {.level = SecurityLevel::active, .cohort_min = 10, .corrupt_share = 0.1, .cipher_suite = 1};
  plan.update.quantization.contributors_max = 10;
}

TEST(Plan, LimitsQuantizedUpdatesByName) {
  expect_good(quantize);
  expect_good(quantize_masked);
  expect_bad("quantization must be absent", [](Plan& p) { p.update.quantization.bits = 4; });
  expect_bad("clip_l2", [](Plan& p) { quantize(p), p.update.clip_l2 = 0; });
  for (const uint32_t bits : {0u, 17u}) {
    expect_bad("bits must be in [1, 16]", [bits](Plan& p) { quantize(p), p.update.quantization.bits = bits; });
  }
  for (const uint32_t bits : {1u, 16u}) {
    expect_good([bits](Plan& p) { quantize(p), p.update.quantization.bits = bits; });
  }
  expect_bad("contributors_max", [](Plan& p) { quantize(p), p.update.quantization.contributors_max = 10; });
  expect_bad("contributors_max", [](Plan& p) { quantize_masked(p), p.update.quantization.contributors_max = 0; });
  expect_bad("at least cohort_min", [](Plan& p) { quantize_masked(p), p.update.quantization.contributors_max = 9; });
  expect_bad("more than 32 bits",
             [](Plan& p) { quantize_masked(p), p.update.quantization = {.bits = 16, .contributors_max = 65'537}; });
  expect_good([](Plan& p) { quantize_masked(p), p.update.quantization = {.bits = 16, .contributors_max = 65'536}; });
  expect_bad("where devices add noise", [](Plan& p) {
    quantize_masked(p);
    p.privacy.level = SecurityLevel::active_dp;
  });
}

TEST(Quantization, HasLanesThatNoSumOfLevelsOverflows) {
  for (const uint32_t bits : {1u, 4u, 8u, 16u}) {
    for (const uint32_t contributors : {1u, 2u, 3u, 10u, 16u, 17u, 1000u}) {
      const QuantizationRules rules{.bits = bits, .contributors_max = contributors};
      EXPECT_LT(level_max(rules) * contributors, uint64_t{1} << sum_bits(rules)) << bits << " x " << contributors;
    }
  }
  EXPECT_EQ(sum_bits({.bits = 4, .contributors_max = 10}), 8u);
  EXPECT_EQ(sum_bits({.bits = 8, .contributors_max = 10}), 12u);
  EXPECT_EQ(sum_bits({.bits = 8, .contributors_max = 1024}), 18u);
  EXPECT_EQ(sum_bits({.bits = 1, .contributors_max = 2}), 8u) << "the least that sessions take";
  EXPECT_EQ(weight_digits({.bits = 4}, 1), 1u);
  EXPECT_EQ(weight_digits({.bits = 4}, 15), 1u);
  EXPECT_EQ(weight_digits({.bits = 4}, 16), 2u);
  EXPECT_EQ(weight_digits({.bits = 16}, kWeightMax), 2u);
}

// What a device of before would do: its rules know two encodings, and it refuses a plan with a third.
TEST(Plan, SaysQuantizedWhereOlderDevicesLook) {
  const Plan plan = changed<Plan>(quantize);
  const Bytes bytes = encode(plan);
  const Result<Frame> frame = parse_frame(bytes, FrameKind::plan);
  ASSERT_OK(frame);
  const auto* seen = flatbuffers::GetRoot<wire::Plan>(frame->header.data());
  EXPECT_EQ(seen->update()->encoding(), 3) << "neither 1 nor 2";
  const Bytes plain = encode(changed<Plan>([](Plan& p) { p.update.clip_l2 = 2; }));
  const Result<Frame> plain_frame = parse_frame(plain, FrameKind::plan);
  ASSERT_OK(plain_frame);
  EXPECT_EQ(flatbuffers::GetRoot<wire::Plan>(plain_frame->header.data())->update()->quantization(), nullptr)
      << "plans without it keep their bytes";
}

TEST(Plan, ContainsTheRulesOfFixedPoint) {
  expect_bad("lane_bits", [](Plan& p) { p.update.fixed_point.lane_bits = 32; });
  expect_bad("fraction_bits", [](Plan& p) { p.update.fixed_point.fraction_bits = 51; });
  expect_bad("value_abs_max", [](Plan& p) { p.update.fixed_point.value_abs_max = kNaN; });
  expect_bad("weight_max", [](Plan& p) { p.update.fixed_point.weight_max = 0; });
  expect_bad("contributors_max", [](Plan& p) { p.update.fixed_point.contributors_max = 0; });
  expect_bad("does not fit", [](Plan& p) { p.update.fixed_point.fraction_bits = 50; });
}

TEST(Plan, NamesItsChoices) {
  EXPECT_EQ(to_string(Loss::softmax_cross_entropy), "softmax_cross_entropy");
  EXPECT_EQ(to_string(Loss::mean_squared_error), "mean_squared_error");
  EXPECT_EQ(to_string(OptimizerKind::sgd), "sgd");
  EXPECT_EQ(to_string(OptimizerKind::adam), "adam");
}

}  // namespace
}  // namespace coterie
