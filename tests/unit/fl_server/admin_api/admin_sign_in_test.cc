// Sign-in to the console at an identity provider: the test is the browser, and the provider is a double.
#include <gmock/gmock.h>

#include "fl_server/console/session_cookie.h"
#include "fl_server/console/sign_in_cookie.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"
#include "tests/unit/fl_server/oidc/oidc_provider.h"

namespace coterie::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class AdminSignIn : public AdminServerTest {
 protected:
  void configure(ServerConfig& config) override { config.oidc = provider_.settings(); }

  // Until the server has the provider's keys.
  void SetUp() override {
    AdminServerTest::SetUp();
    json bearer = claims("");
    bearer["aud"] = "coterie";
    while (ask_as("Bearer " + provider_.key().token(bearer), "GET", "/admin/v1/jobs").status == 503) continue;
  }
  // What the browser has after the button.
  struct Begun {
    std::string cookie, state, nonce, challenge;
  };
  std::string cookie_of(const Answer& answer, std::string_view name) {
    for (const auto& [key, value] : answer.head.headers) {
      if (key == "set-cookie" && value.starts_with(std::string(name) + "=")) return value;
    }
    return {};
  }
  std::string parameter(const std::string& address, const std::string& name) {
    const size_t at = address.find("&" + name + "=");
    EXPECT_NE(at, std::string::npos) << name << " in " << address;
    const size_t begin = at + name.size() + 2;
    return address.substr(begin, address.find('&', begin) - begin);
  }
  Begun begin() {
    headers_ = {{"Sec-Fetch-Site", "same-origin"}};
    const Answer answer = ask_as("", "GET", "/console/login");
    headers_.clear();
    EXPECT_EQ(answer.status, 303);
    const std::string address(answer.head.header("location")), cookie = cookie_of(answer, kSignInCookie);
    EXPECT_THAT(address,
                StartsWith("https://sso.example/authorize?tenant=fl&response_type=code&client_id=coterie-console"));
    EXPECT_EQ(parameter(address, "code_challenge_method"), "S256");
    EXPECT_THAT(cookie, HasSubstr("; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=600"));
    return {.cookie = cookie.substr(0, cookie.find(';')),
            .state = parameter(address, "state"),
            .nonce = parameter(address, "nonce"),
            .challenge = parameter(address, "code_challenge")};
  }
  json claims(const std::string& nonce) {
    json claims = good_claims();
    const int64_t now = unix_ms(os::wall_now()) / 1000;
    claims.update({{"aud", "coterie-console"},
                   {"nonce", nonce},
                   {"iat", now - 5},
                   {"exp", now + 600},
                   {"roles", {"fl-readers"}}});
    return claims;
  }
  void grant(const Begun& begun, const json& claims, const std::string& code = "code-1") {
    provider_.grant(code, {.challenge = begun.challenge, .id_token = provider_.key().token(claims)});
  }
  Answer come_back(const std::string& cookie, const std::string& query) {
    headers_ = {{"Sec-Fetch-Site", "cross-site"}};
    if (!cookie.empty()) headers_.emplace_back("Cookie", cookie);
    const Answer answer = ask_as("", "GET", "/console/callback?" + query);
    headers_.clear();
    return answer;
  }
  // A whole sign-in of whom `claims_of` says; each has a code of its own.
  Answer sign_in(const std::function<json(const Begun&)>& claims_of) {
    const Begun begun = begin();
    const std::string code = "code-of-" + begun.state.substr(0, 8);
    grant(begun, claims_of(begun), code);
    return come_back(begun.cookie, "state=" + begun.state + "&code=" + code);
  }
  std::string failure(const Answer& answer) {
    EXPECT_EQ(answer.status, 303) << answer.body;
    EXPECT_EQ(cookie_of(answer, kSessionCookie), "");
    const std::string address(answer.head.header("location"));
    const std::string before = "/#/sign-in-failed/";
    EXPECT_THAT(address, StartsWith(before));
    return address.substr(std::min(address.size(), before.size()));
  }

  OidcProvider provider_;
};

