// What plans say of a device's training beside its objective: when it ends, and what it holds.
#include <cmath>
#include <functional>
#include <limits>

#include "proto/codec/codec.h"
#include "proto/generated/wire_generated.h"
#include "proto/messages/quantised_training_text.h"
#include "proto/messages/training_rules.h"
#include "tests/support/golden.h"
#include "tests/support/matchers.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::changed;

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

template <typename Change>
void expect_bad_training(std::string_view words, Change change) {
  EXPECT_ERROR(validate(changed<Plan>(change)), ErrorCode::invalid_argument, words);
  test::expect_rejected<Plan>(words, change);
}

template <typename Change>
void expect_good_training(Change change) {
  EXPECT_OK(validate(changed<Plan>(change)));
  test::expect_accepted<Plan>(change);
}

// Those that know all else would train on every example.
TEST(PlanTraining, WithEarlyStoppingHasNoLossWhereOlderDevicesLook) {
  const auto with = [](Plan& p) {
    p.training = {.loss = Loss::huber,
                  .local_epochs = 2,
                  .freeze = {"a.*"},
                  .target = TargetKind::values,
                  .correction = {CorrectionKind::feddyn, 0.1f},
                  .augment = "flip",
                  .early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = 3}};
    p.update.whole_value_count = p.update.value_count + 5;
  };
  const Bytes frame = encode(changed<Plan>(with));
  const auto* training =
      flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training();
  EXPECT_EQ(training->loss(), 0);
  EXPECT_EQ(training->objective()->loss(), 0);
  EXPECT_EQ(training->correction()->loss(), 0);
  EXPECT_EQ(training->target()->loss(), 0);
  EXPECT_EQ(training->augment()->loss(), 0);
  EXPECT_EQ(training->trained()->loss(), 0);
  EXPECT_EQ(training->early_stopping()->loss(), static_cast<uint8_t>(Loss::huber));
  const Result<Plan> read = decode_plan(frame);
  ASSERT_OK(read);
  EXPECT_EQ(*read, changed<Plan>(with));
  const Bytes alone = encode(changed<Plan>([](Plan& p) {
    p.training.local_epochs = 2;
    p.training.early_stopping.emplace();
  }));
  const auto* plain = flatbuffers::GetRoot<wire::Plan>(parse_frame(alone, FrameKind::plan)->header.data())->training();
  EXPECT_EQ(plain->loss(), 0);
  EXPECT_EQ(plain->objective()->loss(), 0);
}

// Those that know all else would send what is a device's own.
TEST(PlanTraining, WithSomethingPersonalHasNoLossWhereOlderDevicesLook) {
  const auto with = [](Plan& p) {
    p.training = {.loss = Loss::huber,
                  .local_epochs = 2,
                  .target = TargetKind::values,
                  .augment = "flip",
                  .early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = 3},
                  .personal = PersonalSettings{.parameters = {"head.*"}, .norms = true, .first_epochs = 1}};
    p.update.whole_value_count = p.update.value_count + 5;
  };
  const Bytes frame = encode(changed<Plan>(with));
  const auto* training =
      flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training();
  EXPECT_EQ(training->loss(), 0);
  EXPECT_EQ(training->objective()->loss(), 0);
  EXPECT_EQ(training->target()->loss(), 0);
  EXPECT_EQ(training->augment()->loss(), 0);
  EXPECT_EQ(training->trained()->loss(), 0);
  EXPECT_EQ(training->early_stopping()->loss(), 0);
  EXPECT_EQ(training->personal()->loss(), static_cast<uint8_t>(Loss::huber));
  const Result<Plan> read = decode_plan(frame);
  ASSERT_OK(read);
  EXPECT_EQ(*read, changed<Plan>(with));
  const Bytes alone = encode(changed<Plan>(
      [](Plan& p) { p.training.personal = PersonalSettings{.kind = PersonalKind::model, .lambda = 0.5f}; }));
  const auto* plain = flatbuffers::GetRoot<wire::Plan>(parse_frame(alone, FrameKind::plan)->header.data())->training();
  EXPECT_EQ(plain->loss(), 0);
  EXPECT_EQ(plain->objective()->loss(), 0);
}

