// A real server's round arrives at a collector as one trace.
#include "tests/integration/support/fixture.h"
#include "tests/support/otlp_collector.h"

namespace coterie::integration {
namespace {

using Tracing = ServerTest;

TEST_F(Tracing, ARoundArrivesAtTheCollectorWithItsPhases) {
  test::OtlpCollectorDouble collector;
  start(R"("tracing": {"otlp_url": ")" + collector.url("/v1/traces") + R"("})");
  const auto job = admin_->create_job(flat_model(16), spec_for(1, 1));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  const auto assignment = device->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  ASSERT_TRUE(std::holds_alternative<Receipt>(device->upload(*assignment, one_hot(16, 7))));
  const nlohmann::json resource = collector.next()["body"]["resourceSpans"][0];
  std::map<std::string, nlohmann::json> spans;
  for (const auto& span : resource["scopeSpans"][0]["spans"]) spans[span["name"]] = span;
  ASSERT_EQ(spans.size(), 4u) << resource;
  for (const char* const phase : {"selecting", "collecting", "finalizing"}) {
    ASSERT_TRUE(spans.contains(phase)) << resource;
    EXPECT_EQ(spans[phase]["parentSpanId"], spans["round"]["spanId"]);
  }
  const nlohmann::json said = {{"key", "coterie.job"}, {"value", {{"stringValue", *job}}}};
  EXPECT_EQ(spans["round"]["attributes"][0], said);
  EXPECT_EQ(spans["collecting"]["endTimeUnixNano"], spans["finalizing"]["startTimeUnixNano"]);
}

}  // namespace
}  // namespace coterie::integration
