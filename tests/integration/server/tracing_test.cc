// A real server's round arrives at a collector as one trace.
#include <gmock/gmock.h>

#include "tests/integration/support/fixture.h"
#include "tests/support/otlp_collector.h"

namespace coterie::integration {
namespace {

using testing::IsEmpty;

class Tracing : public ServerTest {
 protected:
  // One round of one device.
  void run_round(const std::string& collector_url) {
    start(R"("tracing": {"otlp_url": ")" + collector_url + R"("})");
    const auto job = admin_->create_job(flat_model(16), spec_for(1, 1));
    ASSERT_TRUE(test::is_ok(job));
    job_ = *job;
    const auto device = enrolled_device();
    const auto assignment = device->wait_for_assignment(kPatience);
    ASSERT_TRUE(test::is_ok(assignment));
    ASSERT_TRUE(std::holds_alternative<Receipt>(device->upload(*assignment, one_hot(16, 7))));
  }
  std::string job_;
};

TEST_F(Tracing, ARoundArrivesAtTheCollectorWithItsPhases) {
  test::OtlpCollectorDouble collector;
  ASSERT_NO_FATAL_FAILURE(run_round(collector.url("/v1/traces")));
  const nlohmann::json resource = collector.next()["body"]["resourceSpans"][0];
  std::map<std::string, nlohmann::json> spans;
  for (const auto& span : resource["scopeSpans"][0]["spans"]) spans[span["name"]] = span;
  for (const char* const phase : {"selecting", "collecting", "finalizing"}) {
    ASSERT_TRUE(spans.contains(phase)) << resource;
    EXPECT_EQ(spans[phase]["parentSpanId"], spans["round"]["spanId"]);
  }
  const nlohmann::json said = {{"key", "coterie.job"}, {"value", {{"stringValue", job_}}}};
  EXPECT_EQ(spans["round"]["attributes"][0], said);
  EXPECT_EQ(spans["collecting"]["endTimeUnixNano"], spans["finalizing"]["startTimeUnixNano"]);
}

// By a receiver on Node, which holds each span against OTLP and the semantic conventions.
TEST_F(Tracing, CallsOfTheStoresArriveBelowTheirPhases) {
  if (!test::OtlpReceiverDouble::is_installed()) GTEST_SKIP() << "Node is not installed: apt-get install nodejs";
  test::OtlpReceiverDouble receiver;
  ASSERT_NO_FATAL_FAILURE(run_round(receiver.url()));
  std::map<std::string, nlohmann::json> spans;
  while (!spans.contains("commit round")) {  // it returns after the event that ends the attempt
    const nlohmann::json told = receiver.next();
    EXPECT_THAT(told["problems"], IsEmpty());
    for (const auto& span : told["spans"]) spans[span["name"]] = span;
  }
  for (const char* const call : {"open round", "move round", "accept batch", "list partial sums", "commit round"}) {
    ASSERT_TRUE(spans.contains(call)) << nlohmann::json(spans);
    EXPECT_EQ(spans[call]["kind"], "client");
    EXPECT_EQ(spans[call]["attributes"]["db.system.name"], "sqlite");
    EXPECT_EQ(spans[call]["traceId"], spans["round"]["traceId"]);
  }
  for (const char* const call : {"write partial sum", "read partial sum", "write blob"}) {
    ASSERT_TRUE(spans.contains(call)) << nlohmann::json(spans);
    EXPECT_EQ(spans[call]["kind"], "internal") << "blobs lie in a directory";
  }
  EXPECT_EQ(spans["accept batch"]["parentSpanId"], spans["collecting"]["spanId"]);
  EXPECT_EQ(spans["write blob"]["parentSpanId"], spans["finalizing"]["spanId"]);
}

}  // namespace
}  // namespace coterie::integration