TEST(PlanTraining, LimitsWhatClustersAre) {
  const auto plan = [](const std::function<void(Plan&)>& change = [](Plan&) {}) {
    return changed<Plan>([&](Plan& p) {
      p.training = {.loss = Loss::huber, .personal = PersonalSettings{.kind = PersonalKind::clusters, .count = 3}};
      p.privacy = {};
      p.update.encoding = UpdateEncoding::float32;
      p.update.clip = {};
      p.update.whole_value_count = 0;
      p.update.value_count = 303;
      p.update.scalars.assign(3, {ScalarKind::cluster_member, 1});
      change(p);
    });
  };
  ASSERT_OK(validate(plan()));
  EXPECT_EQ(*decode_plan(encode(plan())), plan());
  test::expect_golden_bytes("wire/plan.clusters.hex", encode(plan()));
  const auto expect_refused = [&](const char* why, const std::function<void(Plan&)>& change) {
    EXPECT_ERROR(validate(plan(change)), ErrorCode::invalid_argument, why);
    EXPECT_ERROR(decode_plan(encode(plan(change))), ErrorCode::malformed, "");
  };
  for (const uint32_t count : {0u, 1u, 9u, UINT32_MAX}) {
    expect_refused("count must be in [2, 8]", [count](Plan& p) { p.training.personal->count = count; });
  }
  expect_refused("one cluster_member for each", [](Plan& p) { p.training.personal->count = 2; });
  expect_refused("one cluster_member for each", [](Plan& p) { p.update.scalars.pop_back(); });
  expect_refused("one cluster_member for each", [](Plan& p) { p.update.scalars[1].kind = ScalarKind::squared_norm; });
  expect_refused("one cluster_member for each", [](Plan& p) {
    p.training.personal = PersonalSettings{.norms = true}, p.update.whole_value_count = 400;
  });
  expect_refused("bound of cluster_member", [](Plan& p) { p.update.scalars[1].bound = 2; });
  expect_refused("for each cluster", [](Plan& p) { p.update.value_count = 304; });
  expect_refused("for each cluster", [](Plan& p) { p.update.whole_value_count = 400; });
}

TEST(PlanTraining, LimitsWhatWidthsAre) {
  const auto plan = [](const std::function<void(Plan&)>& change = [](Plan&) {}) {
    return changed<Plan>([&](Plan& p) {
      p.training = {.loss = Loss::huber, .widths = {1'000'000, 500'000, 62'500}};
      p.privacy = {};
      p.update.encoding = UpdateEncoding::float32;
      p.update.clip = {};
      p.update.whole_value_count = 0;
      p.update.value_count = 302;
      p.update.scalars.assign(2, {ScalarKind::width_holder, 1});
      change(p);
    });
  };
  ASSERT_OK(validate(plan()));
  EXPECT_EQ(*decode_plan(encode(plan())), plan());
  test::expect_golden_bytes("wire/plan.widths.hex", encode(plan()));
  const auto expect_refused = [&](const char* why, const std::function<void(Plan&)>& change) {
    EXPECT_ERROR(validate(plan(change)), ErrorCode::invalid_argument, why);
    EXPECT_ERROR(decode_plan(encode(plan(change))), ErrorCode::malformed, "");
  };
  expect_refused("2 to 8 entries", [](Plan& p) { p.training.widths.resize(1), p.update.scalars.clear(); });
  expect_refused("2 to 8 entries", [](Plan& p) {
    p.training.widths.clear();
    for (uint32_t i = 0; i < 9; ++i) p.training.widths.push_back(1'000'000 - i);
    p.update.scalars.assign(8, {ScalarKind::width_holder, 1});
  });
  for (const std::vector<uint32_t>& widths : std::vector<std::vector<uint32_t>>{
           {999'999, 500'000, 1}, {1'000'000, 500'000, 500'000}, {1'000'000, 1, 2}, {1'000'000, 1, 0}}) {
    expect_refused("classes must begin with 1, fall", [&](Plan& p) { p.training.widths = widths; });
  }
  expect_refused("one width_holder for each", [](Plan& p) { p.training.widths.clear(); });
  expect_refused("one width_holder for each", [](Plan& p) { p.update.scalars.pop_back(); });
  expect_refused("one width_holder for each", [](Plan& p) { p.update.scalars[1].kind = ScalarKind::squared_norm; });
  expect_refused("bound of width_holder", [](Plan& p) { p.update.scalars[1].bound = 2; });
  expect_refused("widths must be absent with personal",
                 [](Plan& p) { p.training.personal = PersonalSettings{.kind = PersonalKind::model, .lambda = 1}; });
  expect_refused("correction must be absent with widths", [](Plan& p) {
    p.training.correction = {CorrectionKind::feddyn, 0.1f};
  });
}

