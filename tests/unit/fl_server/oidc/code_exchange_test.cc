// Codes given for ID tokens, over a real connection to a provider that may be anything.
#include "fl_server/oidc/code_exchange.h"

#include <gmock/gmock.h>

#include <thread>

#include "fl_server/oidc/code_flow.h"
#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/oidc/oidc_provider.h"

namespace coterie {
namespace {

class CodeExchangeTest : public testing::Test {
 protected:
  CodeExchange exchange(const std::string& path, const std::string& secret = {}) {
    return CodeExchange(provider_.sign_in(path), provider_.file("ca.pem"), secret);
  }
  std::string challenge(std::string_view verifier) { return to_base64url(sha256(as_bytes(verifier)).view()); }
  std::string fault(const Result<std::string>& token) { return token ? *token : std::string(token.error().reason()); }

  test::OidcProvider provider_;
};

TEST_F(CodeExchangeTest, GivesACodeOnceAndForItsVerifier) {
  provider_.grant("code-1", {.challenge = challenge("v-1"), .id_token = "a.b.c"});
  CodeExchange client = exchange("/token");
  EXPECT_EQ(fault(client.id_token("code-1", "v-2")), sign_in_fault::kProvider);
  EXPECT_EQ(fault(client.id_token("code-1", "v-1")), "a.b.c");
  EXPECT_ERROR(client.id_token("code-1", "v-1"), ErrorCode::unauthenticated, "400, invalid_grant");
  EXPECT_EQ(fault(client.id_token("code-2", "v-1")), sign_in_fault::kProvider);
}

TEST_F(CodeExchangeTest, ShowsASecretByTheBasicScheme) {
  provider_.grant("code-1", {.challenge = challenge("v"), .id_token = "a.b.c", .secret = "s:/ \xc3\xa9+%"});
  EXPECT_ERROR(exchange("/token").id_token("code-1", "v"), ErrorCode::unauthenticated, "invalid_client");
  EXPECT_ERROR(exchange("/token", "other").id_token("code-1", "v"), ErrorCode::unauthenticated, "invalid_client");
  EXPECT_EQ(fault(exchange("/token", "s:/ \xc3\xa9+%").id_token("code-1", "v")), "a.b.c");
}

TEST_F(CodeExchangeTest, TakesNoAnswerButAGoodOne) {
  EXPECT_EQ(fault(exchange("/garbage").id_token("c", "v")), sign_in_fault::kProvider);
  EXPECT_EQ(fault(exchange("/endless").id_token("c", "v")), sign_in_fault::kProvider);
  EXPECT_ERROR(exchange("/redirect").id_token("c", "v"), ErrorCode::unauthenticated, "307");
  CodeExchange distrustful(provider_.sign_in(), provider_.file("other-ca.pem"), {});
  EXPECT_EQ(fault(distrustful.id_token("c", "v")), sign_in_fault::kAway);
}

TEST_F(CodeExchangeTest, HoldsNoMoreCallersThanItSaysAndLetsThemGo) {
  CodeExchange slow = exchange("/silent");
  std::vector<std::thread> waiting;
  std::atomic<uint32_t> let_go = 0;
  for (uint32_t i = 0; i < CodeExchange::kAtOnceMax; ++i) {
    waiting.emplace_back([&] { let_go += fault(slow.id_token("c", "v")) == sign_in_fault::kAway; });
  }
  for (uint32_t i = 0; i < CodeExchange::kAtOnceMax; ++i) EXPECT_EQ(provider_.line(), "/silent");
  EXPECT_ERROR(slow.id_token("c", "v"), ErrorCode::overloaded, "too many");
  slow.cancel();
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(let_go, CodeExchange::kAtOnceMax);
}

}  // namespace
}  // namespace coterie
