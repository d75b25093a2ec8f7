#include "fl_server/store/s3/answers.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie::s3 {
namespace {

std::string object(const std::string& key, const std::string& size = "7",
                   const std::string& time = "2009-10-12T17:50:30.000Z") {
  return "<Contents><Key>" + key + "</Key><LastModified>" + time + "</LastModified><ETag>&quot;e&quot;</ETag><Size>" +
         size + "</Size><StorageClass>STANDARD</StorageClass></Contents>";
}

std::string list(const std::string& inside) {
  return "<?xml version=\"1.0\"?><ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>" +
         inside + "</ListBucketResult>";
}

TEST(S3Answers, ReadAPageOfAList) {
  const Result<ListPage> page =
      parse_list(list("<IsTruncated>true</IsTruncated>" + object("p/a&amp;b") + object("p/c", "0") +
                      "<NextContinuationToken>1ueGcxLPRx1Tr/X==</NextContinuationToken>"));
  ASSERT_OK(page);
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "p/a&b");
  EXPECT_EQ(page->objects[0].size, 7u);
  EXPECT_EQ(unix_ms(page->objects[0].modified), 1'255'369'830'000);
  EXPECT_EQ(page->objects[1].size, 0u);
  EXPECT_EQ(page->next, "1ueGcxLPRx1Tr/X==");
  const Result<ListPage> last =
      parse_list(list("<IsTruncated>false</IsTruncated><NextContinuationToken>x</NextContinuationToken>"));
  ASSERT_OK(last);
  EXPECT_EQ(last->next, "") << "there is nothing to go on with";
}

TEST(S3Answers, RefuseAListThatIsNone) {
  const std::string end = "<IsTruncated>false</IsTruncated>";
  std::string many = end;
  for (size_t i = 0; i <= kListedMax; ++i) many += object("k");
  for (const std::string& bad :
       {std::string(), std::string("<Error/>"), list(""), list("<IsTruncated>yes</IsTruncated>"),
        list("<IsTruncated>true</IsTruncated>"), list(end + object("")), list(end + object("k", "")),
        list(end + object("k", "-1")), list(end + object("k", "1x")), list(end + object("k", "18446744073709551616")),
        list(end + object("k", "1", "yesterday")), list(many), list(end + object(std::string(kKeyBytesMax + 1, 'k'))),
        list("<IsTruncated>true</IsTruncated><NextContinuationToken>" + std::string(kTokenBytesMax + 1, 't') +
             "</NextContinuationToken>")}) {
    EXPECT_ERROR(parse_list(bad), ErrorCode::malformed, "") << bad.substr(0, 200);
  }
}

TEST(S3Answers, ReadTheIdOfAnUpload) {
  const auto answer = [](const std::string& id) {
    return "<InitiateMultipartUploadResult><Bucket>b</Bucket><UploadId>" + id +
           "</UploadId></InitiateMultipartUploadResult>";
  };
  EXPECT_EQ(parse_upload_id(answer("VXB/+ =")).value_or(""), "VXB/+ =");
  EXPECT_ERROR(parse_upload_id(answer("")), ErrorCode::malformed, "no id");
  EXPECT_ERROR(parse_upload_id(answer(std::string(kTokenBytesMax + 1, 'x'))), ErrorCode::malformed, "too long");
  EXPECT_ERROR(parse_upload_id("<Other><UploadId>x</UploadId></Other>"), ErrorCode::malformed, "no id");
}

struct FailureCase {
  int status;
  const char* code;
  ErrorCode expected;
  bool again;
};

