#include "secure/identity/der_reader.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

void expect_malformed(const Bytes& bytes, const std::string& words) {
  EXPECT_ERROR(DerReader(bytes, "it").next(), ErrorCode::malformed, words);
}

TEST(DerReader, ReadsElementsOfShortAndLongTags) {
  const Bytes bytes = {0x04, 0x02, 7, 8, 0xbf, 0x85, 0x41, 0x00, 0x05, 0x00};
  DerReader reader(bytes, "it");
  const auto octets = reader.octets("octets");
  ASSERT_OK(octets);
  EXPECT_EQ(Bytes(octets->begin(), octets->end()), (Bytes{7, 8}));
  const auto tagged = reader.next();
  ASSERT_OK(tagged);
  EXPECT_EQ(tagged->tag_class, DerClass::context);
  EXPECT_EQ(tagged->tag, 705u);
  EXPECT_TRUE(tagged->is_constructed);
  EXPECT_FALSE(reader.end());
  EXPECT_OK(reader.next());
  EXPECT_OK(reader.end());
  EXPECT_TRUE(reader.at_end());
}

TEST(DerReader, RefusesWhatHasASecondForm) {
  expect_malformed({}, "cut short");
  expect_malformed({0x04}, "cut short");
  expect_malformed({0x04, 0x80, 0, 0}, "indefinite");
  expect_malformed({0x04, 0x85, 0, 0, 0, 0, 1, 0}, "more than 4 bytes");
  expect_malformed({0x04, 0x81, 0x01, 0}, "a length is not in its shortest form");
  expect_malformed({0x04, 0x82, 0x00, 0x81}, "a length has leading zeros");
  expect_malformed({0x04, 0x02, 1}, "longer than what it stands in");
  expect_malformed({0x04, 0x84, 0xff, 0xff, 0xff, 0xff}, "longer than what it stands in");
  expect_malformed({0x1f, 0x1e, 0}, "a tag is not in its shortest form");
  expect_malformed({0x1f, 0x80, 0x1f, 0}, "a tag has leading zeros");
  expect_malformed({0x1f, 0xff, 0xff, 0xff, 0x7f, 0}, "a tag is over");
}

TEST(DerReader, NumbersHaveOneEncoding) {
  const auto number = [](const Bytes& bytes) { return DerReader(bytes, "it").integer("n"); };
  EXPECT_EQ(*number({2, 1, 0}), 0u);
  EXPECT_EQ(*number({2, 2, 0, 0x80}), 128u);
  EXPECT_EQ(*number({2, 9, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), UINT64_MAX);
  EXPECT_ERROR(number({2, 0}), ErrorCode::malformed, "has no digits");
  EXPECT_ERROR(number({2, 1, 0x80}), ErrorCode::malformed, "is negative");
  EXPECT_ERROR(number({2, 2, 0, 0x7f}), ErrorCode::malformed, "shortest form");
  EXPECT_ERROR(number({2, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0}), ErrorCode::malformed, "64 bits");
  EXPECT_ERROR(number({10, 1, 0}), ErrorCode::malformed, "n is not where it should be");
  const auto truth = [](const Bytes& bytes) { return DerReader(bytes, "it").boolean("b"); };
  EXPECT_TRUE(*truth({1, 1, 0xff}));
  EXPECT_FALSE(*truth({1, 1, 0}));
  EXPECT_ERROR(truth({1, 1, 1}), ErrorCode::malformed, "neither true nor false");
  EXPECT_ERROR(truth({1, 2, 0, 0}), ErrorCode::malformed, "neither true nor false");
}

}  // namespace
}  // namespace coterie::test