TEST(PlanTraining, LimitsWhatIsPersonal) {
  const PersonalSettings part{.parameters = {"head.*"}};
  const PersonalSettings model{.kind = PersonalKind::model, .lambda = 0.5f};
  const auto with = [](PersonalSettings settings, auto change) {
    change(settings);
    return [settings](Plan& p) {
      p.training.personal = settings;
      p.update.whole_value_count = p.update.value_count + 5;
    };
  };
  const auto nothing = [](PersonalSettings&) {};
  expect_good_training(with(part, nothing));
  expect_good_training(with(model, nothing));
  expect_good_training(with({.norms = true, .first_epochs = kFirstEpochsMax}, nothing));
  expect_bad_training("kind must be part, model or clusters",
                      with(part, [](auto& p) { p.kind = static_cast<PersonalKind>(4); }));
  expect_bad_training("parameters must name", with(part, [](auto& p) { p.parameters.clear(); }));
  expect_good_training(with(part, [](auto& p) { p.parameters.assign(kPersonalPatternsMax, std::string(256, 'x')); }));
  expect_bad_training("patterns", with(part, [](auto& p) { p.parameters.assign(17, "x"); }));
  expect_bad_training("1 to 256 bytes", with(part, [](auto& p) { p.parameters = {""}; }));
  expect_bad_training("first_epochs must be in", with(part, [](auto& p) { p.first_epochs = kFirstEpochsMax + 1; }));
  expect_bad_training("lambda must be absent", with(part, [](auto& p) { p.lambda = 1; }));
  expect_bad_training("parameters must be absent", with(model, [](auto& p) { p.parameters = {"a"}; }));
  expect_bad_training("norms must be absent", with(model, [](auto& p) { p.norms = true; }));
  expect_bad_training("first_epochs must be absent", with(model, [](auto& p) { p.first_epochs = 1; }));
  for (const float lambda : {0.0f, -1.0f, 2 * kLambdaMax, kNoNumber, kInfinite}) {
    expect_bad_training("lambda must be in (0, 1e6]", with(model, [lambda](auto& p) { p.lambda = lambda; }));
  }
  expect_bad_training("whole_value_count must be above 0 with a personal part", [&](Plan& p) {
    p.training.personal = part;
    p.update.whole_value_count = 0;
  });
  expect_bad_training("personal must be absent with lora", [&](Plan& p) {
    p.training.personal = model;
    p.training.lora = LoraSettings{.rank = 1, .alpha = 1, .pattern = "*", .fixed_a_seed = 1};
    p.update.whole_value_count = p.update.value_count + 5;
  });
  expect_bad_training("personal must be absent with feddyn", [&](Plan& p) {
    p.training.personal = model;
    p.training.correction = {CorrectionKind::feddyn, 0.1f};
  });
  expect_bad_training("staleness goes with", [&](Plan& p) {
    p.training.personal = model;
    p.staleness = {.versions_max = 3, .exponent = 0.5f};
  });
}

TEST(PlanTraining, LimitsEarlyStopping) {
  const auto with = [](float share, uint32_t patience) {
    return [share, patience](Plan& p) {
      p.training.local_epochs = 2;
      p.training.early_stopping = EarlyStopping{share, patience};
    };
  };
  expect_good_training(with(std::numeric_limits<float>::denorm_min(), 1));
  expect_good_training(with(kValidationShareMax, kPatienceMax));
  for (const float share : {0.0f, -0.1f, std::nextafter(kValidationShareMax, 1.0f), kNoNumber, kInfinite}) {
    expect_bad_training("validation_share", with(share, 1));
  }
  expect_bad_training("patience", with(0.1f, 0));
  expect_bad_training("patience", with(0.1f, kPatienceMax + 1));
  expect_bad_training("local_epochs", [](Plan& p) {
    p.training.local_epochs = 1;
    p.training.early_stopping.emplace();
  });
}

// A device that does not know it takes more memory, and trains all the same.
TEST(PlanTraining, SaysTheStorageBesideTheLossThatOlderDevicesKnow) {
  expect_good_training([](Plan& p) { p.training.storage = Storage::bfloat16; });
  expect_bad_training("storage", [](Plan& p) { p.training.storage = static_cast<Storage>(2); });
  const Bytes frame = encode(changed<Plan>([](Plan& p) { p.training.storage = Storage::bfloat16; }));
  const auto* training =
      flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training();
  EXPECT_EQ(training->objective()->loss(), static_cast<uint8_t>(Loss::softmax_cross_entropy));
  EXPECT_EQ(training->storage(), 1);
  EXPECT_EQ(decode_plan(frame)->training.storage, Storage::bfloat16);
}

