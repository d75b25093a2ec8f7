#include "fl_server/tracing/otlp_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace coterie {
namespace {

using nlohmann::json;

// Member by member the form of OTLP's own example (opentelemetry-proto, examples/trace.json).
TEST(OtlpJson, HasTheFormOfTheProtocol) {
  Span root{.trace = {0x5b, 0x8e},
            .id = {0xee, 0xe1},
            .name = "round",
            .begin = Micros(1'544'712'660'000'000),
            .end = Micros(1'544'712'661'001'000)};
  root.attributes = {{"coterie.job", "digits"}, {"coterie.round", int64_t{1} << 60}, {"coterie.evaluation_loss", 0.25}};
  root.error = "too few";
  Span phase{
      .trace = root.trace, .id = {1}, .parent = root.id, .name = "collecting", .begin = root.begin, .end = root.end};
  phase.moments = {{Micros(1'544'712'660'300'000), "updates accepted", {{"coterie.updates", int64_t{3}}}}};
  const std::vector<Span> spans = {root, phase};
  EXPECT_EQ(json::parse(otlp_json(spans, {.version = "1.2.3", .node = "node-0"})), json::parse(R"({"resourceSpans": [{
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "coterie"}},
                                {"key": "service.version", "value": {"stringValue": "1.2.3"}},
                                {"key": "service.instance.id", "value": {"stringValue": "node-0"}}]},
    "scopeSpans": [{"scope": {"name": "coterie.rounds", "version": "1.2.3"}, "spans": [
      {"traceId": "5b8e0000000000000000000000000000", "spanId": "eee1000000000000", "name": "round", "kind": 1,
       "startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": "1544712661001000000",
       "attributes": [{"key": "coterie.job", "value": {"stringValue": "digits"}},
                      {"key": "coterie.round", "value": {"intValue": "1152921504606846976"}},
                      {"key": "coterie.evaluation_loss", "value": {"doubleValue": 0.25}}],
       "status": {"code": 2, "message": "too few"}},
      {"traceId": "5b8e0000000000000000000000000000", "spanId": "0100000000000000", "parentSpanId": "eee1000000000000",
       "name": "collecting", "kind": 1, "startTimeUnixNano": "1544712660000000000",
       "endTimeUnixNano": "1544712661001000000", "attributes": [],
       "events": [{"timeUnixNano": "1544712660300000000", "name": "updates accepted",
                   "attributes": [{"key": "coterie.updates", "value": {"intValue": "3"}}]}]}]}]}]})"));
}

TEST(OtlpJson, AReasonThatIsNoUtf8IsSentAllTheSame) {
  Span span;
  span.error = "\xff\xfe device said";
  const std::vector<Span> spans = {span};
  EXPECT_NE(otlp_json(spans, {}).find("device said"), std::string::npos);
}

}  // namespace
}  // namespace coterie
