// What is sent of a training that its device's own examples ended.
#include "device_sdk/agent/make_update.h"

#include <gtest/gtest.h>

#include "device_sdk/agent/normalised_steps.h"
#include "proto/codec/codec.h"
#include "proto/codec/update/update_decoder.h"
#include "secure/quantize/eden.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

constexpr uint64_t kExamples = 40;

TEST(MakeUpdate, IsOfTheBestStateAndOfTheStepsUntilThen) {
  const Model model = load_or_die(make_model(ModelKind::mlp, {8, 8, 1}, 10, 2));
  Plan plan;
  plan.training = {.batch_size = 8,
                   .local_epochs = 40,
                   .optimizer = {.learning_rate = 0.5f},
                   .normalised_steps = 5,
                   .early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = 2}};
  plan.update.value_count = model.value_count();
  plan.update.fixed_point = FixedPointSpec::finest(8, 1000, 100'000);
  Examples examples(kExamples, 64, 10);  // labels by chance
  const Result<UpdateLayout> layout = UpdateLayout::of(model, model.value_count(), plan);
  ASSERT_OK(layout);
  Result<Trainer> trainer = Trainer::create(model, layout->options(plan.training, 3, {}, {}), examples);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  const ValidationSummary validation = trainer->validation();
  ASSERT_TRUE(validation.has_stopped);
  ASSERT_LT(validation.best_step, trainer->summary().steps);

  const Result<TrainedUpdate> update = make_update(*layout, *trainer, kExamples, plan.training, plan.update, {{}, 3});
  ASSERT_OK(update);
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);
  const double scale = 5 / step_length(plan.training, validation.best_step);
  for (const ValueRange& range : layout->parameters()) {
    for (uint64_t i = range.first; i < range.first + range.count; ++i) {
      ASSERT_FLOAT_EQ(update->delta[i], static_cast<float>(static_cast<double>(delta[i]) * scale)) << i;
    }
  }
  EXPECT_EQ(update->header.weight, kExamples) << "held-out ones, too";
  EXPECT_EQ(update->header.examples, trainer->summary().examples) << "those that were trained on";
}

// By the way that an upload takes, and by the short one.
TEST(MakeUpdate, IsAddedByASimulationAsByAServer) {
  const Model model = load_or_die(make_model(ModelKind::mlp, {8, 8, 1}, 10, 2));
  Plan plan;
  plan.training = {.batch_size = 8};
  plan.update.value_count = model.value_count();
  plan.update.clip_l2 = 1;
  plan.update.fixed_point = FixedPointSpec::finest(8, 1000, 100'000);
  const Result<UpdateLayout> layout = UpdateLayout::of(model, model.value_count(), plan);
  ASSERT_OK(layout);
  Examples examples(kExamples, 64, 10);
  Result<Trainer> trainer = Trainer::create(model, layout->options(plan.training, 3, {}, {}), examples);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  std::vector<UpdateRules> all(6, plan.update);
  all[1].encoding = UpdateEncoding::quantized;
  all[1].fixed_point.weight_max = kExamples;
  all[1].quantization = {.bits = 4, .rotated = true};
  for (const uint32_t bits : {1u, 4u}) {
    UpdateRules& rules = all[bits == 1 ? 2 : 3];
    rules.encoding = UpdateEncoding::eden;
    rules.quantization = {.bits = bits};
  }
  for (const uint32_t bits : {8u, kTopKFloatBits}) {
    UpdateRules& rules = all[bits == 8 ? 4 : 5];
    rules.encoding = UpdateEncoding::top_k;
    rules.top_k = {.sent_count = rules.value_count / 7, .bits = bits};
  }
  for (const UpdateRules& rules : all) {
    Result<TrainedUpdate> update = make_update(*layout, *trainer, kExamples, plan.training, rules, {{}, 3});
    ASSERT_OK(update);
    const Bytes frame = encode_update(*update);
    const auto sent = decode_update(frame);
    ASSERT_OK(sent);
    const UpdateDecoder& decoder = update_decoder(rules.encoding);
    EXPECT_EQ(sent->payload.size(), decoder.payload_bytes_max(rules)) << "as many bytes as a plan says";
    std::vector<float> memory;
    const auto values = decoder.values(sent->header, sent->payload, rules, memory);
    ASSERT_OK(values);
    std::vector<float> added(values->begin(), values->end());
    if (rules.encoding == UpdateEncoding::eden) {
      ASSERT_OK(decode_eden(sent->header.scale, sent->header.bits, sent->header.rotation_seed,
                            rules.fixed_point.value_abs_max, added));
    }
    ASSERT_OK(put_what_is_added(rules, *update));
    EXPECT_EQ(added, update->delta) << "encoding " << static_cast<int>(rules.encoding);
  }
}

}  // namespace
}  // namespace coterie::test
