// What write_npz writes, read_npz reads; NumPy's reading of the same bytes was looked at by hand.
#include "model_import/weights/write_npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "model_import/weights/read_weights.h"
#include "tests/support/matchers.h"

namespace coterie::model_import {
namespace {

using namespace test;
using testing::ElementsAre;

TEST(WriteNpz, IsReadAgain) {
  const std::vector<NpzArray> arrays = {
      {.name = "scores", .type = DataType::float32, .shape = {2, 3}, .words = {1, -2.5f, 0, 4, 5e-9f, 6}},
      {.name = "block/größe",
       .type = DataType::int32,
       .shape = {2},
       .words = {std::bit_cast<float>(-7), std::bit_cast<float>(1 << 30)}},
      {.name = "none", .type = DataType::float32, .shape = {0, 4}, .words = {}}};
  const Result<Bytes> file = write_npz(arrays);
  ASSERT_OK(file);
  EXPECT_EQ(*write_npz(arrays), *file);
  const Result<WeightTable> table = read_npz(*file);
  ASSERT_OK(table);
  ASSERT_EQ(table->tensors.size(), 3u);
  EXPECT_EQ(table->tensors[0].name, "scores");
  EXPECT_THAT(table->tensors[0].shape, ElementsAre(2, 3));
  EXPECT_THAT(*read_values(table->tensors[0]), ElementsAre(1, -2.5f, 0, 4, 5e-9f, 6));
  EXPECT_EQ(table->tensors[1].name, "block/größe");
  EXPECT_THAT(*read_integers(table->tensors[1]), ElementsAre(-7, 1 << 30));
  EXPECT_THAT(table->tensors[2].shape, ElementsAre(0, 4));
  // Elements begin where NumPy may map them.
  for (const WeightTensor& tensor : table->tensors) EXPECT_EQ(tensor.first_byte % 64, 0u);
}

TEST(WriteNpz, RefusesNamesThatAnArchiveCannotTellApart) {
  const NpzArray one{.name = "a", .type = DataType::float32, .shape = {1}, .words = {1}};
  NpzArray nameless = one;
  nameless.name.clear();
  EXPECT_ERROR(write_npz({one, one}), ErrorCode::invalid_argument, "two arrays have the name a");
  EXPECT_ERROR(write_npz({nameless}), ErrorCode::invalid_argument, "1 to 1,024 bytes");
  nameless.name.assign(5000, 'x');
  EXPECT_ERROR(write_npz({nameless}), ErrorCode::invalid_argument, "1 to 1,024 bytes");
}

}  // namespace
}  // namespace coterie::model_import
