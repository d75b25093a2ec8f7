#include "tools/debug/record_folder.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/os/file.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/debug/debugged_training.h"
#include "tools/debug/training_record.h"

namespace coterie::test {
namespace {

class RecordFolderTest : public ::testing::Test {
 protected:
  std::string folder() const { return place_ / "steps"; }

  // Trains `steps` steps, or until one fails; the parameters behind them.
  std::vector<float> record(uint64_t steps, uint32_t every = 1, uint64_t bytes_max = kRecordBytesMax,
                            float learning_rate = 0.02f) {
    TrainOptions options = debugged_options(learning_rate);
    options.joins_steps = false;
    Examples source = examples_for(model_);
    Result<Trainer> trainer = Trainer::create(model_, options, source);
    EXPECT_OK(trainer);
    const Result<std::vector<bool>> is_trained = trainable_tensors(model_.graph(), options);
    EXPECT_OK(is_trained);
    Result<RecordFolder> made = RecordFolder::create(folder(), model_, *is_trained, 5, bytes_max);
    EXPECT_OK(made);
    TrainingRecord recording(model_, *is_trained, std::move(*made), every);
    for (uint64_t i = 0; i < steps && recording.step(*trainer); ++i) {
    }
    return {trainer->parameters().begin(), trainer->parameters().end()};
  }
  std::unique_ptr<RecordedSteps> opened() const {
    Result<std::unique_ptr<RecordedSteps>> steps = RecordedSteps::open(folder());
    EXPECT_OK(steps);
    return std::move(*steps);
  }
  void replace(const std::string& name, ByteView bytes) const {
    ASSERT_OK(os::write_file_atomically(folder() + "/" + name, bytes));
  }

  const Model model_ = small_cnn();
  TemporaryDirectory place_{memory_disk()};
};

TEST_F(RecordFolderTest, ShowsTheStepsThatWereRecorded) {
  const std::vector<float> trained = record(7, 3);
  const auto steps = opened();
  EXPECT_EQ(steps->description(), "3 recorded steps, from 0 to 6");
  EXPECT_EQ(steps->next(), 0u);
  for (const uint64_t step : {0, 3, 6}) {
    ASSERT_OK(steps->forward());
    EXPECT_EQ(steps->now()->step, step);
  }
  EXPECT_EQ(steps->before()->step, 3u);
  EXPECT_TRUE(std::ranges::equal(steps->now()->behind, trained));
  EXPECT_EQ(steps->next(), std::nullopt);
  EXPECT_FALSE(steps->forward());
  ASSERT_OK(steps->back(1, never()));
  EXPECT_EQ(steps->now()->step, 3u);
  EXPECT_EQ(steps->before()->step, 0u);
  ASSERT_OK(steps->back(2, never()));
  EXPECT_EQ(steps->now(), nullptr);
  size_t visited = 0;
  ASSERT_OK(steps->visit_records([&](const StepRecord&) { return ++visited < 2; }));
  EXPECT_EQ(visited, 2u);
}

TEST_F(RecordFolderTest, RecordingChangesNoBit) {
  const std::vector<float> trained = record(6, 2);
  Examples source = examples_for(model_);
  Result<Trainer> plain = Trainer::create(model_, debugged_options(), source);
  ASSERT_OK(plain);
  for (int i = 0; i < 6; ++i) ASSERT_OK(plain->step());
  EXPECT_TRUE(std::ranges::equal(plain->parameters(), trained));
}

TEST_F(RecordFolderTest, TheStepThatFailsIsRecorded) {
  record(100, 50, kRecordBytesMax, 1e9f);
  const auto steps = opened();
  ASSERT_OK(steps->forward());
  ASSERT_OK(steps->forward());
  EXPECT_TRUE(steps->now()->has_failed());
  EXPECT_THAT(steps->now()->error, ::testing::HasSubstr("not finite"));
}

TEST_F(RecordFolderTest, TheOldestGoWhereThereIsNoRoom) {
  RecordedTraining training{.model = model_.digest(), .is_trained = std::vector<bool>(model_.graph().tensors.size())};
  StepRecord record;
  const uint64_t bytes = encode_record(training, record).size();
  Result<RecordFolder> folder_of_two = RecordFolder::create(folder(), model_, training.is_trained, 1, 2 * bytes);
  ASSERT_OK(folder_of_two);
  for (record.step = 0; record.step < 5; ++record.step) ASSERT_OK(folder_of_two->add(record));
  EXPECT_EQ(folder_of_two->steps(), 2u);
  EXPECT_EQ(folder_of_two->dropped(), 3u);
  EXPECT_EQ(opened()->description(), "2 recorded steps, from 3 to 4");
  record.examples.resize(2 * bytes);
  EXPECT_ERROR(folder_of_two->add(record), ErrorCode::too_large, "--record-max");
}

TEST_F(RecordFolderTest, AFolderThatIsNoneIsAnError) {
  const auto error_of = [&] {
    const Result<std::unique_ptr<RecordedSteps>> steps = RecordedSteps::open(folder());
    EXPECT_FALSE(steps);
    return steps ? Error(ErrorCode::internal, "") : steps.error();
  };
  EXPECT_EQ(error_of().code(), ErrorCode::not_found);
  ASSERT_OK(os::make_directories(folder()));
  EXPECT_THAT(error_of().message(), ::testing::HasSubstr("it has no model.cotf"));
  replace("model.cotf", model_.file());
  EXPECT_THAT(error_of().message(), ::testing::HasSubstr("it has no step"));
  replace("step-0000000003.record", as_bytes("nonsense"));
  EXPECT_EQ(error_of().code(), ErrorCode::malformed);
  replace("notes.txt", as_bytes("mine"));
  EXPECT_THAT(error_of().message(), ::testing::HasSubstr("it has a file notes.txt"));
}

TEST_F(RecordFolderTest, WhatAKilledProcessLeftIsNoStep) {
  record(2);
  replace("step-0000000002.record.unfinished.0", as_bytes("half"));
  EXPECT_EQ(opened()->description(), "2 recorded steps, from 0 to 1");
}

TEST_F(RecordFolderTest, AStepUnderAnotherNameIsAnError) {
  record(2);
  const Result<Bytes> first = os::read_file(folder() + "/step-0000000000.record", 1 << 24);
  ASSERT_OK(first);
  replace("step-0000000001.record", *first);
  const auto steps = opened();
  ASSERT_OK(steps->forward());
  EXPECT_ERROR(steps->forward(), ErrorCode::malformed, "is of step 0");
  replace("step-0000000001.record", ByteView(*first).first(first->size() - 64));
  EXPECT_ERROR(steps->forward(), ErrorCode::data_loss, "cut off");
  EXPECT_EQ(steps->now()->step, 0u) << "it stands where it stood";
}

TEST_F(RecordFolderTest, ReplacesNothing) {
  record(1);
  EXPECT_ERROR(RecordFolder::create(folder(), model_, {}, 5, kRecordBytesMax), ErrorCode::conflict, "is there already");
}

}  // namespace
}  // namespace coterie::test
