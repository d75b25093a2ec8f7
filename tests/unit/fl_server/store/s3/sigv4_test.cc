#include "fl_server/store/s3/sigv4.h"

#include <gtest/gtest.h>

#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"

namespace coterie::s3 {
namespace {

const std::string kEmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

Credentials credentials(std::string_view id, std::string_view secret) {
  return std::move(*Credentials::make(id, secret));
}

// ---- The examples of the Amazon S3 API reference, "Signature Calculations for the Authorization Header:
// Transferring Payload in a Single Chunk" and "Authenticating Requests: Using Query Parameters".

class S3Examples : public testing::Test {
 protected:
  static SignedRequest request(const std::string& method, const std::string& path, Fields query, Fields headers,
                               std::string_view body = {}) {
    const std::string hash = sha256(as_bytes(body)).hex();
    headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
    headers.emplace_back("x-amz-content-sha256", hash);
    headers.emplace_back("x-amz-date", "20130524T000000Z");
    return {method, path, std::move(query), std::move(headers), hash};
  }

  const Credentials credentials_ = credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
  const Scope scope_{.time = wall_time_from_unix_ms(1'369'353'600'000), .region = "us-east-1"};
};

TEST_F(S3Examples, GetObjectWithARange) {
  const SignedRequest get = request("GET", "/test.txt", {}, {{"range", "bytes=0-9"}});
  EXPECT_EQ(
      canonical_request(get),
      "GET\n/test.txt\n\nhost:examplebucket.s3.amazonaws.com\nrange:bytes=0-9\nx-amz-content-sha256:" + kEmptyHash +
          "\nx-amz-date:20130524T000000Z\n\nhost;range;x-amz-content-sha256;x-amz-date\n" + kEmptyHash);
  EXPECT_EQ(string_to_sign(get, scope_),
            "AWS4-HMAC-SHA256\n20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n"
            "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
  EXPECT_EQ(authorization(get, scope_, credentials_),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(S3Examples, PutObject) {
  const SignedRequest put =
      request("PUT", "/test$file.text", {},
              {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
              "Welcome to Amazon S3.");
  EXPECT_EQ(encoded_path(put.path), "/test%24file.text");
  EXPECT_EQ(signature(put, scope_, credentials_), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_F(S3Examples, GetBucketLifecycle) {
  EXPECT_EQ(signature(request("GET", "/", {{"lifecycle", ""}}, {}), scope_, credentials_),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST_F(S3Examples, ListObjects) {
  EXPECT_EQ(signature(request("GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}), scope_, credentials_),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_F(S3Examples, PresignedGet) {
  const SignedRequest get{"GET", "/test.txt", {}, {{"host", "examplebucket.s3.amazonaws.com"}}, {}};
  EXPECT_EQ(encoded_query(presigned_query(get, scope_, credentials_, 86'400)),
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%"
            "2Fs3%2Faws4_request"
            "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
            "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404&X-Amz-"
            "SignedHeaders=host");
}

// ---- The aws-sig-v4-test-suite, by the names of its cases: those that S3 has too (no normalized paths).

struct SuiteCase {
  const char* name;
  std::string method;
  std::string path;
  Fields query;
  Fields headers;
  std::string_view body;
  const char* signature;
};

TEST(Sigv4TestSuite, IsSignedAsPublished) {
  const std::string unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const SuiteCase cases[] = {
      {"get-vanilla", "GET", "/", {}, {}, "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-vanilla-empty-query-key",
       "GET",
       "/",
       {{"Param1", "value1"}},
       {},
       "",
       "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
      {"get-vanilla-query-order-key-case",
       "GET",
       "/",
       {{"Param2", "value2"}, {"Param1", "value1"}},
       {},
       "",
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-unreserved",
       "GET",
       "/" + unreserved,
       {},
       {},
       "",
       "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
      {"get-utf8",
       "GET",
       "/\xe1\x88\xb4",
       {},
       {},
       "",
       "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
      {"get-header-value-trim",
       "GET",
       "/",
       {},
       {{"my-header1", " value1"}, {"my-header2", " \"a   b   c\""}},
       "",
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
      {"get-header-key-duplicate",
       "GET",
       "/",
       {},
       {{"my-header1", "value2,value2,value1"}},
       "",
       "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
      {"post-vanilla", "POST", "/", {}, {}, "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"post-x-www-form-urlencoded",
       "POST",
       "/",
       {},
       {{"content-type", "application/x-www-form-urlencoded"}},
       "Param1=value1",
       "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
  };
  const Credentials suite = credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
  const Scope scope{.time = wall_time_from_unix_ms(1'440'938'160'000), .region = "us-east-1", .service = "service"};
  for (const SuiteCase& c : cases) {
    SignedRequest request{c.method, c.path, c.query, c.headers, sha256(as_bytes(c.body)).hex()};
    request.headers.emplace_back("host", "example.amazonaws.com");
    request.headers.emplace_back("x-amz-date", "20150830T123600Z");
    EXPECT_EQ(signature(request, scope, suite), c.signature) << c.name;
  }
}

// ---- The pieces.

TEST(EncodedQuery, IsSortedAndKeepsWhatIsUnreserved) {
  EXPECT_EQ(encoded_path("/a b/c+d"), "/a%20b/c%2Bd");
  EXPECT_EQ(encoded_query({{"b", "2"}, {"a b", "/"}, {"b", "1"}, {"uploads", ""}}), "a%20b=%2F&b=1&b=2&uploads=");
  EXPECT_EQ(encoded_query({}), "");
}

TEST(AmzTime, IsUtcInTheBasicFormat) {
  EXPECT_EQ(amz_time(wall_time_from_unix_ms(0)), "19700101T000000Z");
  EXPECT_EQ(amz_time(wall_time_from_unix_ms(1'709'251'199'999)), "20240229T235959Z");
  EXPECT_EQ(amz_time(wall_time_from_unix_ms(4'102'444'800'000)), "21000101T000000Z");
}

TEST(Credentials, AreOfCharactersThatAHeaderCanHave) {
  EXPECT_OK(Credentials::make("A", std::string(kSecretKeyBytesMax, 's')));
  for (const char* bad : {"", " A", "A\n", "A/B", "A,B", "\xc3\xa9"}) {
    EXPECT_ERROR(Credentials::make(bad, "secret"), ErrorCode::invalid_argument, "access key id") << bad;
  }
  for (const std::string& bad : {std::string(), std::string("a b"), std::string(kSecretKeyBytesMax + 1, 's')}) {
    EXPECT_ERROR(Credentials::make("A", bad), ErrorCode::invalid_argument, "secret key");
  }
  EXPECT_ERROR(Credentials::make(std::string(kAccessKeyIdBytesMax + 1, 'a'), "secret"), ErrorCode::invalid_argument,
               "");
}

}  // namespace
}  // namespace coterie::s3
