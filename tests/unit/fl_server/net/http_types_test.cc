#include "fl_server/net/http_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

TEST(ResponseHead, IsTheBytesThatGoOut) {
  HttpResponse response;
  response.status = 201;
  response.content_type = "application/json";
  response.headers = {{"Location", "/a"}, {"ETag", "\"e\""}};
  EXPECT_EQ(response_head(response, 5),
            "HTTP/1.1 201 Created\r\nContent-Length: 5\r\nContent-Type: application/json\r\nLocation: /a\r\n"
            "ETag: \"e\"\r\n\r\n");
  response.close = true;
  response.headers.clear();
  EXPECT_EQ(response_head(response, 0), "HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

// RFC 9110 section 8.6 and RFC 9112 section 6.2.
TEST(ResponseHead, HasNoLengthWhereThereIsNeverABody) {
  HttpResponse response;
  for (int status : {100, 204, 304}) {
    response.status = status;
    EXPECT_THAT(response_head(response, 0), Not(HasSubstr("Content-"))) << status;
  }
  for (int status : {200, 404, 416, 500}) {
    response.status = status;
    EXPECT_THAT(response_head(response, 0), HasSubstr("Content-Length: 0\r\n")) << status;
  }
}

TEST(ResponseHead, HasAPhraseForEveryErrorThatIsSent) {
  for (const ErrorTraits& row : all_error_traits()) {
    if (row.code == ErrorCode::cancelled) continue;  // nobody is there to read it
    EXPECT_NE(reason_phrase(row.http_status), "Status") << row.name;
  }
  EXPECT_EQ(reason_phrase(405), "Method Not Allowed");
  EXPECT_EQ(reason_phrase(799), "Status");
}

// ---- Queries

TEST(ParseQuery, GivesPairsInTheirOrder) {
  EXPECT_THAT(parse_query("").value(), IsEmpty());
  EXPECT_THAT(parse_query("a=1&b=two").value(), ElementsAre(Pair("a", "1"), Pair("b", "two")));
  EXPECT_THAT(parse_query("a=1&a=2").value(), ElementsAre(Pair("a", "1"), Pair("a", "2")));
  EXPECT_THAT(parse_query("&&a&=b&c=&&d=e=f&").value(),
              ElementsAre(Pair("a", ""), Pair("", "b"), Pair("c", ""), Pair("d", "e=f")));
}

TEST(ParseQuery, DecodesEscapesOnce) {
  EXPECT_THAT(parse_query("a%20b=c+d&e=%2526%3D%26").value(), ElementsAre(Pair("a b", "c d"), Pair("e", "%26=&")));
  EXPECT_THAT(parse_query("a=%c3%A9").value(), ElementsAre(Pair("a", "\xc3\xa9")));
}

TEST(ParseQuery, RefusesEscapesThatAreNone) {
  for (const char* query :
       {"%", "a=%", "a=%4", "a=%zz", "a=%4g", "a=%g4", "a=% 41", "a=%+1", "%4=1", "a=1&b=%", "a=%%41"}) {
    EXPECT_ERROR(parse_query(query), ErrorCode::malformed, "percent escape") << query;
  }
  for (const char* query : {"a=%00", "a=%0a", "a=%0D", "a=%1f", "%00=1", "a=%7f"}) {
    EXPECT_ERROR(parse_query(query), ErrorCode::malformed, "not a character") << query;
  }
}

}  // namespace
}  // namespace coterie
