// A request can be followed from its answer into the log.
#include <gmock/gmock.h>

#include <mutex>
#include <regex>

#include "base/log.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;

constexpr const char* kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";

std::mutex g_mutex;
std::vector<json> g_lines;  // as JSON documents

void keep_line(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  const std::lock_guard lock(g_mutex);
  g_lines.push_back(json::parse(to_json_line(level, event, fields)));
}

class AdminTrace : public test::AdminServerTest {
 protected:
  void SetUp() override {
    AdminServerTest::SetUp();
    set_log_sink(&keep_line);
  }
  void TearDown() override {
    server_.reset();
    set_log_sink(nullptr);
    g_lines.clear();
  }
  // "event level" of the lines of this trace.
  std::vector<std::string> lines_of(const std::string& trace) {
    const std::lock_guard lock(g_mutex);
    std::vector<std::string> found;
    for (const json& line : g_lines) {
      if (line.value("trace_id", "") == trace)
        found.push_back(line["event"].get<std::string>() + " " + line["level"].get<std::string>());
    }
    return found;
  }
  static std::string trace_of(const Answer& answer) {
    const std::string text(answer.head.header("traceparent"));
    std::smatch match;
    EXPECT_TRUE(std::regex_match(text, match, std::regex("00-([0-9a-f]{32})-[0-9a-f]{16}-0[01]"))) << text;
    return match[1];
  }
};

TEST_F(AdminTrace, OfTheCallerIsInTheAnswerTheProblemAndTheLog) {
  headers_ = {{"traceparent", std::string("00-") + kTrace + "-00f067aa0ba902b7-01"}};
  const json made = ask("POST", "/admin/v1/tokens", R"({"label": "v", "roles": ["viewer"]})").document();
  EXPECT_EQ(lines_of(kTrace), (std::vector<std::string>{"admin_token_created info", "request_answered debug"}));
  const Answer missing = ask("GET", "/admin/v1/jobs/none");
  EXPECT_EQ(trace_of(missing), kTrace);
  EXPECT_EQ(missing.document()["trace_id"], kTrace);
  EXPECT_EQ(ask_as("Bearer x", "GET", "/admin/v1/jobs").document()["trace_id"], kTrace) << "who may not ask, too";
}

TEST_F(AdminTrace, IsMadeWhereTheCallerHasNoGoodOne) {
  const std::string first = trace_of(ask("GET", "/healthz"));
  EXPECT_NE(trace_of(ask("GET", "/healthz")), first);
  headers_ = {{"traceparent", std::string("00-") + kTrace + "-0000000000000000-01"}};
  const Answer missing = ask("GET", "/admin/v1/jobs/none");
  EXPECT_NE(trace_of(missing), kTrace);
  EXPECT_EQ(missing.document()["trace_id"], trace_of(missing));
  EXPECT_EQ(lines_of(trace_of(missing)), std::vector<std::string>{"request_answered debug"});
  EXPECT_EQ(lines_of(kTrace), std::vector<std::string>{});
}

TEST_F(AdminTrace, IsOnTheDevicePlaneToo) {
  auto device = HttpsClient::make({.url = server_->device_url(), .ca_pem = read(server_->ca_file())});
  ASSERT_OK(device);
  client_ = std::move(*device);
  headers_ = {{"traceparent", std::string("00-") + kTrace + "-00f067aa0ba902b7-01"}};
  EXPECT_EQ(trace_of(ask("GET", "/v1/plans/00")), kTrace);
  EXPECT_EQ(lines_of(kTrace), std::vector<std::string>{"request_answered debug"});
}

}  // namespace
}  // namespace coterie
