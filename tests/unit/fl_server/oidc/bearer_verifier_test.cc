#include "fl_server/oidc/bearer_verifier.h"

#include <gtest/gtest.h>

#include <deque>

#include "tests/support/matchers.h"
#include "tests/unit/fl_server/oidc/jwks_server.h"
#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie {
namespace {

using test::good_claims;
using test::kTestNow;
using test::MintKey;
using test::oidc_settings;
using test::reason_of;

std::string jwks_text(const MintKey& key) { return nlohmann::json{{"keys", {key.jwk()}}}.dump(); }

// Answers when it is told to, with what it is told.
class ScriptedSource : public JwksSource {
 public:
  void answer(Result<Answer> answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    changed_.notify_all();
  }
  void close() {  // no answer will come: what a cancelled fetch sees
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  Result<Answer> fetch(const std::atomic<bool>&) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !answers_.empty(); });
    if (answers_.empty()) return Error(ErrorCode::cancelled, "closed");
    Result<Answer> answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Result<Answer>> answers_;
  bool closed_ = false;
};

class BearerVerifierTest : public testing::Test {
 protected:
  BearerVerifierTest() {
    auto source = std::make_unique<ScriptedSource>();
    source_ = source.get();
    verifier_ = std::make_unique<BearerVerifier>(oidc_settings(), std::move(source));
  }
  ~BearerVerifierTest() override { source_->close(); }

  MintKey key_{KeyAlgorithm::ed25519, "one"};
  ScriptedSource* source_;
  std::unique_ptr<BearerVerifier> verifier_;
};

TEST_F(BearerVerifierTest, SaysSoWhileThereAreNoKeysAndDoesNotWaitForThem) {
  EXPECT_ERROR(verifier_->verify(key_.token(good_claims()), kTestNow), ErrorCode::unavailable, "could not be fetched");
  source_->answer(JwksSource::Answer{.body = jwks_text(key_), .cache_control = ""});
  verifier_->wait_for_fetches(1);
  const Result<OidcIdentity> who = verifier_->verify(key_.token(good_claims()), kTestNow);
  ASSERT_OK(who);
  EXPECT_EQ(who->subject, "alice");
  EXPECT_EQ(verifier_->state().keys, 1u);
  EXPECT_EQ(verifier_->state().failures, 0u);
}

TEST_F(BearerVerifierTest, ReportsAnswersThatAreNoKeys) {
  source_->answer(JwksSource::Answer{.body = "<html>", .cache_control = ""});
  verifier_->wait_for_fetches(1);
  EXPECT_EQ(verifier_->state().failures, 1u);
  EXPECT_NE(verifier_->state().last_error.find("not a JWK set"), std::string::npos);
  EXPECT_ERROR(verifier_->verify(key_.token(good_claims()), kTestNow), ErrorCode::unavailable, "could not be fetched");
}

TEST_F(BearerVerifierTest, RefusesWhatTheRulesRefuse) {
  source_->answer(JwksSource::Answer{.body = jwks_text(key_), .cache_control = ""});
  verifier_->wait_for_fetches(1);
  EXPECT_EQ(reason_of(verifier_->verify("", kTestNow)), token_fault::kMalformed);
  EXPECT_EQ(reason_of(verifier_->verify(key_.token(good_claims()), kTestNow + Millis(3'600'000))),
            token_fault::kExpired);
  const MintKey other(KeyAlgorithm::ed25519, "two", 9);
  EXPECT_EQ(reason_of(verifier_->verify(other.token(good_claims()), kTestNow)), token_fault::kKeyUnknown);
}

TEST_F(BearerVerifierTest, MayBeAskedByManyThreads) {
  source_->answer(JwksSource::Answer{.body = jwks_text(key_), .cache_control = ""});
  verifier_->wait_for_fetches(1);
  const std::string good = key_.token(good_claims());
  const std::string unknown = MintKey(KeyAlgorithm::ed25519, "two", 9).token(good_claims());
  std::atomic<int> accepted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        accepted += verifier_->verify(good, kTestNow).has_value() ? 1 : 0;
        accepted += verifier_->verify(unknown, kTestNow).has_value() ? 1000 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted, 200);
}

TEST(BearerVerifierOverHttps, FetchesTheKeysOfTheIssuerAndVerifies) {
  const MintKey key(KeyAlgorithm::p256, "one");
  const test::JwksServer issuer(jwks_text(key));
  OidcSettings settings = oidc_settings();
  settings.jwks_url = issuer.url("/keys");
  settings.ca_file = issuer.ca_file();
  BearerVerifier verifier(settings);
  verifier.wait_for_fetches(1);
  EXPECT_EQ(verifier.state().last_error, "");
  EXPECT_OK(verifier.verify(key.token(good_claims()), kTestNow));
}

// Its end waits for libcurl to look at the flag, not for the issuer.
TEST(BearerVerifierOverHttps, EndsThoughTheIssuerIsSilent) {
  const test::JwksServer issuer("{}");
  OidcSettings settings = oidc_settings();
  settings.jwks_url = issuer.url("/silent");
  settings.ca_file = issuer.ca_file();
  BearerVerifier verifier(settings);
  EXPECT_EQ(verifier.verify("", kTestNow).error().code(), ErrorCode::unavailable);
}

}  // namespace
}  // namespace coterie
