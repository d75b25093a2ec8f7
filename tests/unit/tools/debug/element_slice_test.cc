#include "tools/debug/element_slice.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// numpy.arange(24).reshape(2, 3, 4)[text]
std::vector<uint64_t> elements_of(std::string_view text, const Shape& shape = {2, 3, 4}) {
  const Result<ElementSlice> slice = parse_slice(text, shape);
  EXPECT_OK(slice);
  std::vector<uint64_t> elements;
  if (!slice) return elements;
  for_each_element(*slice, shape, [&](uint64_t element) {
    elements.push_back(element);
    return true;
  });
  EXPECT_EQ(elements.size(), slice->count());
  return elements;
}

Shape shape_of(std::string_view text) {
  const Result<ElementSlice> slice = parse_slice(text, {2, 3, 4});
  EXPECT_OK(slice);
  return slice ? slice->shape() : Shape{};
}

std::string refusal(std::string_view text) {
  const Result<ElementSlice> slice = parse_slice(text, {2, 3, 4});
  EXPECT_FALSE(slice) << text;
  return slice ? "" : slice.error().message();
}

// Each expectation is what NumPy 1.24 gives.
TEST(ElementSlice, IsNumPys) {
  EXPECT_THAT(elements_of("0,1,2"), ElementsAre(6));
  EXPECT_THAT(elements_of("-1, -1, -1"), ElementsAre(23));
  EXPECT_THAT(elements_of("1,:2,3"), ElementsAre(15, 19));
  EXPECT_THAT(elements_of("1, 1:, ::2"), ElementsAre(16, 18, 20, 22));
  EXPECT_THAT(elements_of("..., 0"), ElementsAre(0, 4, 8, 12, 16, 20));
  EXPECT_THAT(elements_of("0, ..., 3"), ElementsAre(3, 7, 11));
  EXPECT_THAT(elements_of("1, 2"), ElementsAre(20, 21, 22, 23));
  EXPECT_THAT(elements_of("0, 0, ::-1"), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(elements_of("0, 0, -2:"), ElementsAre(2, 3));
  EXPECT_THAT(elements_of("0, 0, 10:0:-2"), ElementsAre(3, 1));
  EXPECT_THAT(elements_of("0, 0, 2:-9:-1"), ElementsAre(2, 1, 0));
  EXPECT_EQ(elements_of("").size(), 24u);
  EXPECT_EQ(elements_of("...").size(), 24u);
  EXPECT_EQ(elements_of(":,:,:").size(), 24u);
}

TEST(ElementSlice, HasNumPysShape) {
  EXPECT_EQ(shape_of("0,1,2"), Shape{});
  EXPECT_EQ(shape_of("0,:2"), (Shape{2, 4}));
  EXPECT_EQ(shape_of("...,0:1"), (Shape{2, 3, 1}));
  EXPECT_EQ(shape_of("5:"), (Shape{0, 3, 4}));
}

TEST(ElementSlice, EndsAreCut) {
  EXPECT_TRUE(elements_of("0, 0, 4:").empty());
  EXPECT_TRUE(elements_of("0, 0, 3:1").empty());
  EXPECT_THAT(elements_of("0, 0, :99"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(elements_of("0, 0, -99:1"), ElementsAre(0));
}

TEST(ElementSlice, HugeNumbersAreFarOut) {
  EXPECT_THAT(elements_of("0, 0, :99999999999999999999999999"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(elements_of("0, 0, 1::99999999999999999999999999"), ElementsAre(1));
  EXPECT_THAT(elements_of("0, 0, ::-9223372036854775808"), ElementsAre(3));
  EXPECT_THAT(elements_of("0, 0, -9223372036854775808:9223372036854775807"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(refusal("99999999999999999999999999"), HasSubstr("out of range for axis 0, which has the size 2"));
}

TEST(ElementSlice, WhatIsNoneIsRefused) {
  EXPECT_THAT(refusal("2"), HasSubstr("index 2 is out of range for axis 0, which has the size 2"));
  EXPECT_THAT(refusal("0,-4"), HasSubstr("index -4 is out of range for axis 1"));
  EXPECT_THAT(refusal("0,0,0,0"), HasSubstr("has 4 axes, the tensor 3"));
  EXPECT_THAT(refusal("0,0,0,..., 0"), HasSubstr("has 4 axes"));
  EXPECT_THAT(refusal("...,..."), HasSubstr("once"));
  EXPECT_THAT(refusal("::0"), HasSubstr("must not be 0"));
  EXPECT_THAT(refusal("1:2:3:4"), HasSubstr("start:stop:step"));
  EXPECT_THAT(refusal("a"), HasSubstr("no whole number"));
  EXPECT_THAT(refusal("1.5"), HasSubstr("no whole number"));
  EXPECT_THAT(refusal("0,,1"), HasSubstr("axis 1 is empty"));
  EXPECT_THAT(refusal("None"), HasSubstr("no whole number"));
}

TEST(ElementSlice, AVisitMayEnd) {
  const Shape shape = {1000, 1000};
  const Result<ElementSlice> slice = parse_slice("", shape);
  ASSERT_OK(slice);
  uint64_t visited = 0;
  for_each_element(*slice, shape, [&](uint64_t) { return ++visited < 5; });
  EXPECT_EQ(visited, 5u);
}

}  // namespace
}  // namespace coterie::test
