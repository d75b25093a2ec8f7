#include "fl_server/oidc/code_flow.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"
#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const CodeFlowSettings kSettings{.name = "Example SSO",
                                 .authorization_url = "https://sso.example/authorize",
                                 .token_url = "https://sso.example/token",
                                 .client_id = "a client&co",
                                 .client_secret_file = {},
                                 .redirect_url = "https://fl.example:8444/console/callback",
                                 .scope = "openid roles"};

class CodeFlow : public testing::Test {
 protected:
  CodeFlow() {
    key_.mutable_bytes()[0] = 1;
    other_key_.mutable_bytes()[0] = 2;
  }
  std::string check(std::string_view cookie, std::string_view state, WallTime now) const {
    const Status checked = check_sign_in(key_, cookie, state, now);
    return checked ? "accepted" : std::string(checked.error().reason());
  }

  MacKey key_, other_key_;
  const WallTime now_ = test::kTestNow;
  const std::string cookie_ = new_sign_in(now_, Bytes(32, 7));
};

TEST_F(CodeFlow, IsKnownAgainByCookieAndStateTogether) {
  const std::string state = secrets_of(key_, cookie_).state;
  EXPECT_EQ(cookie_.size(), kSignInCookieHexChars);
  EXPECT_EQ(check(cookie_, state, now_), "accepted");
  EXPECT_EQ(check(cookie_, state, now_ + kSignInMax - Millis(1)), "accepted");
  EXPECT_EQ(check(cookie_, state, now_ + kSignInMax), sign_in_fault::kExpired);
}

TEST_F(CodeFlow, IsNobodyElses) {
  const std::string state = secrets_of(key_, cookie_).state;
  const std::string other = new_sign_in(now_, Bytes(32, 8));
  EXPECT_EQ(check(other, state, now_), sign_in_fault::kNotBegun) << "another browser's cookie";
  EXPECT_EQ(check("", state, now_), sign_in_fault::kNotBegun) << "no cookie";
  EXPECT_EQ(check(cookie_, "", now_), sign_in_fault::kNotBegun);
  EXPECT_EQ(check(cookie_, state.substr(1), now_), sign_in_fault::kNotBegun);
  EXPECT_EQ(check(cookie_, secrets_of(other_key_, cookie_).state, now_), sign_in_fault::kNotBegun);
  // A later beginning under the same random bytes is another cookie.
  EXPECT_EQ(check(new_sign_in(now_ + kSignInMax, Bytes(32, 7)), state, now_), sign_in_fault::kNotBegun);
  // A state that is right for what is no cookie of ours.
  for (const std::string& text : {std::string("x"), cookie_ + "00", cookie_.substr(2), std::string(80, 'g')}) {
    EXPECT_EQ(check(text, secrets_of(key_, text).state, now_), sign_in_fault::kNotBegun) << text;
  }
}

TEST_F(CodeFlow, HasSecretsOfWhichNoneTellsAnother) {
  const SignInSecrets secrets = secrets_of(key_, cookie_);
  EXPECT_NE(secrets.state, secrets.nonce);
  EXPECT_NE(secrets.state, secrets.verifier);
  EXPECT_NE(secrets.nonce, secrets.verifier);
  EXPECT_GE(secrets.verifier.size(), 43u);  // RFC 7636 section 4.1
  EXPECT_THAT(authorization_request(kSettings, secrets), Not(HasSubstr(secrets.verifier)));
}