// A label may be any number, 0 with them, and none is another plan.
TEST(PlanTraining, LimitsALabelToIgnore) {
  for (const int32_t label : {0, -100, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    expect_good_training([label](Plan& p) { p.training.ignore_label = label; });
  }
  expect_bad_training("ignore_label must be absent", [](Plan& p) {
    p.training.ignore_label = 255;
    p.training.loss = Loss::binary_cross_entropy;
  });
  expect_bad_training("ignore_label must be absent", [](Plan& p) {
    p.training.ignore_label = 255;
    p.training.target = TargetKind::values;
  });
}

// Devices of before are not drawn for it: feature 17.
TEST(PlanTraining, LimitsHeads) {
  const auto with = [](const std::function<void(TrainingSettings&)>& change) {
    return [change](Plan& p) {
      p.training.target = TargetKind::values;
      p.training.heads = {{"class", Loss::softmax_cross_entropy, 1}, {"age", Loss::huber, 0.5f}};
      change(p.training);
    };
  };
  expect_good_training(with([](TrainingSettings&) {}));
  expect_good_training(with([](TrainingSettings& t) { t.ignore_label = -100; }));
  for (const float weight : {0.0f, -1.0f, NAN, INFINITY, 2e6f}) {
    expect_bad_training("weight must be in (0, 1e6]",
                        with([weight](TrainingSettings& t) { t.heads[1].weight = weight; }));
  }
  expect_bad_training("output must have", with([](TrainingSettings& t) { t.heads[1].output = ""; }));
  expect_bad_training("output must be no other", with([](TrainingSettings& t) { t.heads[1].output = "class"; }));
  expect_bad_training("loss is none", with([](TrainingSettings& t) { t.heads[1].loss = Loss(99); }));
  expect_bad_training("loss must be absent, or that", with([](TrainingSettings& t) { t.loss = Loss::l1; }));
  expect_bad_training("class_weights must be absent", with([](TrainingSettings& t) { t.class_weights = {1, 2}; }));
  expect_bad_training("qat must be absent", with([](TrainingSettings& t) { t.qat.emplace(); }));
  expect_bad_training("must be at most 16", with([](TrainingSettings& t) {
                        for (int i = 2; i < 17; ++i) t.heads.push_back({std::to_string(i), Loss::l1, 1});
                      }));
}

// Devices of before are not drawn for it: feature 15 (plan_features.h).
TEST(PlanTraining, LimitsTrainingOnAGrid) {
  const auto with = [](QuantisedParts parts, uint32_t bits) {
    return [parts, bits](Plan& p) { p.training.qat = QuantisedTraining{parts, bits}; };
  };
  expect_good_training(with(QuantisedParts::weights, kWeightBitsMin));
  expect_good_training(with(QuantisedParts::full, kWeightBitsMax));
  expect_bad_training("parts must be weights or full", with(static_cast<QuantisedParts>(0), 8));
  expect_bad_training("parts", with(static_cast<QuantisedParts>(3), 8));
  for (const uint32_t bits : {0u, kWeightBitsMin - 1, kWeightBitsMax + 1, 255u}) {
    expect_bad_training("weight_bits must be in [2, 8]", with(QuantisedParts::full, bits));
  }
  expect_bad_training("qat must be absent with lora", [](Plan& p) {
    p.training.qat.emplace();
    p.training.lora = LoraSettings{.rank = 1, .alpha = 1, .pattern = "*", .fixed_a_seed = 1};
    p.update.whole_value_count = p.update.value_count + 5;
  });
}

TEST(QuantisedTraining, IsReadFromTheTextThatItIsWrittenAs) {
  for (const std::string_view text : {"full", "weights", "full:4", "weights:2"}) {
    const Result<QuantisedTraining> parsed = parse_quantised_training(text);
    ASSERT_OK(parsed);
    EXPECT_EQ(to_text(*parsed), text);
  }
  for (const std::string_view text :
       {"", "4", "full:", "full:1", "full:9", "full:10", "full:4 ", "Full", "weights:x"}) {
    EXPECT_ERROR(parse_quantised_training(text), ErrorCode::invalid_argument, "full or weights");
  }
}

}  // namespace
}  // namespace coterie
