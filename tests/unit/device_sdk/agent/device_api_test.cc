// What a device understands of answers that are not what it asked for.
#include "device_sdk/agent/device_api.h"

#include <gtest/gtest.h>

#include "proto/codec/codec.h"
#include "tests/support/matchers.h"
#include "tests/unit/device_sdk/agent/scripted_server.h"

namespace coterie::test {
namespace {

class DeviceApiAnswers : public testing::Test {
 protected:
  DeviceApiAnswers() : server_(Bytes(100)) { device_ = std::get<EnrollReply>(api_.enroll("token", "test")).device; }
  Failure check_in_against(ScriptedServer::Fault fault) {
    server_.fail_next(Call::check_in, std::move(fault));
    const auto answer = api_.check_in(device_, {Population("default"), "test", 1'000});
    const auto* failure = std::get_if<Failure>(&answer);
    EXPECT_NE(failure, nullptr);
    return failure == nullptr ? Failure{Error(ErrorCode::internal, "no failure"), {}} : *failure;
  }

  ScriptedServer server_;
  std::unique_ptr<Signer> signer_ = std::move(*make_signer(KeyAlgorithm::p256, Bytes(32, 4)));
  DeviceApi api_{server_, *signer_};
  DeviceId device_;
};

TEST_F(DeviceApiAnswers, EveryTypedErrorOfTheServerIsThatErrorButNobodyElseCanCancel) {
  for (const ErrorTraits& row : all_error_traits()) {
    const Failure failure = check_in_against(ScriptedServer::typed(row.code));
    const ErrorCode expected = row.code == ErrorCode::cancelled ? ErrorCode::unavailable : row.code;
    EXPECT_EQ(failure.error.code(), expected) << row.name;
    EXPECT_EQ(failure.error.message(), "the server says: as told");
    EXPECT_FALSE(failure.window);
  }
}

TEST_F(DeviceApiAnswers, AWindowThatCameWithAnErrorIsKept) {
  const Bytes body = encode(ErrorReply{"overloaded", "busy", 2'000, 7'000});
  const Failure failure = check_in_against(ScriptedServer::answer(503, body));
  ASSERT_TRUE(failure.window);
  EXPECT_EQ(failure.window->min_ms, 2'000u);
  EXPECT_EQ(failure.window->max_ms, 7'000u);
}

TEST_F(DeviceApiAnswers, ACodeOfANewerServerIsAnInternalError) {
  const Bytes body = encode(ErrorReply{"too_sunny", "new", 0, 0});
  EXPECT_EQ(check_in_against(ScriptedServer::answer(400, body)).error.code(), ErrorCode::internal);
}

TEST_F(DeviceApiAnswers, APageOfAProxyIsUnderstoodByItsStatus) {
  const std::pair<int, ErrorCode> expectations[] = {
      {301, ErrorCode::invalid_argument},  {400, ErrorCode::invalid_argument}, {401, ErrorCode::unauthenticated},
      {403, ErrorCode::permission_denied}, {404, ErrorCode::not_found},        {408, ErrorCode::timed_out},
      {429, ErrorCode::rate_limited},      {500, ErrorCode::unavailable},      {502, ErrorCode::unavailable},
      {503, ErrorCode::unavailable},       {504, ErrorCode::timed_out},        {599, ErrorCode::unavailable}};
  for (const auto& [status, code] : expectations) {
    const Failure failure = check_in_against(ScriptedServer::answer(status, Bytes(50, '<')));
    EXPECT_EQ(failure.error.code(), code) << status;
    EXPECT_NE(failure.error.message().find(std::to_string(status)), std::string::npos);
  }
}

TEST_F(DeviceApiAnswers, RetryAfterInSecondsBecomesAWindowAndAnythingElseIsIgnored) {
  const auto with_header = [](std::string value) {
    return [value](const TransportRequest&, const BodySink&) {
      TransportResponse head;
      head.status = 503;
      head.headers.emplace_back("retry-after", value);
      return head;
    };
  };
  const Failure failure = check_in_against(with_header("30"));
  ASSERT_TRUE(failure.window);
  EXPECT_EQ(failure.window->min_ms, 30'000u);
  EXPECT_EQ(failure.window->max_ms, 46'000u);
  for (const char* value : {"", "soon", "-1", "86401", "99999999999"}) {
    EXPECT_FALSE(check_in_against(with_header(value)).window) << value;
  }
}

TEST_F(DeviceApiAnswers, AnAnswerThatIsNoFrameOfOursIsTriedAgain) {
  EXPECT_EQ(check_in_against(ScriptedServer::answer(200, Bytes(64, 7))).error.code(), ErrorCode::unavailable);
  EXPECT_EQ(check_in_against(ScriptedServer::answer(200)).error.code(), ErrorCode::unavailable);
  const Bytes receipt = encode(Receipt{{RoundId(1), Attempt(1)}, Bytes(32)});
  EXPECT_EQ(check_in_against(ScriptedServer::answer(200, receipt)).error.code(), ErrorCode::unavailable);
}

TEST_F(DeviceApiAnswers, AnAnswerOfNoEndIsCutOff) {
  EXPECT_EQ(check_in_against(ScriptedServer::answer(200, Bytes(256 * 1024 + 1))).error.code(), ErrorCode::too_large);
}

TEST_F(DeviceApiAnswers, APlanLargerThanAnnouncedIsRefused) {
  const uint32_t bytes = server_.assignment().plan_bytes;
  EXPECT_TRUE(std::holds_alternative<Bytes>(api_.fetch_plan(device_, server_.assignment().plan, bytes)));
  const auto outcome = api_.fetch_plan(device_, server_.assignment().plan, bytes - 1);
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
  EXPECT_EQ(std::get<Failure>(outcome).error.code(), ErrorCode::too_large);
}

}  // namespace
}  // namespace coterie::test