// The verifier and challenge are those of RFC 7636, appendix B.
TEST_F(CodeFlow, SendsTheBrowserToTheProvider) {
  const SignInSecrets secrets{.state = "s t", .nonce = "n&", .verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"};
  EXPECT_EQ(authorization_request(kSettings, secrets),
            "https://sso.example/authorize?response_type=code&client_id=a%20client%26co"
            "&redirect_uri=https%3A%2F%2Ffl.example%3A8444%2Fconsole%2Fcallback&scope=openid%20roles&state=s%20t"
            "&nonce=n%26&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256");
  CodeFlowSettings with_query = kSettings;
  with_query.authorization_url += "?p=1";
  EXPECT_THAT(authorization_request(with_query, secrets),
              testing::StartsWith("https://sso.example/authorize?p=1&resp"));
}

TEST_F(CodeFlow, SignsTheBrowserOutAtTheProviderWithoutShowingItAToken) {
  EXPECT_EQ(end_session_request(kSettings), "");
  CodeFlowSettings settings = kSettings;
  settings.end_session_url = "https://sso.example/logout";
  const std::string query = "client_id=a%20client%26co&post_logout_redirect_uri=https%3A%2F%2Ffl.example%3A8444%2F";
  EXPECT_EQ(end_session_request(settings), "https://sso.example/logout?" + query);
  settings.end_session_url += "?p=1";
  EXPECT_EQ(end_session_request(settings), "https://sso.example/logout?p=1&" + query);
}

TEST_F(CodeFlow, AsksForTokensWithTheVerifier) {
  EXPECT_EQ(token_request(kSettings, "c+d", "v", true),
            "grant_type=authorization_code&code=c%2Bd"
            "&redirect_uri=https%3A%2F%2Ffl.example%3A8444%2Fconsole%2Fcallback&code_verifier=v");
  EXPECT_THAT(token_request(kSettings, "c", "v", false), testing::EndsWith("&client_id=a%20client%26co"));
}

TEST_F(CodeFlow, ReadsAnAnswerStrictly) {
  EXPECT_EQ(*id_token_of(200, R"({"id_token": "a.b.c", "access_token": "x"})"), "a.b.c");
  for (const char* body :
       {"", "null", "[]", "a.b.c", "{}", R"({"id_token": 1})", R"({"id_token": "a", "id_token": "b"})",
        R"({"id_token": "a"} {})", R"({"Id_Token": "a"})"}) {
    EXPECT_ERROR(id_token_of(200, body), ErrorCode::unauthenticated, "id_token") << body;
  }
  EXPECT_ERROR(id_token_of(200, R"({"id_token": "a", "x": ")" + std::string(kTokenAnswerBytesMax, 'x') + "\"}"),
               ErrorCode::unauthenticated, "64 KiB");
  EXPECT_ERROR(id_token_of(302, R"({"id_token": "a.b.c"})"), ErrorCode::unauthenticated, "302");
  EXPECT_ERROR(id_token_of(400, R"({"error": "invalid_grant"})"), ErrorCode::unauthenticated, "400, invalid_grant");
}

TEST_F(CodeFlow, RepeatsNoTextOfStrangers) {
  for (const char* text : {"<b>", "Access_denied", "a\nb", "", "a b", "\xff"}) {
    EXPECT_THAT(error_of_provider(text).message(), HasSubstr("an error that is no word")) << text;
    EXPECT_EQ(error_of_provider(text).reason(), sign_in_fault::kProvider);
  }
  EXPECT_THAT(error_of_provider(std::string(65, 'a')).message(), Not(HasSubstr("aaa")));
  EXPECT_THAT(error_of_provider("server_error").message(), HasSubstr("server_error"));
  EXPECT_EQ(error_of_provider("access_denied").reason(), sign_in_fault::kDeclined);
  EXPECT_THAT(id_token_of(400, R"({"error": "<script>"})").error().message(), Not(HasSubstr("<")));
}

std::vector<std::string> pointers(const CodeFlowSettings& settings) {
  std::vector<std::string> pointers;
  for (const Problem& problem : validate(settings)) pointers.push_back(problem.pointer);
  return pointers;
}

TEST(CodeFlowSettings, ReportEveryProblem) {
  EXPECT_THAT(pointers({}), ElementsAre("/name", "/authorization_url", "/token_url", "/redirect_url", "/client_id"));
  CodeFlowSettings settings = kSettings;
  settings.client_id = "console";
  EXPECT_THAT(pointers(settings), IsEmpty());
  settings.name = "a\nb";
  settings.client_id = "a b";
  settings.scope = "openidx email";
  settings.end_session_url = "http://sso.example/logout";
  EXPECT_THAT(pointers(settings), ElementsAre("/name", "/end_session_url", "/client_id", "/scope"));
}

TEST(CodeFlowSettings, ComeBackToTheConsoleAlone) {
  for (const char* url :
       {"http://fl.example/console/callback", "https://fl.example/", "https://fl.example/console/callback?a=1",
        "https://fl.example/#/console/callback", "https://a@fl.example/console/callback", ""}) {
    CodeFlowSettings settings = kSettings;
    settings.client_id = "console";
    settings.redirect_url = url;
    EXPECT_THAT(pointers(settings), ElementsAre("/redirect_url")) << url;
  }
}

}  // namespace
}  // namespace coterie
