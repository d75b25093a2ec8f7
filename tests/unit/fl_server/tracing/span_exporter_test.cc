// What goes to a real socket, and that nobody who adds an event waits for it.
#include "fl_server/tracing/span_exporter.h"

#include <gtest/gtest.h>

#include "base/os/clock.h"
#include "fl_server/settings/collector_url.h"
#include "fl_server/tracing/otlp_post.h"
#include "tests/support/matchers.h"
#include "tests/support/otlp_collector.h"

namespace coterie {
namespace {

class SpanExporterTest : public testing::Test {
 protected:
  Status post(const std::string& path, const std::string& token = {}, Millis total_max = Millis(10'000)) {
    return otlp_post({.url = collector_.url(path), .ca_file = {}, .token = token, .total_max = total_max}, R"({"a":1})",
                     never_);
  }
  void play(EventHub& hub, uint64_t id) {
    const event::RoundName round{.key = {RoundId(id), Attempt(1)}, .number = id};
    hub.add(JobId("digits"), event::RoundOpened{round});
    hub.add(JobId("digits"), event::RoundDone{.round = round});
  }

  const std::atomic<bool> never_{false};
  test::OtlpCollectorDouble collector_;
};

TEST_F(SpanExporterTest, PostsJsonWithItsToken) {
  ASSERT_OK(post("/v1/traces", "secret"));
  const nlohmann::json seen = collector_.next();
  EXPECT_EQ(seen["type"], "application/json");
  EXPECT_EQ(seen["authorization"], "Bearer secret");
  EXPECT_EQ(seen["body"], nlohmann::json({{"a", 1}}));
  ASSERT_OK(post("/v1/traces"));
  EXPECT_EQ(collector_.next()["authorization"], nullptr);
}

TEST_F(SpanExporterTest, TellsWhatMayPassFromWhatWillNot) {
  EXPECT_ERROR(post("/busy"), ErrorCode::unavailable, "answered 503");
  EXPECT_ERROR(post("/refusing"), ErrorCode::invalid_argument, "answered 400");
  EXPECT_ERROR(post("/moved"), ErrorCode::invalid_argument, "answered 302");
  EXPECT_ERROR(post("/silent", "", Millis(100)), ErrorCode::unavailable, "");
  EXPECT_ERROR(otlp_post({.url = "http://127.0.0.1:1/v1/traces", .ca_file = {}, .token = {}}, "{}", never_),
               ErrorCode::unavailable, "127.0.0.1:1");
}

TEST_F(SpanExporterTest, SendsTheTraceOfEachAttemptThatEnds) {
  Metrics metrics("test");
  EventHub hub("0123456789abcdef");
  SpanExporter exporter(
      "life", {.version = "1", .node = "node-0"}, {},
      [&](const std::string& body, const std::atomic<bool>& cancelled) {
        return otlp_post({.url = collector_.url("/v1/traces"), .ca_file = {}, .token = {}}, body, cancelled);
      },
      metrics);
  hub.subscribe(exporter);
  play(hub, 1);
  const nlohmann::json spans = collector_.next()["body"]["resourceSpans"][0]["scopeSpans"][0]["spans"];
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["name"], "round");
  EXPECT_EQ(spans[1]["parentSpanId"], spans[0]["spanId"]);
}

// Its destructor comes back though the collector never answers.
TEST_F(SpanExporterTest, NobodyWaitsForACollectorThatIsSilent) {
  Metrics metrics("test");
  EventHub hub("0123456789abcdef");
  SpanExporter exporter(
      "life", {}, {},
      [&](const std::string& body, const std::atomic<bool>& cancelled) {
        return otlp_post({.url = collector_.url("/silent"), .ca_file = {}, .token = {}, .total_max = Millis(3'600'000)},
                         body, cancelled);
      },
      metrics);
  hub.subscribe(exporter);
  play(hub, 1);
  collector_.next();  // it is under way
  for (uint64_t id = 2; id <= 3'000; ++id) play(hub, id);
  EXPECT_NE(metrics.exposition().find("coterie_trace_spans_total{outcome=\"dropped\"}"), std::string::npos);
}

TEST(CollectorUrl, InTheClearIsForThisMachine) {
  for (const char* const url : {"https://collector.example/v1/traces", "http://127.0.0.1:4318/v1/traces",
                                "http://localhost:4318/v1/traces", "http://[::1]:4318/v1/traces"}) {
    EXPECT_TRUE(is_collector_url(url)) << url;
  }
  for (const char* const url :
       {"", "https://", "http://collector.example/", "http://localhost.example/v1/traces",
        "http://127.0.0.1@elsewhere.example/", "http://127.0.0.1:80@elsewhere.example/", "ftp://127.0.0.1/"}) {
    EXPECT_FALSE(is_collector_url(url)) << url;
  }
}

}  // namespace
}  // namespace coterie
