// A model or data set file that was damaged on its way or its disk is refused, whatever byte it was.
#include "device_sdk/runtime/seal.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device_sdk/runtime/dataset_source.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

Bytes small_model() {
  ModelBuilder build("small", {4}, 1);
  Result<Bytes> file = build.finish(build.dense(build.relu(build.dense(build.input(), 3)), 2));
  EXPECT_OK(file);
  return *file;
}

Bytes small_dataset() {
  const std::vector<float> features(12, 0.5f);
  const std::vector<int32_t> labels = {0, 1, 1};
  return encode_dataset(labelled_dataset("small", 3, {4}, 2), features, labels);
}

// Opened as a file is: its seal, then what is in it.
bool opens(const Bytes& file, FrameKind kind) {
  if (kind == FrameKind::dataset) return DatasetSource::load(file).has_value();
  return check_seal(file).has_value() && Model::load(file).has_value();
}

void expect_all_damage_is_refused(const Bytes& file, FrameKind kind) {
  ASSERT_EQ(*check_seal(file), Seal::good);
  ASSERT_TRUE(opens(file, kind));
  for (size_t byte = 0; byte < file.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes damaged = file;
      damaged[byte] = static_cast<uint8_t>(damaged[byte] ^ (1u << bit));
      ASSERT_FALSE(opens(damaged, kind)) << "bit " << bit << " of byte " << byte;
    }
    for (const uint8_t value : {uint8_t{0}, uint8_t{0xff}}) {
      Bytes damaged = file;
      damaged[byte] = value;
      ASSERT_TRUE(damaged == file || !opens(damaged, kind)) << "byte " << byte;
    }
    ASSERT_FALSE(opens(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(byte)), kind)) << byte;
  }
  Bytes longer = file;
  longer.push_back(0);
  EXPECT_FALSE(opens(longer, kind));
}

TEST(Seal, AModelWithAnyBitChangedOrCutAnywhereIsRefused) {
  expect_all_damage_is_refused(small_model(), FrameKind::model);
}

TEST(Seal, ADataSetWithAnyBitChangedOrCutAnywhereIsRefused) {
  expect_all_damage_is_refused(small_dataset(), FrameKind::dataset);
}

TEST(Seal, SaysThatTheFileIsDamaged) {
  Bytes model = small_model(), dataset = small_dataset();
  model.back() ^= 1;
  dataset[dataset.size() - 20] ^= 1;
  EXPECT_ERROR(check_seal(model), ErrorCode::data_loss, "fails its checksum");
  EXPECT_ERROR(DatasetSource::load(dataset), ErrorCode::data_loss, "fails its checksum");
}

TEST(Seal, IsMadeAnewForOtherParameters) {
  const Model model = load_or_die(small_model());
  std::vector<float> values(model.parameters().begin(), model.parameters().end());
  values[0] += 1;
  const Bytes changed = model.file_with(values);
  EXPECT_EQ(*check_seal(changed), Seal::good);
  EXPECT_EQ(model.file_with(model.parameters()), small_model());
}

// What a server makes is named by its digest and bears no seal; so is what was written before there were seals.
TEST(Seal, OfZerosIsNone) {
  Bytes file = small_model();
  const auto place = seal_place(file);
  ASSERT_OK(place);
  ASSERT_TRUE(place->has_value());
  std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(**place), 32, 0);
  EXPECT_EQ(*check_seal(file), Seal::none);
  EXPECT_OK(Model::load(file));
}

}  // namespace
}  // namespace coterie::test
