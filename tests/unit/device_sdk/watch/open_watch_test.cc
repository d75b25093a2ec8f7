// A watch by its name or file: what it may hold, and that it may begin anew.
#include "device_sdk/watch/open_watch.h"

#include <gmock/gmock.h>

#include "device_sdk/runtime/trainer.h"
#include "tests/support/matchers.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kExamples = 20;

class OpenWatch : public ::testing::Test {
 protected:
  OpenWatch() : examples_(kExamples, 64, 10), model_(load_or_die(make_model(ModelKind::mlp, {8, 8, 1}, 10, 5))) {
    options_.batch_size = 4;
    options_.epochs = 20;
    options_.optimizer.learning_rate = 1;
    trainer_.emplace(std::move(*Trainer::create(model_, options_, examples_)));
  }

  Result<std::unique_ptr<Watch>> open(const std::string& asked, uint64_t bytes_max = UINT64_MAX) {
    return open_watch(asked, {.model = model_, .options = options_, .examples = kExamples, .bytes_max = bytes_max},
                      trainer_->summary());
  }

  Examples examples_;
  Model model_;
  TrainOptions options_;
  std::optional<Trainer> trainer_;
};

TEST_F(OpenWatch, HoldsNoMoreThanItIsAllowedTo) {
  const Result<std::unique_ptr<Watch>> watch = open("recommended");
  ASSERT_OK(watch);
  const uint64_t bytes = (*watch)->bytes_max();
  EXPECT_GT(bytes, model_.value_count() * sizeof(float)) << "the parameters in front of a step";
  EXPECT_LT(bytes, model_.value_count() * sizeof(float) + (1 << 20)) << "and little else";
  EXPECT_OK(open("recommended", bytes));
  const Result<std::unique_ptr<Watch>> tight = open("recommended", bytes - 1);
  ASSERT_FALSE(tight);
  EXPECT_EQ(tight.error().code(), ErrorCode::too_large);
  EXPECT_THAT(tight.error().message(), HasSubstr(std::to_string(bytes)));
}

TEST_F(OpenWatch, BeginsAnewWithoutHits) {
  const Result<std::unique_ptr<Watch>> opened = open("recommended");
  ASSERT_OK(opened);
  Watch& watch = **opened;
  ASSERT_OK(trainer_->step(&watch));
  watch.end_step(*trainer_);
  EXPECT_EQ(watch.looks(), 1u);
  watch.restart(trainer_->summary());
  EXPECT_EQ(watch.looks(), 0u);
  EXPECT_TRUE(watch.hits().hits().empty());
  EXPECT_EQ(watch.plan().every, 50u) << "it is the same plan";
}

TEST_F(OpenWatch, SaysWhatIsTaken) {
  const Result<std::unique_ptr<Watch>> watch = open("recomended");
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code(), ErrorCode::not_found);
  EXPECT_THAT(watch.error().message(), HasSubstr("`recommended`, or a file of checks; did you mean `recommended`?"));
}

}  // namespace
}  // namespace coterie::test
