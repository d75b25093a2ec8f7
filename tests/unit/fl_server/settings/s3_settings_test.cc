#include "fl_server/settings/s3_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using test::pointers_of;
using testing::ElementsAre;
using testing::IsEmpty;

S3Settings good() {
  S3Settings settings;
  settings.endpoint = "https://s3.eu-central-1.amazonaws.com";
  settings.bucket = "fl-blobs";
  return settings;
}

TEST(S3Settings, TakeEndpointsOfHttpsAlone) {
  for (const char* endpoint : {"https://localhost", "https://10.0.0.1:9000", "https://s3.example.org:65535"}) {
    S3Settings settings = good();
    settings.endpoint = endpoint;
    EXPECT_THAT(validate(settings), IsEmpty()) << endpoint;
  }
  for (const char* endpoint :
       {"", "https://", "http://s3.example.org", "https://s3.example.org/", "https://s3.example.org/x",
        "https://S3.example.org", "https://u@s3.example.org", "https://s3.example.org:0",
        "https://s3.example.org:70000", "https://s3.example.org:", "https://s3.example.org:443",
        "https://s3.example.org:9a", "https://.a", "https://a.", "https://a b", "https://a?b"}) {
    S3Settings settings = good();
    settings.endpoint = endpoint;
    EXPECT_THAT(pointers_of(validate(settings)), ElementsAre("/endpoint")) << endpoint;
  }
}

TEST(S3Settings, TakeBucketsAndPrefixesThatMeanNothingElse) {
  for (const char* bucket : {"", "ab", "Ab-c", "-abc", "abc-", "a/b", "a..b", "a.b"}) {
    S3Settings settings = good();
    settings.bucket = bucket;
    EXPECT_THAT(pointers_of(validate(settings)), ElementsAre("/bucket")) << bucket;
  }
  S3Settings dotted = good();
  dotted.bucket = "a.b";
  dotted.path_style = true;
  EXPECT_THAT(validate(dotted), IsEmpty());
  for (const char* prefix : {"", "a/", "a/b-_.9Z/"}) {
    S3Settings settings = good();
    settings.prefix = prefix;
    EXPECT_THAT(validate(settings), IsEmpty()) << prefix;
  }
  for (const char* prefix : {"a", "/", "/a/", "a//", "a b/", "../", "a/./", "a/../b/", "a?/"}) {
    S3Settings settings = good();
    settings.prefix = prefix;
    EXPECT_THAT(pointers_of(validate(settings)), ElementsAre("/prefix")) << prefix;
  }
  S3Settings settings = good();
  settings.prefix = std::string(kS3PrefixBytesMax, 'a') + "/";
  settings.region = "EU";
  EXPECT_THAT(pointers_of(validate(settings)), ElementsAre("/region", "/prefix"));
}

}  // namespace
}  // namespace coterie
