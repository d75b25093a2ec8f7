#include "tools/debug/record_file.h"

#include <gmock/gmock.h>

#include <cstring>

#include "secure/crypto/digest.h"
#include "tests/unit/tools/debug/debugged_training.h"
#include "tools/debug/judge_record.h"
#include "tools/debug/recorded_tensors.h"

namespace coterie::test {
namespace {

// Small, so that a file of a step is some KiB.
Model small_net() {
  ModelBuilder build("net", {6}, 3);
  return load_or_die(build.finish(build.dense(build.relu(build.dense(build.input(), 4)), 3)));
}

class RecordFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.micro_batch_size = 2;
    steps_ = debugged(model_, options_, source_);
    for (int i = 0; i < 3; ++i) ASSERT_OK(steps_->forward());
    training_ = {.model = model_.digest(), .is_trained = steps_->is_trained(), .steps_an_epoch = 5};
    file_ = encode_record(training_, *steps_->now());
  }

  // The same file as if its writer had meant the change.
  static Bytes with_digest(Bytes file) {
    const Digest digest = content_digest(ByteView(file).subspan(40));
    std::ranges::copy(digest.bytes, file.begin() + 8);
    return file;
  }

  const Model model_ = small_net();
  TrainOptions options_ = debugged_options();
  Examples source_ = examples_for(model_);
  std::unique_ptr<TrainingSteps> steps_;
  RecordedTraining training_;
  Bytes file_;
};

TEST_F(RecordFileTest, ComesBackAsItWas) {
  const Result<RecordFile> file = decode_record(file_, model_);
  ASSERT_OK(file);
  EXPECT_EQ(file->training, training_);
  const StepRecord &was = *steps_->now(), &is = file->record;
  EXPECT_EQ(is.step, was.step);
  EXPECT_EQ(is.examples, was.examples);
  EXPECT_EQ(is.from, was.from);
  EXPECT_EQ(is.summary, was.summary);
  EXPECT_EQ(is.loss, was.loss);
  EXPECT_EQ(is.next_learning_rate, was.next_learning_rate);
  const RecordedTensors before(model_, was), behind(model_, is);
  ASSERT_EQ(behind.all().size(), before.all().size());
  for (size_t i = 0; i < before.all().size(); ++i) {
    const NamedTensor &a = before.all()[i], &b = behind.all()[i];
    EXPECT_EQ(b.name, a.name);
    EXPECT_EQ(b.shape, a.shape);
    ASSERT_EQ(b.values.count, a.values.count);
    EXPECT_EQ(std::memcmp(b.values.data, a.values.data, a.values.count * size_of(a.values.type)), 0) << a.name;
  }
  EXPECT_EQ(encode_record(file->training, is), file_) << "to the same bytes";
}

TEST_F(RecordFileTest, EachTruncationIsAnError) {
  for (size_t size = 0; size < file_.size(); size += size < 500 ? 1 : 37) {
    const Result<RecordFile> file =
        decode_record(Bytes(file_.begin(), file_.begin() + static_cast<ptrdiff_t>(size)), model_);
    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().code(), size < 8 ? ErrorCode::malformed : ErrorCode::data_loss) << size;
  }
}

TEST_F(RecordFileTest, AFlippedBitIsAnError) {
  for (size_t at = 0; at < file_.size(); at += 7) {
    Bytes damaged = file_;
    damaged[at] ^= 0x10;
    EXPECT_FALSE(decode_record(damaged, model_)) << at;
  }
}

TEST_F(RecordFileTest, AForeignFileIsAnError) {
  EXPECT_ERROR(
      decode_record(Bytes(as_bytes("PK\x03\x04 something else").begin(), as_bytes("PK\x03\x04 something else").end()),
                    model_),
      ErrorCode::malformed, "no recorded step");
  EXPECT_ERROR(decode_record(file_, tangled_net()), ErrorCode::conflict, "another model");
  Bytes longer = file_;
  longer.resize(longer.size() + 64);
  EXPECT_ERROR(decode_record(with_digest(longer), model_), ErrorCode::malformed, "more than its head names");
}

// A writer that means harm: its digest is right. What decodes can be judged and named without a byte beyond the file,
// as the address sanitizer sees.
TEST_F(RecordFileTest, WhatAHostileWriterSaysIsRefusedOrHarmless) {
  uint64_t head_size = 0;
  std::memcpy(&head_size, file_.data() + 40, sizeof head_size);
  Prng prng(11);
  size_t refused = 0, taken = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes hostile = file_;
    for (uint64_t changes = 1 + prng.below(3); changes > 0; --changes) {
      const size_t at = 40 + prng.below(head_size + 8);
      hostile[at] = static_cast<uint8_t>(prng.below(3) == 0 ? 0xff : prng.below(256));
    }
    const Result<RecordFile> file = decode_record(with_digest(std::move(hostile)), model_);
    if (!file) {
      ++refused;
      continue;
    }
    ++taken;
    if (taken % 16 != 0) continue;
    WatchJudge judge(model_, recommended_watch(), file->training.is_trained, file->training.steps_an_epoch, {});
    judge_record(file->record, judge);
    const RecordedTensors tensors(model_, file->record);
    for (const NamedTensor& tensor : tensors.all()) {
      if (tensor.values.count > 0) value_at(tensor.values, tensor.values.count - 1);
    }
  }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(taken, 100u);
}

}  // namespace
}  // namespace coterie::test