TEST_F(AdminSignIn, OpensASessionOfWhoTheProviderSaysItIs) {
  const Answer answer = sign_in([&](const Begun& begun) { return claims(begun.nonce); });
  EXPECT_EQ(answer.status, 303);
  EXPECT_EQ(answer.head.header("location"), "/#/signed-in");
  EXPECT_EQ(cookie_of(answer, kSignInCookie), ended_sign_in_cookie());
  const std::string cookie = cookie_of(answer, kSessionCookie);
  EXPECT_THAT(cookie, HasSubstr("; Path=/; Secure; HttpOnly; SameSite=Strict"));
  headers_ = {{"Cookie", cookie.substr(0, cookie.find(';'))}};
  const json session = ask_as("", "GET", "/admin/v1/session").document();
  EXPECT_EQ(session["who"], "oidc:alice");
  EXPECT_EQ(session["roles"], json::array({"viewer"}));
  EXPECT_TRUE(session.contains("expires")) << "the session ends with the ID token";
  EXPECT_EQ(ask_as("", "GET", "/admin/v1/jobs").status, 200);
  EXPECT_EQ(ask_as("", "POST", "/admin/v1/enrollment-tokens", "{}").status, 403);
  EXPECT_EQ(ask_as("", "DELETE", "/admin/v1/session").status, 403) << "without its CSRF token";
  headers_.emplace_back("Coterie-Csrf", session.value("csrf_token", ""));
  EXPECT_EQ(ask_as("", "DELETE", "/admin/v1/session").status, 204);
  EXPECT_EQ(ask_as("", "GET", "/admin/v1/session").status, 401);
  headers_.clear();
  const json records = ask("GET", "/admin/v1/audit?action=console.sign_in").document()["records"];
  ASSERT_GE(records.size(), 2u);
  EXPECT_EQ(records[records.size() - 2]["outcome"], 0) << "begun";
  EXPECT_EQ(records.back()["who"], "oidc:alice");
  EXPECT_EQ(records.back()["outcome"], 201);
}

class AdminSignOut : public AdminSignIn {
 protected:
  void configure(ServerConfig& config) override {
    AdminSignIn::configure(config);
    config.oidc->sign_in->end_session_url = "https://sso.example/logout";
  }
  // Ends the session of this cookie; with its CSRF token.
  Answer sign_out(const std::string& cookie) {
    headers_ = {{"Cookie", cookie.substr(0, cookie.find(';'))}};
    headers_.emplace_back("Coterie-Csrf", ask_as("", "GET", "/admin/v1/session").document().value("csrf_token", ""));
    Answer answer = ask_as("", "DELETE", "/admin/v1/session");
    EXPECT_EQ(cookie_of(answer, kSessionCookie), ended_session_cookie());
    EXPECT_EQ(ask_as("", "GET", "/admin/v1/session").status, 401);
    headers_.clear();
    return answer;
  }
};

TEST_F(AdminSignOut, SendsWhoSignedInAtTheProviderThere) {
  const Answer in = sign_in([&](const Begun& begun) { return claims(begun.nonce); });
  const Answer out = sign_out(cookie_of(in, kSessionCookie));
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(
      out.document()["end_session_url"],
      "https://sso.example/logout?client_id=coterie-console&post_logout_redirect_uri=https%3A%2F%2Ffl.example%2F");
}

TEST_F(AdminSignOut, SendsWhoCameWithATokenOfThisServerNowhere) {
  const Answer in = ask("POST", "/admin/v1/session");
  const Answer out = sign_out(cookie_of(in, kSessionCookie));
  EXPECT_EQ(out.status, 204);
  EXPECT_EQ(out.body, "");
}

TEST_F(AdminSignIn, IsNamedToWhoeverAsksForWays) {
  EXPECT_EQ(ask_as("", "GET", "/console/sign-in-ways").document(),
            (json{{"token", true}, {"provider", {{"name", "Example SSO"}}}}));
}

TEST_F(AdminSignIn, IsHeldToTheBrowserThatBeganIt) {
  const Begun mine = begin(), other = begin();
  grant(mine, claims(mine.nonce));
  const std::string query = "code=code-1&state=" + mine.state;
  EXPECT_EQ(failure(come_back("", query)), "not_begun") << "the login CSRF: a browser that never began";
  EXPECT_EQ(failure(come_back(other.cookie, query)), "not_begun") << "another sign-in's cookie";
  EXPECT_EQ(failure(come_back(mine.cookie + "; " + other.cookie, query)), "not_begun") << "two cookies";
  EXPECT_EQ(failure(come_back(mine.cookie, "code=code-1&state=" + other.state)), "not_begun");
  EXPECT_EQ(failure(come_back(mine.cookie, "code=code-1")), "not_begun");
  EXPECT_EQ(come_back(mine.cookie, query + "&state=" + mine.state).status, 400) << "twice";
}