TEST(S3Answers, TypeErrorsByCodeAndStatus) {
  const FailureCase cases[] = {
      {503, "SlowDown", ErrorCode::unavailable, true},
      {500, "InternalError", ErrorCode::unavailable, true},
      {500, "", ErrorCode::unavailable, true},
      {429, "", ErrorCode::unavailable, true},
      {400, "RequestTimeout", ErrorCode::unavailable, true},
      {200, "InternalError", ErrorCode::unavailable, true},
      {501, "NotImplemented", ErrorCode::internal, false},
      {404, "NoSuchKey", ErrorCode::not_found, false},
      {404, "", ErrorCode::not_found, false},
      {404, "NoSuchBucket", ErrorCode::unavailable, false},
      {403, "AccessDenied", ErrorCode::permission_denied, false},
      {403, "SignatureDoesNotMatch", ErrorCode::permission_denied, false},
      {400, "BadDigest", ErrorCode::data_loss, true},
      {400, "InvalidPart", ErrorCode::data_loss, false},
      {400, "InvalidArgument", ErrorCode::internal, false},
      {412, "PreconditionFailed", ErrorCode::conflict, false},
      {416, "InvalidRange", ErrorCode::data_loss, false},
      {507, "", ErrorCode::storage_full, false},
      {403, "QuotaExceeded", ErrorCode::storage_full, false},
      {400, "EntityTooLarge", ErrorCode::too_large, false},
      {301, "PermanentRedirect", ErrorCode::unavailable, false},
  };
  for (const FailureCase& c : cases) {
    const std::string body = std::string("<Error><Code>") + c.code + "</Code><Message>words</Message></Error>";
    const Failure failure = failure_of(c.status, body, "GET k");
    EXPECT_EQ(failure.error.code(), c.expected) << c.status << " " << c.code;
    EXPECT_EQ(failure.is_worth_trying_again, c.again) << c.status << " " << c.code;
    EXPECT_EQ(failure.code, c.code);
    EXPECT_NE(failure.error.message().find("GET k: the store answered " + std::to_string(c.status)), std::string::npos);
  }
}

TEST(S3Answers, PutNothingOfAStrangerIntoALogButWords) {
  const Failure none = failure_of(502, "<html>Bad Gateway", "GET k");
  EXPECT_EQ(none.error.message(), "GET k: the store answered 502");
  const Failure odd =
      failure_of(403, "<Error><Code>A\nB</Code><Message>" + std::string(10'000, 'x') + "</Message></Error>", "GET k");
  EXPECT_NE(odd.error.message().find(" A?B ("), std::string::npos);
  EXPECT_LT(odd.error.message().size(), 2 * kErrorWordsMax);
}

TEST(S3Answers, KnowAnErrorThatComesWithStatus200) {
  EXPECT_TRUE(is_error_body("  \n<?xml version='1.0'?><Error><Code>InternalError</Code></Error>"));
  EXPECT_FALSE(is_error_body("<CompleteMultipartUploadResult/>"));
  EXPECT_FALSE(is_error_body(""));
}

TEST(S3Answers, ReadBothKindsOfTimes) {
  EXPECT_EQ(unix_ms(*parse_http_date("Fri, 24 May 2013 00:00:00 GMT")), 1'369'353'600'000);
  EXPECT_EQ(unix_ms(*parse_http_date("Thu, 29 Feb 2024 23:59:59 GMT")), 1'709'251'199'000);
  EXPECT_EQ(unix_ms(*parse_iso_time("2013-05-24T00:00:00.123Z")), 1'369'353'600'123);
  EXPECT_EQ(unix_ms(*parse_iso_time("2013-05-24T00:00:00Z")), 1'369'353'600'000);
  for (const char* bad :
       {"", "Fri, 24 May 2013 00:00:00", "Fri, 30 Feb 2013 00:00:00 GMT", "Fri, 24 Mai 2013 00:00:00 GMT",
        "Fri, 24 May 2013 24:00:00 GMT", "Fri, 2x May 2013 00:00:00 GMT", "Fri, 24 May 1913 00:00:00 GMT"}) {
    EXPECT_FALSE(parse_http_date(bad).has_value()) << bad;
  }
  for (const char* bad : {"", "2013-05-24", "2013-13-24T00:00:00Z", "2013-05-24T00:00:00.Z", "2013-05-24T00:60:00Z",
                          "2013-05-24T00:00:00+00:00", "2013-05-24T00:00:00.12xZ"}) {
    EXPECT_FALSE(parse_iso_time(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace coterie::s3
