// Sessions of the console: whose they are, and when they end.
#include "fl_server/console/console_sessions.h"

#include <gtest/gtest.h>

#include "fl_server/console/session_cookie.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

class ConsoleSessionsTest : public testing::Test {
 protected:
  Now after(Millis time) const { return {start_.instant + time, start_.wall + time}; }
  std::string open(const std::string& id, Now now) {
    const auto secret = sessions_.open({.id = id, .roles = {Role::viewer}, .tenant = "north"}, stands_, now);
    EXPECT_OK(secret);
    return secret.value_or("");
  }

  const Now start_{Instant{Millis{1'000}}, WallTime{Millis{1'700'000'000'000}}};
  std::shared_ptr<std::atomic<bool>> stands_ = std::make_shared<std::atomic<bool>>(true);
  ConsoleSessions sessions_;
};

TEST_F(ConsoleSessionsTest, GivesTheCallerOfTheSecretAndOfNoOther) {
  const std::string secret = open("a", start_);
  const auto caller = sessions_.find(secret, start_);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->id, "a");
  EXPECT_EQ(caller->tenant, "north");
  EXPECT_EQ(caller->roles, RoleSet{Role::viewer});
  EXPECT_FALSE(sessions_.find(secret.substr(1), start_));
  EXPECT_FALSE(sessions_.find(std::string(64, '0'), start_));
  EXPECT_FALSE(sessions_.find("", start_));
}

TEST_F(ConsoleSessionsTest, EndsWhenIdleAndEachUseKeepsItUp) {
  const std::string secret = open("a", start_);
  const Millis step = ConsoleSessions::kIdleMax - Millis{1};
  EXPECT_TRUE(sessions_.find(secret, after(step)));
  EXPECT_TRUE(sessions_.find(secret, after(step * 2)));
  EXPECT_FALSE(sessions_.find(secret, after(step * 2 + ConsoleSessions::kIdleMax)));
  EXPECT_EQ(sessions_.size(), 0u);
}

TEST_F(ConsoleSessionsTest, EndsAfterItsLifeHoweverOftenItIsUsed) {
  const std::string secret = open("a", start_);
  const Millis step = ConsoleSessions::kIdleMax / 2;
  for (Millis time{0}; time < ConsoleSessions::kLifeMax; time += step) {
    ASSERT_TRUE(sessions_.find(secret, after(time)));
  }
  EXPECT_FALSE(sessions_.find(secret, after(ConsoleSessions::kLifeMax)));
}

TEST_F(ConsoleSessionsTest, EndsWithItsToken) {
  const std::string secret = open("a", start_);
  *stands_ = false;
  EXPECT_FALSE(sessions_.find(secret, start_));

  *stands_ = true;
  AdminCaller brief{.id = "b", .roles = {Role::viewer}};
  brief.expires = start_.wall + Millis{10};
  const auto other = sessions_.open(brief, stands_, start_);
  ASSERT_OK(other);
  EXPECT_EQ(sessions_.find(*other, after(Millis{9}))->expires, brief.expires);
  EXPECT_FALSE(sessions_.find(*other, after(Millis{10})));
}

TEST_F(ConsoleSessionsTest, ClosesTheOneThatIsNamed) {
  const std::string first = open("a", start_), second = open("a", start_);
  sessions_.close(first);
  EXPECT_FALSE(sessions_.find(first, start_));
  EXPECT_TRUE(sessions_.find(second, start_));
}

TEST_F(ConsoleSessionsTest, EndsTheIdlestOfATokenThatHasTooMany) {
  std::vector<std::string> secrets;
  for (size_t i = 0; i < ConsoleSessions::kSessionsOfTokenMax; ++i) secrets.push_back(open("a", after(Millis(i))));
  EXPECT_TRUE(sessions_.find(secrets[0], after(Millis{100})));  // so that the second is the idlest
  EXPECT_TRUE(sessions_.find(open("a", after(Millis{101})), after(Millis{101})));
  EXPECT_TRUE(sessions_.find(secrets[0], after(Millis{101})));
  EXPECT_FALSE(sessions_.find(secrets[1], after(Millis{101})));
  EXPECT_EQ(sessions_.size(), ConsoleSessions::kSessionsOfTokenMax);
}

TEST_F(ConsoleSessionsTest, HasNoMoreThanItsLimitUntilSomeEnd) {
  for (size_t i = 0; i < ConsoleSessions::kSessionsMax; ++i) open(std::to_string(i), start_);
  EXPECT_ERROR(sessions_.open({.id = "late"}, stands_, start_), ErrorCode::rate_limited, "sessions of the console");
  EXPECT_OK(sessions_.open({.id = "late"}, stands_, after(ConsoleSessions::kIdleMax)));
}

TEST_F(ConsoleSessionsTest, HasACsrfTokenOfItsOwnForEachSession) {
  const std::string first = open("a", start_), second = open("a", start_);
  EXPECT_TRUE(sessions_.is_csrf_token(first, sessions_.csrf_token(first)));
  EXPECT_FALSE(sessions_.is_csrf_token(first, sessions_.csrf_token(second)));
  EXPECT_FALSE(sessions_.is_csrf_token(first, ""));
  EXPECT_FALSE(sessions_.is_csrf_token(first, first));
  EXPECT_NE(ConsoleSessions().csrf_token(first), sessions_.csrf_token(first));
}

TEST(SessionCookie, IsFoundAmongOthersAndOnlyIfThereIsOne) {
  EXPECT_EQ(session_secret("__Host-coterie-session=abc"), "abc");
  EXPECT_EQ(session_secret("a=1; __Host-coterie-session=abc; b=2"), "abc");
  EXPECT_EQ(session_secret(""), "");
  EXPECT_EQ(session_secret("; ;=;"), "");
  EXPECT_EQ(session_secret("__Host-coterie-session"), "");
  EXPECT_EQ(session_secret("x__Host-coterie-session=abc"), "");
  EXPECT_EQ(session_secret("__Host-coterie-session=abc; __Host-coterie-session=def"), "");
}

TEST(SessionCookie, IsKeptFromScriptsAndOtherSites) {
  EXPECT_EQ(session_cookie("abc"), "__Host-coterie-session=abc; Path=/; Secure; HttpOnly; SameSite=Strict");
  EXPECT_EQ(ended_session_cookie(), "__Host-coterie-session=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0");
}

}  // namespace
}  // namespace coterie
