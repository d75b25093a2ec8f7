// Where a header's seal is: the field and the identifier come together or not at all.
#include <gtest/gtest.h>

#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/generated/state_generated.h"
#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

Bytes header_with(bool has_field, const char* identifier) {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<flatbuffers::Offset<state::DatasetColumn>> none;
  const auto inputs = builder.CreateVector(none);
  const auto target = state::CreateDatasetColumn(builder);
  const wire::Digest32 seal = flat::digest(Digest());
  builder.Finish(state::CreateDataset(builder, 0, 1, inputs, target, 0, has_field ? &seal : nullptr), identifier);
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

TEST(SealPlace, IsFoundWhereItIs) {
  const Bytes header = header_with(true, flat::kSealed);
  const auto place = seal_place(FrameKind::dataset, header);
  ASSERT_OK(place);
  ASSERT_TRUE(place->has_value());
  EXPECT_LE(**place + 32, header.size());
}

TEST(SealPlace, OfAHeaderOfBeforeThereWereSealsIsNone) {
  const auto place = seal_place(FrameKind::dataset, header_with(false, nullptr));
  ASSERT_OK(place);
  EXPECT_FALSE(place->has_value());
}

TEST(SealPlace, HalfOfASealIsDamage) {
  EXPECT_ERROR(seal_place(FrameKind::dataset, header_with(false, flat::kSealed)), ErrorCode::data_loss, "half of");
  EXPECT_ERROR(seal_place(FrameKind::dataset, header_with(true, nullptr)), ErrorCode::data_loss, "half of");
  EXPECT_ERROR(seal_place(FrameKind::dataset, header_with(true, "SEAM")), ErrorCode::data_loss, "half of");
}

}  // namespace
}  // namespace coterie::test
