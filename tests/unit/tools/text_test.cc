#include "tools/data/text.h"

#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;

std::vector<int32_t> numbers_of(ByteView column) {
  std::vector<int32_t> numbers(column.size() / sizeof(int32_t));
  std::memcpy(numbers.data(), column.data(), column.size());
  return numbers;
}

TEST(Text, BecomesPiecesAndWhatComesNextAtEachPlace) {
  const auto table = text_table("abcabdab", "t", {.length = 3});
  ASSERT_OK(table);
  EXPECT_EQ(table->size(), 2u);
  EXPECT_EQ(table->header.classes, 4u);
  EXPECT_THAT(table->header.target.shape, ElementsAre(3));
  EXPECT_TRUE(table->labels().empty());
  EXPECT_THAT(numbers_of(table->columns[0]), ElementsAre(0, 1, 2, 0, 1, 3));
  EXPECT_THAT(numbers_of(table->columns[1]), ElementsAre(1, 2, 0, 1, 3, 0));
}

TEST(Text, MayAskForTheCharacterBehindThePieceAlone) {
  const auto table = text_table("abcabdab", "t", {.length = 3, .is_last_only = true});
  ASSERT_OK(table);
  EXPECT_THAT(table->labels(), ElementsAre(0, 0));
  const auto shortest = text_table("abcd", "t", {.length = 3, .is_last_only = true});
  ASSERT_OK(shortest);
  EXPECT_THAT(shortest->labels(), ElementsAre(3));
}

TEST(Text, CountsCharactersNotBytes) {
  const auto table = text_table("z\u00e9\u20ac\U0001f600z", "t", {.length = 4});
  ASSERT_OK(table);
  EXPECT_THAT(numbers_of(table->columns[0]), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(numbers_of(table->columns[1]), ElementsAre(1, 2, 3, 0));
}

TEST(Text, SaysWhereItIsNotUtf8) {
  const char* const wrong[] = {"a\x80",         "a\xc3",         "a\xc0\x80",
                               "a\xe0\x80\x80", "a\xed\xa0\x80", "a\xf4\x90\x80\x80",
                               "a\xf0\x9f\x98", "a\xff",         "a\xc3z"};
  for (const char* text : wrong) {
    EXPECT_ERROR(text_table(text, "t", {.length = 1}), ErrorCode::malformed, "is not UTF-8 at byte 1") << text;
  }
}

TEST(Text, IsNumberedByAnAlphabetAndNamedByIt) {
  const auto alphabet = alphabet_of("z\u00e9\u20ac\U0001f600za\n");
  ASSERT_OK(alphabet);
  EXPECT_EQ(*alphabet, U"\naz\u00e9\u20ac\U0001f600");
  const std::vector<std::string> names = names_of(*alphabet);
  EXPECT_THAT(names, ElementsAre("\n", "a", "z", "\u00e9", "\u20ac", "\U0001f600"));
  EXPECT_EQ(*alphabet_from(names), *alphabet);
  const auto table = text_table("az", "t", {.length = 1, .is_last_only = true, .alphabet = *alphabet});
  ASSERT_OK(table);
  EXPECT_THAT(numbers_of(table->columns[0]), ElementsAre(1));
  EXPECT_THAT(table->labels(), ElementsAre(2));
  EXPECT_EQ(table->header.classes, 6u);
  EXPECT_ERROR(text_table("ab", "t", {.length = 1, .alphabet = *alphabet}), ErrorCode::invalid_argument,
               "has the character \"b\", which is none of the 6");
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"ab"}, {""}, {"b", "a"}, {"a", "a"}}) {
    EXPECT_ERROR(alphabet_from(wrong), ErrorCode::malformed, "");
  }
}

TEST(Text, SaysHowMuchOneExampleTakes) {
  EXPECT_ERROR(text_table("abc", "t", {.length = 3}), ErrorCode::invalid_argument,
               "has 3 characters, one example takes 4");
}

}  // namespace
}  // namespace coterie
