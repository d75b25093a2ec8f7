#include "tools/data/npy.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "tests/support/matchers.h"
#include "tests/unit/tools/npy_files.h"

namespace coterie {
namespace {

using test::npy_file;
using testing::ElementsAre;

const uint32_t kAll[] = {0, 1, 2};

std::vector<float> floats_of(ByteView column) {
  std::vector<float> numbers(column.size() / sizeof(float));
  std::memcpy(numbers.data(), column.data(), column.size());
  return numbers;
}

TEST(Npy, TakesRowsOfNumbersAsColumns) {
  const auto x = parse_npy(npy_file<float>("<f4", "(3, 2)", {1, 5, 3, 5, NAN, 5}));
  ASSERT_OK(x);
  const auto y = parse_npy(npy_file<int64_t>("<i8", "(3,)", {7, -1, 7}));
  ASSERT_OK(y);
  const auto target = npy_target(*y, {});
  ASSERT_OK(target);
  EXPECT_THAT(target->classes, ElementsAre("-1", "7"));
  const auto contract = fit_npy(*x, true, *target, kAll);
  ASSERT_OK(contract);
  EXPECT_EQ(contract->columns[1].name, "x2");
  const auto table = encode_npy(*x, *y, *contract);
  ASSERT_OK(table);
  EXPECT_THAT(floats_of(table->columns[0]), ElementsAre(-1, 0, 0, 1, 0, 0, 0, 1, 0));
  EXPECT_THAT(table->labels(), ElementsAre(1, 0, 1));
}

TEST(Npy, TakesImagesAsTheyAre) {
  const auto x = parse_npy(npy_file<uint8_t>("|u1", "(3, 1, 2, 1)", {0, 255, 3, 4, 5, 6}));
  const auto y = parse_npy(npy_file<double>("<f8", "(3, 1)", {0.5, 1, 2}));
  ASSERT_OK(x);
  ASSERT_OK(y);
  const auto target = npy_target(*y, {});
  ASSERT_OK(target);
  EXPECT_TRUE(target->is_number);
  const auto contract = fit_npy(*x, true, *target, kAll);
  const auto table = encode_npy(*x, *y, *contract);
  ASSERT_OK(table);
  EXPECT_THAT(table->header.inputs[0].shape, ElementsAre(1, 2, 1));
  EXPECT_EQ(table->header.inputs[0].type, ColumnType::uint8);
  EXPECT_EQ(table->header.inputs[0].scale, 1.0f / 255);
  EXPECT_THAT(floats_of(table->columns[1]), ElementsAre(0.5, 1, 2));
}

TEST(Npy, SaysWhatWasExpected) {
  const Bytes good = npy_file<float>("<f4", "(2,)", {1, 2});
  EXPECT_ERROR(parse_npy(as_bytes("PK")), ErrorCode::malformed, "is no .npy file");
  EXPECT_ERROR(parse_npy(npy_file<float>(">f4", "(2,)", {1, 2})), ErrorCode::malformed, "has elements of type '>f4'");
  EXPECT_ERROR(parse_npy(npy_file<float>("<f4", "(3,)", {1, 2})), ErrorCode::malformed,
               "has 8 bytes behind its header, expected 12 for 3");
  EXPECT_ERROR(parse_npy(npy_file<float>("<f4", "()", {1})), ErrorCode::malformed, "a single number");
  EXPECT_ERROR(parse_npy(npy_file<float>("<f4", "(99999999999999999999,)", {1})), ErrorCode::malformed, "shape");
  EXPECT_ERROR(parse_npy(npy_file<float>("<f4", "(9999999999, 9999999999)", {1})), ErrorCode::too_large, "2^30");
  EXPECT_ERROR(parse_npy(npy_file<float>("<f4", "(1,)", {1}, "True")), ErrorCode::malformed, "order of Fortran");
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_npy(ByteView(good).first(size))) << size;
  }
  for (size_t at = 0; at < good.size() - 8; ++at) {  // no byte of the header does harm
    for (const uint8_t value : {uint8_t{0}, uint8_t{0xff}, uint8_t{'('}, uint8_t{'\''}, uint8_t{'9'}}) {
      Bytes changed = good;
      changed[at] = value;
      (void)parse_npy(changed);
    }
  }
}

// Those of trainings with several heads.
TEST(Npy, LeavesSeveralTargetsARowAsTheyAre) {
  const auto x = parse_npy(npy_file<float>("<f4", "(3,)", {1, 2, 3}));
  const auto numbers = parse_npy(npy_file<float>("<f4", "(3, 2)", {1, 0.5f, 0, 7, 2, -1}));
  const auto of_numbers = npy_target(*numbers, {});
  ASSERT_OK(of_numbers);
  EXPECT_EQ(of_numbers->low, -1);
  EXPECT_EQ(of_numbers->high, 7);
  const auto table = encode_npy(*x, *numbers, *fit_npy(*x, true, *of_numbers, kAll));
  ASSERT_OK(table);
  EXPECT_EQ(table->header.target.shape, Shape{2});
  EXPECT_THAT(floats_of(table->columns[1]), ElementsAre(1, 0.5f, 0, 7, 2, -1));
  const auto classes = parse_npy(npy_file<int32_t>("<i4", "(3, 2)", {1, 0, 3, 1, 0, 0}));
  const auto of_classes = npy_target(*classes, {});
  ASSERT_OK(of_classes);
  const auto labelled = encode_npy(*x, *classes, *fit_npy(*x, true, *of_classes, kAll));
  ASSERT_OK(labelled);
  EXPECT_EQ(labelled->header.classes, 4u);
  EXPECT_EQ(labelled->columns[1], column_of(std::vector<int32_t>{1, 0, 3, 1, 0, 0}));
}

TEST(Npy, NamesTheRow) {
  const auto y = parse_npy(npy_file<double>("<f8", "(2,)", {1, NAN}));
  EXPECT_ERROR(npy_target(*y, {}), ErrorCode::malformed, "row 1: expected a finite number");
  const auto deep = parse_npy(npy_file<double>("<f8", "(1, 2, 1)", {1, 2}));
  EXPECT_ERROR(npy_target(*deep, {}), ErrorCode::invalid_argument, "has the shape 1 x 2 x 1, expected one target");
  const auto negative = parse_npy(npy_file<int32_t>("<i4", "(2, 2)", {1, 2, 0, -1}));
  EXPECT_ERROR(npy_target(*negative, {}), ErrorCode::malformed, "row 1: expected classes, counted from 0");
  const auto large = parse_npy(npy_file<int32_t>("<i4", "(1, 2)", {65536, 2}));
  EXPECT_ERROR(npy_target(*large, {}), ErrorCode::too_large, "more than 65536 classes");
  const auto other = parse_npy(npy_file<double>("<f8", "(1,)", {3}));
  EXPECT_ERROR(npy_labels(*other, {.classes = {"1", "2"}}), ErrorCode::malformed, "row 0: 3 is none of the 2 classes");
}

TEST(Npy, RefusesNumbersThatCannotBeScaled) {
  const auto x = parse_npy(npy_file<double>("<f8", "(3, 1)", {1, 2, INFINITY}));
  const auto y = parse_npy(npy_file<int32_t>("<i4", "(3,)", {0, 1, 0}));
  const auto contract = fit_npy(*x, true, *npy_target(*y, {}), kAll);
  ASSERT_OK(contract);
  EXPECT_ERROR(encode_npy(*x, *y, *contract), ErrorCode::malformed, "row 2, number 0: is beyond 1e30");
}

}  // namespace
}  // namespace coterie
