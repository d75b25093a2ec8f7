#include "fl_server/net/trace_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "fl_server/admin_api/problem.h"

namespace coterie {
namespace {

// The example of the specification, section 3.2.3.
const std::string kExample = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

RequestHead head_with(std::vector<std::string> traceparents) {
  RequestHead head;
  for (std::string& text : traceparents) head.headers.emplace_back("traceparent", std::move(text));
  return head;
}

TEST(Traceparent, IsReadAsTheSpecificationSays) {
  const auto context = parse_traceparent(kExample);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(to_hex(context->span), "00f067aa0ba902b7");
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(context->header(), kExample);
}

TEST(Traceparent, HasOneFlagThatCounts) {
  const std::string unflagged = kExample.substr(0, 53);
  EXPECT_FALSE(parse_traceparent(unflagged + "00")->sampled);
  EXPECT_FALSE(parse_traceparent(unflagged + "02")->sampled);
  EXPECT_TRUE(parse_traceparent(unflagged + "ff")->sampled);
  EXPECT_EQ(parse_traceparent(unflagged + "ff")->header(), kExample) << "what we do not know we do not send on";
}

TEST(Traceparent, OfALaterVersionHasTheSameFieldsInFront) {
  const std::string later = "01" + kExample.substr(2);
  EXPECT_EQ(parse_traceparent(later)->header(), kExample);
  EXPECT_EQ(parse_traceparent(later + "-more")->header(), kExample);
  EXPECT_FALSE(parse_traceparent(later + "more"));
  EXPECT_FALSE(parse_traceparent("ff" + kExample.substr(2)));
  EXPECT_FALSE(parse_traceparent(kExample + "-more")) << "version 00 ends there";
}

TEST(Traceparent, ThatIsDamagedIsNone) {
  for (size_t size = 0; size < kExample.size(); ++size) {
    EXPECT_FALSE(parse_traceparent(kExample.substr(0, size))) << size;
  }
  for (size_t at = 0; at < kExample.size(); ++at) {
    for (const char wrong : {'G', 'A', ' ', '\0', '\x7f', '\xff', '_'}) {
      std::string text = kExample;
      text[at] = wrong;
      EXPECT_FALSE(parse_traceparent(text)) << text;
    }
    std::string moved = kExample;
    moved[at] = moved[at] == '-' ? '0' : '-';
    EXPECT_FALSE(parse_traceparent(moved)) << moved;
  }
  EXPECT_FALSE(parse_traceparent("00-" + std::string(32, '0') + "-00f067aa0ba902b7-01"));
  EXPECT_FALSE(parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-" + std::string(16, '0') + "-01"));
  EXPECT_FALSE(parse_traceparent(" " + kExample));
  EXPECT_FALSE(parse_traceparent(kExample + " "));
}

TEST(Trace, IsTheCallersWithASpanOfOurs) {
  const RequestHead head = head_with({kExample});
  const TraceContext trace = make_trace(&head);
  EXPECT_EQ(trace.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_TRUE(trace.sampled);
  EXPECT_NE(to_hex(trace.span), "00f067aa0ba902b7");
  EXPECT_TRUE(parse_traceparent(trace.header()));
}

TEST(Trace, IsFreshWhereThereIsNoneOrTwoOrABadOne) {
  std::set<std::string> seen = {"4bf92f3577b34da6a3ce929d0e0e4736"};
  for (const auto& texts : std::vector<std::vector<std::string>>{{}, {"x"}, {kExample, kExample}, {""}}) {
    const RequestHead head = head_with(texts);
    const TraceContext trace = make_trace(&head);
    EXPECT_TRUE(parse_traceparent(trace.header()));
    EXPECT_FALSE(trace.sampled);
    EXPECT_TRUE(seen.insert(trace.trace_id()).second);
  }
  EXPECT_TRUE(seen.insert(make_trace(nullptr).trace_id()).second);
}

TEST(Trace, IsInTheHeaderOfAnAnswerAndInsideAProblem) {
  const TraceContext trace = *parse_traceparent(kExample);
  HttpResponse problem = problem_response(Error(ErrorCode::conflict, "a } in \"it\""), {{"/a", "}"}});
  nlohmann::json expected = nlohmann::json::parse(as_text(problem.body));
  add_trace(problem, trace);
  expected["trace_id"] = trace.trace_id();
  EXPECT_EQ(nlohmann::json::parse(as_text(problem.body)), expected);
  EXPECT_EQ(problem.body.back(), '\n');
  EXPECT_THAT(problem.headers, testing::ElementsAre(testing::Pair("traceparent", kExample)));

  HttpResponse other = json_response({{"a", 1}});
  const Bytes body = other.body;
  add_trace(other, trace);
  EXPECT_EQ(other.body, body);
  EXPECT_THAT(other.headers, testing::ElementsAre(testing::Pair("traceparent", kExample)));
}

}  // namespace
}  // namespace coterie
