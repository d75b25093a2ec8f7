#include "fl_server/net/entity_tag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(EntityTag, IsOfTheBody) {
  EXPECT_EQ(entity_tag(as_bytes(std::string_view("abc"))), "\"ba7816bf8f01cfea414140de5dae2223\"")
      << "SHA-256, FIPS 180";
  EXPECT_NE(entity_tag({}), entity_tag(as_bytes(std::string_view("a"))));
}

TEST(EntityTag, IsFoundInAList) {
  for (const char* list : {"*", "\"a\"", "\"x\", \"a\"", "\"x\",\"a\",\"y\"", " \"a\"", "\"\",\"a\""}) {
    EXPECT_TRUE(if_match(list, "\"a\"")) << list;
    EXPECT_TRUE(if_none_match(list, "\"a\"")) << list;
  }
  for (const char* list : {"", "a", "\"b\"", "\"a", "\"ab\"", "\"x\" a \"a\"", "**", "\"a,\"", "W/", "W/\"b\""}) {
    EXPECT_FALSE(if_match(list, "\"a\"")) << list;
    EXPECT_FALSE(if_none_match(list, "\"a\"")) << list;
  }
  EXPECT_TRUE(if_none_match("\"x\", W/\"a\"", "\"a\"")) << "weakly";
  EXPECT_FALSE(if_match("\"x\", W/\"a\"", "\"a\"")) << "strongly";
}

TEST(EntityTag, LeavesOutABodyThatTheReaderHas) {
  HttpResponse whole;
  whole.body = {1, 2, 3};
  RequestHead head;
  head.method = "GET";
  const HttpResponse tagged = with_entity_tag(head, whole);
  const std::string tag = entity_tag(whole.body);
  EXPECT_THAT(tagged.headers, testing::ElementsAre(testing::Pair("ETag", tag)));
  EXPECT_EQ(tagged.body, whole.body);
  head.headers = {{"if-none-match", tag}};
  const HttpResponse same = with_entity_tag(head, whole);
  EXPECT_EQ(same.status, 304);
  EXPECT_TRUE(same.body.empty());
  EXPECT_EQ(same.headers, tagged.headers);
  head.method = "POST";
  EXPECT_EQ(with_entity_tag(head, whole).status, 200) << "what has changed something says so";
  head.method = "GET";
  whole.status = 503;
  EXPECT_EQ(with_entity_tag(head, whole).status, 503);
}

}  // namespace
}  // namespace coterie
