#include "tools/vertical/model_part.h"

#include <gtest/gtest.h>

#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

ModelPart part() {
  ModelPart made{
      .model = VerticalModel::logistic, .is_label_party = true, .columns = {"age", ""}, .machine = {1, 2, 3}};
  made.training.bytes[5] = 9;
  return made;
}

TEST(ModelPartFile, ReadsWhatItWrites) {
  const Result<ModelPart> read = read_model_part(write_model_part(part()));
  ASSERT_OK(read);
  EXPECT_EQ(*read, part());
  const Result<ModelPart> empty = read_model_part(write_model_part({}));
  ASSERT_OK(empty);
  EXPECT_EQ(*empty, ModelPart());
}

TEST(ModelPartFile, KnowsAByteThatIsNotAsItWasWritten) {
  const Bytes bytes = write_model_part(part());
  for (size_t i = 0; i < bytes.size(); ++i) {
    Bytes changed = bytes;
    changed[i] ^= 1;
    EXPECT_FALSE(read_model_part(changed)) << i;
    EXPECT_FALSE(read_model_part(ByteView(bytes).first(i))) << i;
  }
}

// A digest is no seal: whoever writes a file can write one.
TEST(ModelPartFile, TakesNoCountOnTrust) {
  const Bytes bytes = write_model_part(part());
  const auto resealed = [&bytes](size_t at, uint8_t value) {
    Bytes changed(bytes.begin(), bytes.end() - 32);
    changed[at] = value;
    const Digest digest = sha256(changed);
    changed.insert(changed.end(), digest.bytes.begin(), digest.bytes.end());
    return read_model_part(changed);
  };
  EXPECT_ERROR(resealed(4, kVerticalModels), ErrorCode::malformed, "no part");
  EXPECT_ERROR(resealed(5, 2), ErrorCode::malformed, "no part");
  EXPECT_ERROR(resealed(7, 1), ErrorCode::malformed, "no part");
  EXPECT_ERROR(resealed(43, 0xff), ErrorCode::malformed, "no part");
  EXPECT_ERROR(resealed(40, 1), ErrorCode::malformed, "no part");
  EXPECT_ERROR(resealed(47, 0xff), ErrorCode::malformed, "no part");
  EXPECT_ERROR(resealed(44, 2), ErrorCode::malformed, "no part");
}

}  // namespace
}  // namespace coterie