TEST_F(AdminSignIn, IsNotBegunForAnotherSite) {
  for (const char* site : {"cross-site", "same-site"}) {
    headers_ = {{"Sec-Fetch-Site", site}};
    const Answer answer = ask_as("", "GET", "/console/login");
    EXPECT_EQ(answer.head.header("location"), "/") << site;
    EXPECT_EQ(answer.head.header("set-cookie"), "");
  }
}

TEST_F(AdminSignIn, GoesNowhereThatARequestNames) {
  for (const char* query : {"?next=https://evil.example", "?redirect_uri=https://evil.example/console/callback",
                            "?page=//evil.example", "?return_to=%2F%2Fevil.example"}) {
    const Answer answer = ask_as("", "GET", std::string("/console/login") + query);
    EXPECT_THAT(std::string(answer.head.header("location")), Not(HasSubstr("evil"))) << query;
  }
  headers_ = {{"Host", "evil.example"}, {"X-Forwarded-Host", "evil.example"}};
  EXPECT_THAT(std::string(ask_as("", "GET", "/console/login").head.header("location")), Not(HasSubstr("evil")));
  const Begun begun = begin();
  EXPECT_EQ(come_back(begun.cookie, "state=" + begun.state + "&error=//evil.example").head.header("location"),
            "/#/sign-in-failed/provider");
}

TEST_F(AdminSignIn, SaysWhatTheProviderSaid) {
  const Begun begun = begin();
  const std::string state = "state=" + begun.state;
  EXPECT_EQ(failure(come_back(begun.cookie, state + "&error=access_denied&error_description=%3Cb%3E")), "declined");
  EXPECT_EQ(failure(come_back(begun.cookie, state + "&error=server_error")), "provider");
  EXPECT_EQ(failure(come_back(begun.cookie, state)), "provider") << "neither code nor error";
  EXPECT_EQ(failure(come_back(begun.cookie, state + "&code=" + std::string(1601, 'c'))), "provider");
  EXPECT_EQ(failure(come_back(begun.cookie, state + "&code=unknown")), "provider");
  grant(begun, claims(begun.nonce));
  EXPECT_EQ(failure(come_back(begun.cookie, state + "&code=code-1&iss=https%3A%2F%2Fother.example")), "provider")
      << "another issuer's answer";
}

TEST_F(AdminSignIn, TakesACodeOnce) {
  Begun last;
  sign_in([&](const Begun& begun) { return last = begun, claims(begun.nonce); });
  const std::string again = "state=" + last.state + "&code=code-of-" + last.state.substr(0, 8);
  EXPECT_EQ(failure(come_back(last.cookie, again)), "provider");
}

TEST_F(AdminSignIn, RefusesATokenThatIsNotOfThisSignIn) {
  const Begun another = begin();
  EXPECT_EQ(failure(sign_in([&](const Begun&) { return claims(another.nonce); })), "token");
  const auto with = [&](const char* name, const json& value) {
    return sign_in([&, name](const Begun& begun) {
      json changed = claims(begun.nonce);
      changed[name] = value;
      return changed;
    });
  };
  EXPECT_EQ(failure(with("aud", "coterie")), "token") << "an access token's audience";
  EXPECT_EQ(failure(with("iss", "https://issuer.example/realms/other")), "token");
  EXPECT_EQ(failure(with("exp", 1)), "token");
}

TEST_F(AdminSignIn, IsForRolesThatMayUseTheConsole) {
  const Answer answer = sign_in([&](const Begun& begun) {
    json of = claims(begun.nonce);
    of["roles"] = {"somebody-elses"};
    return of;
  });
  EXPECT_EQ(failure(answer), "no_role");
  const json records = ask("GET", "/admin/v1/audit?action=console.sign_in").document()["records"];
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.back()["who"], "oidc:alice");
  EXPECT_EQ(records.back()["outcome"], 403);
}

class AdminWithoutSignIn : public AdminServerTest {};

TEST_F(AdminWithoutSignIn, KnowsNoOtherWayThanATokens) {
  EXPECT_EQ(ask_as("", "GET", "/console/sign-in-ways").document(), (json{{"token", true}}));
  EXPECT_EQ(ask_as("", "GET", "/console/login").status, 404);
  EXPECT_EQ(ask_as("", "GET", "/console/callback?state=a&code=b").status, 404);
}

}  // namespace
}  // namespace coterie::test
