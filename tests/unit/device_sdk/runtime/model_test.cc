#include "device_sdk/runtime/model.h"

#include <gtest/gtest.h>

#include <limits>

#include "secure/crypto/digest.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

TEST(Model, KnowsItsShapesAndParametersAfterLoading) {
  const Model model = small_cnn();
  EXPECT_EQ(model.input_shape(), (Shape{8, 8, 1}));
  EXPECT_EQ(model.output_shape(), (Shape{10}));
  // conv 9*16 + 16, conv 144*32 + 32, dense 512*64 + 64, dense 64*10 + 10, each rounded up to 16 floats but the last.
  EXPECT_EQ(model.value_count(), 144u + 16 + 4608 + 32 + 32768 + 64 + 640 + 10);
  const int convolutions = 64 * 9 * 16 * 2 + 1024 + 64 * 144 * 32 * 2 + 2048, pool = 4 * 4 * 32 * 4;  // with the ReLUs
  EXPECT_EQ(model.flops(), convolutions + pool + 2 * 512 * 64 + 64 + 2 * 64 * 10);
  EXPECT_EQ(model.digest(), content_digest(model.file()));
}

TEST(Model, CopiesShareTheirParameters) {
  const float* where;
  const Model copy = [&] {
    const Model model = small_cnn();
    where = model.parameters().data();
    return model;
  }();
  EXPECT_EQ(copy.parameters().data(), where);
}

TEST(Model, FileWithOtherParametersIsTheSameGraph) {
  const Model model = small_cnn();
  std::vector<float> values(model.parameters().begin(), model.parameters().end());
  EXPECT_EQ(model.file_with(values), Bytes(model.file().begin(), model.file().end()));
  values[3] = 42;
  const Result<Model> changed = Model::load(model.file_with(values));
  ASSERT_OK(changed);
  EXPECT_EQ(changed->graph(), model.graph());
  EXPECT_EQ(changed->parameters()[3], 42);
  EXPECT_NE(changed->digest(), model.digest());
}

TEST(Model, IsRefusedWhenTruncatedAtAnyByte) {
  ModelBuilder build("tiny", {2}, 1);
  Result<Bytes> file = build.finish(build.dense(build.input(), 2));
  ASSERT_OK(file);
  for (size_t size = 0; size < file->size(); ++size) {
    EXPECT_FALSE(Model::load(Bytes(file->begin(), file->begin() + static_cast<ptrdiff_t>(size)))) << size;
  }
}

TEST(Model, WithAFlippedBitNeverCrashes) {
  ModelBuilder build("tiny", {4, 4, 2}, 1);
  TensorId x = build.conv2d(build.input(), {.filters = 2, .kernel = 3, .pad = 1, .groups = 2});
  x = build.flatten(build.max_pool2d(x, {}));
  Result<Bytes> file = build.finish(build.dense(x, 2));
  ASSERT_OK(file);
  size_t accepted = 0;
  for (size_t bit = 0; bit < file->size() * 8; ++bit) {
    Bytes flipped = *file;
    flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ (1u << (bit % 8)));
    accepted += Model::load(flipped).has_value();
  }
  EXPECT_GT(accepted, 0u);  // most bits of a weight make another weight
  EXPECT_LT(accepted, file->size() * 8);
}

TEST(Model, IsRefusedWithValuesThatAreNotNumbersOrPaddingThatIsNotZero) {
  const Model model = small_cnn();
  std::vector<float> values(model.parameters().begin(), model.parameters().end());
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    values[0] = bad;
    EXPECT_ERROR(Model::load(model.file_with(values)), ErrorCode::malformed, "not finite");
  }
  const Model padded = load_or_die([] {
    ModelBuilder build("padded", {3}, 1);
    return build.finish(build.dense(build.input(), 3));
  }());
  std::vector<float> more(padded.parameters().begin(), padded.parameters().end());
  more[9] = 1;  // behind the 3 x 3 weight
  EXPECT_ERROR(Model::load(padded.file_with(more)), ErrorCode::malformed, "padding between parameters");
}

}  // namespace
}  // namespace coterie::test
