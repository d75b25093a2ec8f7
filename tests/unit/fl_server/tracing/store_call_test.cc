#include "fl_server/tracing/store_call.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using testing::UnorderedElementsAre;

Span span_with(const char* call, const TracedStores& stores) { return span_of({call, Micros(7), Micros(3)}, stores); }

TEST(StoreCallSpan, OfADatabaseIsADatabaseClientSpan) {
  const Span span = span_with("accept batch", {.database = "postgresql"});
  EXPECT_EQ(span.name, "accept batch");
  EXPECT_EQ(span.kind, SpanKind::client);
  EXPECT_EQ(span.begin, Micros(7));
  EXPECT_EQ(span.end, Micros(10));
  EXPECT_THAT(span.attributes,
              UnorderedElementsAre(Attribute("db.system.name", "postgresql"), Attribute("db.system", "postgresql"),
                                   Attribute("db.operation.name", "accept batch")));
  EXPECT_EQ(span_with("commit round", {}).attributes[0], Attribute("db.system.name", "sqlite"));
}

TEST(StoreCallSpan, OfABlobInS3NamesItsBucketAndNoKey) {
  const Span span = span_with("write partial sum", {.bucket = "models"});
  EXPECT_EQ(span.kind, SpanKind::client);
  EXPECT_THAT(span.attributes,
              UnorderedElementsAre(Attribute("rpc.system", "aws-api"), Attribute("rpc.service", "S3"),
                                   Attribute("rpc.method", "PutObject"), Attribute("aws.s3.bucket", "models")));
  EXPECT_EQ(span_with("read blob", {.bucket = "models"}).attributes[2], Attribute("rpc.method", "GetObject"));
}

TEST(StoreCallSpan, OfABlobInADirectoryIsOfThisProcessAlone) {
  EXPECT_EQ(span_with("read partial sum", {}).kind, SpanKind::internal);
}

}  // namespace
}  // namespace coterie
