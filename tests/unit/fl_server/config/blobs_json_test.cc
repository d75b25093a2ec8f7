#include "fl_server/config/blobs_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fl_server/config/server_config.h"
#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using test::pointers_of;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Problems problems_of(std::string_view text) {
  Problems problems;
  server_config_from_json(text, problems);
  return problems;
}

TEST(BlobsJson, IsADirectoryUnlessSomebodySaysS3) {
  for (const char* text : {"{}", R"({"blobs": {}})", R"({"blobs": {"kind": "directory"}, "blobs_dir": "b"})"}) {
    Problems problems;
    EXPECT_FALSE(server_config_from_json(text, problems).blobs.s3.has_value()) << text;
    EXPECT_THAT(problems, IsEmpty()) << text;
  }
}

TEST(BlobsJson, TakesEveryKeyItDocuments) {
  Problems problems;
  const ServerConfig config = server_config_from_json(R"({"blobs": {
    "kind": "s3", "endpoint": "https://s3.example.org:9000", "region": "eu-central-1", "bucket": "fl-blobs",
    "prefix": "prod/",
    "ca_file": "ca.pem", "path_style": true, "access_key_id_file": "id", "secret_key_file": "secret"}})",
                                                      problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_TRUE(config.blobs.s3.has_value());
  EXPECT_EQ(config.blobs.s3->endpoint, "https://s3.example.org:9000");
  EXPECT_EQ(config.blobs.s3->region, "eu-central-1");
  EXPECT_EQ(config.blobs.s3->bucket, "fl-blobs");
  EXPECT_EQ(config.blobs.s3->prefix, "prod/");
  EXPECT_EQ(config.blobs.s3->ca_file, "ca.pem");
  EXPECT_TRUE(config.blobs.s3->path_style);
  EXPECT_EQ(config.blobs.access_key_id_file, "id");
  EXPECT_EQ(config.blobs.secret_key_file, "secret");
}

TEST(BlobsJson, ReportsEveryProblemWhereItIs) {
  EXPECT_THAT(pointers_of(problems_of(
                  R"({"blobs_dir": "b", "blobs": {"kind": "s3", "endpoint": "http://x", "secret_key": "!"}})")),
              UnorderedElementsAre("/blobs/endpoint", "/blobs/bucket", "/blobs/access_key_id_file",
                                   "/blobs/secret_key_file", "/blobs/secret_key", "/blobs_dir"));
  EXPECT_THAT(pointers_of(problems_of(R"({"blobs": {"kind": "gcs"}})")), ElementsAre("/blobs/kind"));
  EXPECT_THAT(pointers_of(problems_of(R"({"blobs": {"bucket": "fl-blobs", "secret_key_file": "s"}})")),
              UnorderedElementsAre("/blobs/bucket", "/blobs/secret_key_file"))
      << "what is not used is a mistake";
}

TEST(BlobsJson, LetsServersThatShareADatabaseShareABucket) {
  EXPECT_THAT(problems_of(R"({"node": "a", "keys_dir": "k", "store": {"engine": "postgres", "conninfo_file": "pg"},
                              "blobs": {"kind": "s3", "endpoint": "https://s3.example.org", "bucket": "fl-blobs",
                                        "access_key_id_file": "id", "secret_key_file": "secret"}})"),
              IsEmpty());
}

}  // namespace
}  // namespace coterie
