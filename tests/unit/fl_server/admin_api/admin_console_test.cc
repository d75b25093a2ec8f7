// The console over a real connection: its files, and what a session may.
#include <gmock/gmock.h>

#include "fl_server/console/console_assets.h"
#include "fl_server/console/session_cookie.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie::test {
namespace {

using testing::HasSubstr;

class AdminConsoleTest : public AdminServerTest {
 protected:
  // Signs in with the token; the session's description. Its cookie goes with what is asked without a token from now on.
  json sign_in(const std::string& token) {
    headers_.clear();
    const Answer answer = ask_as("Bearer " + token, "POST", "/admin/v1/session");
    EXPECT_EQ(answer.status, 201) << answer.body;
    const std::string cookie(answer.head.header("set-cookie"));
    EXPECT_THAT(cookie, HasSubstr("; Path=/; Secure; HttpOnly; SameSite=Strict"));
    headers_ = {{"Cookie", cookie.substr(0, cookie.find(';'))}};
    return answer.document();
  }
  void show_csrf(const json& session) { headers_.emplace_back("Coterie-Csrf", session.value("csrf_token", "")); }
  json new_token(const json& roles) {
    headers_.clear();
    return ask("POST", "/admin/v1/tokens", json{{"label", "console"}, {"roles", roles}}.dump()).document();
  }
};

TEST_F(AdminConsoleTest, GivesItsPageToAnybodyWithAStrictPolicy) {
  const Answer page = ask_as("", "GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("<title>Coterie</title>"));
  EXPECT_EQ(page.head.header("content-security-policy"), kConsolePolicy);
  EXPECT_EQ(page.head.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(page.head.header("referrer-policy"), "no-referrer");
  headers_ = {{"If-None-Match", std::string(page.head.header("etag"))}};
  EXPECT_EQ(ask_as("", "GET", "/").status, 304);
}

TEST_F(AdminConsoleTest, DescribesItsApiToAnybody) {
  const Answer described = ask_as("", "GET", "/openapi.json");
  EXPECT_EQ(described.status, 200);
  EXPECT_TRUE(described.document()["paths"]["/openapi.json"].contains("get"));
  headers_ = {{"If-None-Match", std::string(described.head.header("etag"))}};
  EXPECT_EQ(ask_as("", "GET", "/openapi.json").status, 304);
}

TEST_F(AdminConsoleTest, StandsForTheTokenThatItWasOpenedWith) {
  const json session = sign_in(token_);
  EXPECT_EQ(session["who"], "admin-token");
  EXPECT_EQ(ask_as("", "GET", "/admin/v1/jobs").status, 200);
  const json again = ask_as("", "GET", "/admin/v1/session").document();
  EXPECT_EQ(again["csrf_token"], session["csrf_token"]);
  headers_ = {{"Cookie", std::string(kSessionCookie) + "=" + std::string(64, '0')}};
  EXPECT_EQ(ask_as("", "GET", "/admin/v1/jobs").status, 401);
}

TEST_F(AdminConsoleTest, ChangesNothingWithoutItsCsrfToken) {
  const std::string job = create_job({{"name", "one"}});
  const json other = sign_in(token_);
  const json session = sign_in(token_);
  const std::string pause = "/admin/v1/jobs/" + job + ":pause";
  EXPECT_EQ(ask_as("", "POST", pause).status, 403);
  show_csrf(other);
  EXPECT_EQ(ask_as("", "POST", pause).status, 403);
  headers_.pop_back();
  EXPECT_EQ(ask_as("", "GET", "/admin/v1/jobs/" + job).document()["state"], "running");
  show_csrf(session);
  EXPECT_EQ(ask_as("", "POST", pause).status, 200);
  headers_.clear();
  EXPECT_EQ(ask("POST", "/admin/v1/jobs/" + job + ":resume").status, 200);  // a token needs none
}

TEST_F(AdminConsoleTest, HasTheRolesOfItsTokenAndNoOther) {
  const json token = new_token({"viewer"});
  show_csrf(sign_in(token["token"]));
  EXPECT_EQ(ask_as("", "GET", "/admin/v1/jobs").status, 200);
  EXPECT_EQ(ask_as("", "GET", "/admin/v1/audit").status, 403);
  EXPECT_EQ(ask_as("", "POST", "/admin/v1/enrollment-tokens", "{}").status, 403);
}

TEST_F(AdminConsoleTest, EndsWithItsTokenAndWithSigningOut) {
  const json token = new_token({"viewer"});
  sign_in(token["token"]);
  const auto cookie = headers_;
  EXPECT_EQ(ask_as("", "GET", "/admin/v1/session").document()["who"], token["id"]);
  headers_.clear();
  EXPECT_EQ(ask("DELETE", "/admin/v1/tokens/" + token.value("id", "")).status, 204);
  headers_ = cookie;
  EXPECT_EQ(ask_as("", "GET", "/admin/v1/session").status, 401);

  show_csrf(sign_in(token_));
  const Answer out = ask_as("", "DELETE", "/admin/v1/session");
  EXPECT_EQ(out.status, 204);
  EXPECT_EQ(out.head.header("set-cookie"), ended_session_cookie());
  EXPECT_EQ(ask_as("", "GET", "/admin/v1/session").status, 401);
}

TEST_F(AdminConsoleTest, DoesNotProlongItself) {
  show_csrf(sign_in(token_));
  EXPECT_EQ(ask_as("", "POST", "/admin/v1/session").status, 403);
}

TEST_F(AdminConsoleTest, IsInTheAuditLogByTheTokensName) {
  const json token = new_token({"viewer"});
  sign_in(token["token"]);
  headers_.clear();
  const json records = ask("GET", "/admin/v1/audit?action=console.sign_in").document()["records"];
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.back()["who"], token["id"]);
  EXPECT_EQ(records.back()["outcome"], 201);
}

}  // namespace
}  // namespace coterie::test
