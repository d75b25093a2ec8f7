#include "device_sdk/runtime/memory_budget.h"

#include <gmock/gmock.h>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TrainOptions with_micro_batch(uint32_t size) {
  TrainOptions options;
  options.batch_size = 12;
  options.clip_norm = 1;  // keeps the gradients whatever the micro-batch, so that a smaller one always needs less
  options.micro_batch_size = size;
  return options;
}

uint64_t bytes_of(const Model& model, uint32_t micro_batch, uint64_t examples = 100) {
  const Result<TrainingMemory> memory = Trainer::plan(model, with_micro_batch(micro_batch), examples);
  EXPECT_OK(memory);
  return memory->arena_bytes + memory->order_bytes;
}

TEST(TrainerPlan, IsWhatTheTrainerTakes) {
  const Model model = small_cnn();
  Examples examples(50, 64, 10);
  for (const uint32_t micro_batch : {0u, 4u}) {
    TrainOptions options = with_micro_batch(micro_batch);
    options.optimizer.kind = OptimizerKind::adam;
    const Result<TrainingMemory> plan = Trainer::plan(model, options, examples.size());
    const Result<Trainer> trainer = Trainer::create(model, options, examples);
    ASSERT_OK(plan);
    ASSERT_OK(trainer);
    EXPECT_EQ(plan->arena_bytes, trainer->memory().arena_bytes);
    EXPECT_EQ(plan->optimizer_bytes, trainer->memory().optimizer_bytes);
    EXPECT_EQ(plan->planned_lower_bound, trainer->memory().planned_lower_bound);
    EXPECT_EQ(plan->order_bytes, 200u);
  }
}

TEST(MicroBatchWithin, IsTheLargestDivisorThatFits) {
  const Model model = small_cnn();
  TrainOptions options = with_micro_batch(0);
  for (const uint32_t size : {1u, 2u, 3u, 4u, 6u, 12u}) {
    EXPECT_EQ(*micro_batch_within(model, options, 100, bytes_of(model, size)), size);
  }
  EXPECT_EQ(*micro_batch_within(model, options, 100, bytes_of(model, 4) - 1), 3u);
  EXPECT_EQ(*micro_batch_within(model, options, 100, 1ull << 40), 12u);
}

TEST(MicroBatchWithin, SaysTheLeastThatWouldDo) {
  const Model model = small_cnn();
  const uint64_t least = bytes_of(model, 1);
  const Result<uint32_t> found = micro_batch_within(model, with_micro_batch(0), 100, least - 1);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::too_large);
  EXPECT_THAT(found.error().message(), EndsWith("at least " + std::to_string(least)));
}

TEST(MicroBatchWithin, PassesOnWhatIsWrongWithTheOptions) {
  TrainOptions options = with_micro_batch(0);
  options.freeze = {"no such"};
  const Result<uint32_t> found = micro_batch_within(small_cnn(), options, 100, 1 << 30);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), HasSubstr("no such"));
}

}  // namespace
}  // namespace coterie::test
