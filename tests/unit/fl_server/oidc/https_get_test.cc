#include "fl_server/oidc/https_get.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/unit/fl_server/oidc/jwks_server.h"

namespace coterie {
namespace {

const std::string kBody = "{\"keys\":[]}";

class HttpsGet : public testing::Test {
 protected:
  HttpsQuestion question(const std::string& path) const {
    return {.url = server_.url(path), .ca_file = server_.ca_file(), .body_bytes_max = 1000};
  }
  Result<HttpsAnswer> get(const HttpsQuestion& question) const { return https_get(question, never_); }

  test::JwksServer server_{kBody};
  const std::atomic<bool> never_ = false;
};

TEST_F(HttpsGet, GivesTheBodyAndHowLongItIsGood) {
  const Result<HttpsAnswer> answer = get(question("/keys"));
  ASSERT_OK(answer);
  EXPECT_EQ(answer->body, kBody);
  EXPECT_EQ(answer->cache_control, " public, max-age=120");
}

TEST_F(HttpsGet, TakesABodyOfTheLimitAndNotOneByteMore) {
  HttpsQuestion exact = question("/keys");
  exact.body_bytes_max = kBody.size();
  EXPECT_OK(get(exact));
  exact.body_bytes_max -= 1;
  EXPECT_ERROR(get(exact), ErrorCode::too_large, "more than 10 bytes");
  EXPECT_ERROR(get(question("/endless")), ErrorCode::too_large, "more than 1000 bytes");
}

TEST_F(HttpsGet, TrustsTheAuthorityThatIsSetAndNoOther) {
  HttpsQuestion other = question("/keys");
  other.ca_file = server_.other_ca_file();
  EXPECT_ERROR(get(other), ErrorCode::unavailable, "certificate");
  other.ca_file.clear();  // whom the system trusts
  EXPECT_ERROR(get(other), ErrorCode::unavailable, "certificate");
  other.ca_file = server_.ca_file() + ".missing";
  EXPECT_ERROR(get(other), ErrorCode::unavailable, "certificate");
}

TEST(HttpsGetOfAnotherHost, IsRefusedThoughItsAuthorityIsTrusted) {
  const test::JwksServer server(kBody, {"elsewhere.example"});
  const std::atomic<bool> never = false;
  EXPECT_ERROR(https_get({.url = server.url("/keys"), .ca_file = server.ca_file(), .body_bytes_max = 1000}, never),
               ErrorCode::unavailable, "certificate");
}

TEST_F(HttpsGet, SpeaksNothingButHttps) {
  HttpsQuestion plain = question("/keys");
  for (const std::string& url : {"http://localhost:" + server_.port() + "/keys", "file://" + server_.ca_file(),
                                 std::string("ftp://localhost/keys"), std::string("localhost/keys"), std::string()}) {
    plain.url = url;
    EXPECT_ERROR(get(plain), ErrorCode::unavailable, "") << url;
  }
}

TEST_F(HttpsGet, FollowsNoRedirect) {
  EXPECT_ERROR(get(question("/redirect")), ErrorCode::unavailable, "answered 302");
}

TEST_F(HttpsGet, TakesNoAnswerButAGoodOne) {
  EXPECT_ERROR(get(question("/missing")), ErrorCode::unavailable, "answered 404");
  EXPECT_ERROR(get(question("/cut")), ErrorCode::unavailable, "");
}

TEST_F(HttpsGet, WaitsNoLongerThanItIsTold) {
  HttpsQuestion patient = question("/silent");
  patient.total_max = Millis(300);
  EXPECT_ERROR(get(patient), ErrorCode::timed_out, "");
}

TEST_F(HttpsGet, StopsWhenItIsCancelled) {
  const std::atomic<bool> cancelled = true;
  EXPECT_ERROR(https_get(question("/silent"), cancelled), ErrorCode::cancelled, "stopped");
}

}  // namespace
}  // namespace coterie
