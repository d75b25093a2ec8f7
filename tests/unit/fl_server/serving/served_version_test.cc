#include "fl_server/serving/served_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "device_sdk/runtime/model_builder.h"
#include "secure/crypto/digest.h"
#include "tests/support/int8_parts.h"
#include "tests/support/matchers.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BatchSizes, ArePowersOfTwoAndTheLargest) {
  EXPECT_THAT(batch_sizes_up_to(1), ElementsAre(1));
  EXPECT_THAT(batch_sizes_up_to(2), ElementsAre(1, 2));
  EXPECT_THAT(batch_sizes_up_to(6), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(batch_sizes_up_to(8), ElementsAre(1, 2, 4, 8));
}

TEST(ServedVersion, SaysWhatTheModelTakes) {
  const auto version = ServedVersion::load(*make_model(ModelKind::cnn, {8, 8, 1}, 10, 1), 7, {});
  ASSERT_OK(version);
  EXPECT_EQ((*version)->name(), "7");
  EXPECT_EQ((*version)->digest_text().size(), 64u);
  ASSERT_EQ((*version)->interface().inputs.size(), 1u);
  EXPECT_EQ((*version)->interface().inputs[0], (TensorInterface{"input", ProtocolType::float32, {8, 8, 1}, 64}));
  EXPECT_EQ((*version)->interface().own_output().elements, 10u);
}

TEST(ServedVersion, AnswersWithTheSameBitsWhateverTheBatch) {
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::cnn, ModelKind::logistic}) {
    SCOPED_TRACE(to_string(kind));
    const auto loaded = ServedVersion::load(*make_model(kind, {8, 8, 1}, 10, 5), 1,
                                            {.workers = 2, .batch_sizes = {1, 2, 4, 8, 16, 32}});
    ASSERT_OK(loaded);
    ServedVersion& version = **loaded;
    constexpr uint64_t kRows = 47;
    Prng prng(9);
    std::vector<float> input(kRows * 64), alone(kRows * 10), together(kRows * 10);
    for (float& value : input) value = static_cast<float>(prng.uniform());
    for (uint64_t row = 0; row < kRows; ++row) {
      const std::span<const float> one = std::span<const float>(input).subspan(row * 64, 64);
      ASSERT_OK(version.run(0, {{one}}, 1, std::span(alone).subspan(row * 10, 10)));
    }
    ASSERT_OK(version.run(1, {{std::span<const float>(input)}}, kRows, together));
    EXPECT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0);
  }
}

// What `coterie model quantise --full` writes is served as what it is: the integers' answers, not the float32 model's.
TEST(ServedVersion, ComputesInInt8WhatItsFileComputesInInt8) {
  const Bytes exact = *make_model(ModelKind::cnn, {8, 8, 1}, 10, 5);
  const Bytes file = test::int8_file(*Model::load(exact));
  const auto loaded = ServedVersion::load(file, 1, {.workers = 2, .batch_sizes = {1, 2, 4}});
  ASSERT_OK(loaded);
  ServedVersion& version = **loaded;
  EXPECT_EQ(version.digest(), content_digest(file));
  const auto before = ServedVersion::load(exact, 1, {});
  ASSERT_OK(before);
  EXPECT_TRUE(version.answers_as(**before));  // so that the one can follow the other
  EXPECT_FALSE(version.lacks_batch_sizes());

  constexpr uint64_t kRows = 7;
  Prng prng(9);
  std::vector<float> input(kRows * 64), expected(kRows * 10), answers(kRows * 10), floats(kRows * 10);
  for (float& value : input) value = static_cast<float>(prng.uniform());
  const Result<Int8Model> opened = open_int8_model(file);
  ASSERT_OK(opened);
  ASSERT_OK(Int8Predictor(opened->program).run(input, kRows, expected));
  for (const size_t seat : {0, 1}) {
    ASSERT_OK(version.run(seat, {{std::span<const float>(input)}}, kRows, answers));
    EXPECT_EQ(answers, expected) << seat;
  }
  ASSERT_OK((*before)->run(0, {{std::span<const float>(input)}}, kRows, floats));
  EXPECT_NE(answers, floats);
}

TEST(ServedVersion, BoundsTheMemoryOfANetworkInInt8) {
  const Bytes file = test::int8_file(*Model::load(*make_model(ModelKind::cnn, {8, 8, 1}, 10, 5)));
  SessionLimits limits{.workers = 2, .batch_sizes = {1}};
  const auto whole = ServedVersion::load(file, 1, limits);
  ASSERT_OK(whole);
  limits.memory_bytes_max = (*whole)->bytes() - file.size();
  const auto exact = ServedVersion::load(file, 1, limits);
  ASSERT_OK(exact);
  EXPECT_EQ((*exact)->bytes(), (*whole)->bytes());
  limits.memory_bytes_max -= 1;
  EXPECT_ERROR(ServedVersion::load(file, 1, limits), ErrorCode::too_large, "computes in int8");
}

// Further outputs are for float32 alone: a network in int8 has one.
TEST(ServedVersion, ANetworkInInt8AnswersItsOwnOutputAlone) {
  ModelBuilder build("heads", {4}, 1);
  const TensorId hidden = build.relu(build.dense(build.input(), 6));
  const TensorId own = build.dense(hidden, 3), other = build.dense(hidden, 2);
  const Model model = *Model::load(*build.finish(own, std::vector{other}));
  ASSERT_EQ(model_outputs(model).size(), 2u);
  const auto version = ServedVersion::load(test::int8_file(model), 1, {});
  ASSERT_OK(version);
  ASSERT_EQ((*version)->interface().outputs.size(), 1u);
  EXPECT_EQ((*version)->interface().own_output().elements, 3u);
  std::vector<float> input(4, .5f), answer(3);
  EXPECT_OK((*version)->run(0, {{std::span<const float>(input)}}, 1, answer));
}

TEST(ServedVersion, LeavesOutBatchSizesThatItsMemoryDoesNotHold) {
  const Bytes file = *make_model(ModelKind::cnn, {8, 8, 1}, 10, 5);
  const auto small =
      ServedVersion::load(file, 1, {.workers = 1, .batch_sizes = {1, 2, 4, 1024}, .memory_bytes_max = 4 << 20});
  ASSERT_OK(small);
  std::vector<float> input(64 * 100, 0.5f), output(10 * 100);
  EXPECT_OK((*small)->run(0, {{std::span<const float>(input)}}, 100, output));
  const auto none = ServedVersion::load(file, 1, {.workers = 1, .batch_sizes = {1}, .memory_bytes_max = 1000});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::too_large);
}

// The bound is that of all sessions together, not of each: what small ones leave is for the large ones.
TEST(ServedVersion, UsesAllTheMemoryThatItMay) {
  const Bytes file = *make_model(ModelKind::cnn, {8, 8, 1}, 10, 5);
  SessionLimits limits{.workers = 2, .batch_sizes = {1, 2, 4, 8, 16, 32}};
  const auto whole = ServedVersion::load(file, 1, limits);
  ASSERT_OK(whole);
  EXPECT_FALSE((*whole)->lacks_batch_sizes());
  limits.memory_bytes_max = (*whole)->bytes() - file.size();
  const auto exact = ServedVersion::load(file, 1, limits);
  ASSERT_OK(exact);
  EXPECT_FALSE((*exact)->lacks_batch_sizes());
  EXPECT_EQ((*exact)->bytes(), (*whole)->bytes());
  limits.memory_bytes_max -= 2;
  const auto less = ServedVersion::load(file, 1, limits);
  ASSERT_OK(less);
  EXPECT_TRUE((*less)->lacks_batch_sizes());
  EXPECT_LT((*less)->bytes(), (*whole)->bytes());
}

TEST(ServedVersion, RefusesWhatIsNoModel) {
  const Bytes file = *make_model(ModelKind::mlp, {8, 8, 1}, 10, 5);
  EXPECT_FALSE(ServedVersion::load({}, 1, {}));
  const Bytes int8 = test::int8_file(*Model::load(file));
  for (const Bytes& whole : {file, int8}) {
    for (size_t size = 1; size < whole.size(); size += 97) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_FALSE(ServedVersion::load(part, 1, {})) << size;
    }
  }
}

}  // namespace
}  // namespace coterie
