// The owner of a token: remembering, forgetting, expiry and the limit on hashes, on a clock of the test.
#include "fl_server/admin/admin_authenticator.h"

#include <gtest/gtest.h>

#include "secure/crypto/slow_hash.h"
#include "secure/identity/bearer_token.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/admin/memory_admin_store.h"

namespace coterie {
namespace {

class AdminAuthenticatorTest : public testing::Test {
 protected:
  std::string add(RoleSet roles, Millis valid = Millis{3'600'000}) {
    const NewAdminToken made = generate_admin_token();
    EXPECT_OK(store_.create_admin_token(
        {made.id, "label", roles, slow_hash(made.text), "admin-token", now_.wall, now_.wall + valid}));
    return made.text;
  }
  static std::string id_of(const std::string& token) { return *admin_token_id(token); }
  static std::string spoiled(std::string token) {
    char& digit = token[token.size() - 2];
    digit = digit == 'A' ? 'B' : 'A';
    return token;
  }
  void pass(Millis time) {
    now_.instant += time;
    now_.wall += time;
  }

  test::MemoryAdminStore store_;
  Now now_{Instant(Millis{5'000'000}), wall_time_from_unix_ms(1'700'000'000'000)};
  AdminAuthenticator authenticator_{store_, token_digest("cot_data-directory")};
};

TEST_F(AdminAuthenticatorTest, KnowsTheTokenOfTheDataDirectoryWithoutTheStore) {
  EXPECT_EQ(authenticator_.recall("cot_data-directory", now_), (AdminCaller{"admin-token", kEveryRoleOfPeople}));
  EXPECT_EQ(authenticator_.recall("cot_data-director", now_), std::nullopt);
  EXPECT_EQ(store_.reads, 0);
}

TEST_F(AdminAuthenticatorTest, RemembersWhatWasRightForAMinute) {
  const std::string token = add({Role::viewer});
  EXPECT_EQ(authenticator_.recall(token, now_), std::nullopt) << "nobody has verified it yet";
  const Result<AdminCaller> caller = authenticator_.verify(token, now_);
  ASSERT_OK(caller);
  EXPECT_EQ(*caller, (AdminCaller{id_of(token), {Role::viewer}}));
  pass(AdminAuthenticator::kRememberedFor - Millis{1});
  EXPECT_EQ(authenticator_.recall(token, now_), *caller);
  EXPECT_EQ(authenticator_.recall(spoiled(token), now_), std::nullopt);
  pass(Millis{1});
  EXPECT_EQ(authenticator_.recall(token, now_), std::nullopt);
}

TEST_F(AdminAuthenticatorTest, TurnsStrangersAway) {
  const std::string token = add({Role::viewer});
  EXPECT_ERROR(authenticator_.verify(spoiled(token), now_), ErrorCode::unauthenticated, "bearer token");
  EXPECT_EQ(authenticator_.recall(spoiled(token), now_), std::nullopt) << "a wrong one is not remembered";
  EXPECT_ERROR(authenticator_.verify(generate_admin_token().text, now_), ErrorCode::unauthenticated, "bearer token");
  for (const std::string& text : {std::string(), std::string("cota_"), token.substr(0, token.size() - 1), token + "A",
                                  "cot_" + token.substr(5), " " + token}) {
    const int reads = store_.reads;
    EXPECT_ERROR(authenticator_.verify(text, now_), ErrorCode::unauthenticated, "bearer token") << text;
    EXPECT_EQ(store_.reads, reads) << "what has not the form is not looked up";
  }
}

TEST_F(AdminAuthenticatorTest, EndsATokenWhenItExpiresThoughItIsRemembered) {
  const std::string token = add({Role::viewer}, Millis{10'000});
  ASSERT_OK(authenticator_.verify(token, now_));
  pass(Millis{9'999});
  EXPECT_TRUE(authenticator_.recall(token, now_));
  pass(Millis{1});
  EXPECT_EQ(authenticator_.recall(token, now_), std::nullopt);
  EXPECT_ERROR(authenticator_.verify(token, now_), ErrorCode::unauthenticated, "expired");
}

TEST_F(AdminAuthenticatorTest, ForgetsARemovedTokenAlsoWhileItIsVerified) {
  const std::string token = add({Role::viewer}), other = add({Role::operator_});
  ASSERT_OK(authenticator_.verify(token, now_));
  ASSERT_OK(authenticator_.verify(other, now_));
  ASSERT_OK(store_.remove_admin_token(id_of(token)));
  authenticator_.forget(id_of(token));
  EXPECT_EQ(authenticator_.recall(token, now_), std::nullopt);
  EXPECT_ERROR(authenticator_.verify(token, now_), ErrorCode::unauthenticated, "bearer token");
  EXPECT_TRUE(authenticator_.recall(other, now_)) << "the other one stays";

  const std::string late = add({Role::viewer});
  store_.after_read = [&] { authenticator_.forget(id_of(late)); };  // the row has been read, the hash not yet computed
  ASSERT_OK(authenticator_.verify(late, now_)) << "it was there when it was asked for";
  EXPECT_EQ(authenticator_.recall(late, now_), std::nullopt) << "but it may be gone: not remembered";
}

TEST_F(AdminAuthenticatorTest, ComputesFewHashesThatComeToNothing) {
  const std::string token = add({Role::viewer}), expired = add({Role::viewer}, Millis{0});
  for (uint32_t i = 0; i < 2 * AdminAuthenticator::kWrongOfAddress.burst; ++i) {
    ASSERT_OK(authenticator_.verify(token, now_)) << "what is right is not limited";
  }
  for (uint32_t i = 0; i < AdminAuthenticator::kWrongOfAddress.burst; ++i) {
    ASSERT_ERROR(authenticator_.verify(i % 2 == 0 ? spoiled(token) : expired, now_), ErrorCode::unauthenticated, "");
  }
  EXPECT_ERROR(authenticator_.verify(spoiled(token), now_), ErrorCode::rate_limited, "in a second");
  EXPECT_ERROR(authenticator_.verify(token, now_), ErrorCode::rate_limited, "in a second")
      << "nobody is told apart yet";
  EXPECT_TRUE(authenticator_.recall(token, now_)) << "but who is remembered gets in";
  EXPECT_ERROR(authenticator_.verify(generate_admin_token().text, now_), ErrorCode::unauthenticated, "")
      << "what costs no hash is not limited";
  pass(Millis{1000});
  EXPECT_OK(authenticator_.verify(token, now_));
}

TEST_F(AdminAuthenticatorTest, LooksUpFewIdsThatDoNotExist) {
  constexpr CallerKey kStranger{0, 1}, kElsewhere{0, 2};
  const std::string token = add({Role::viewer});
  const int before = store_.reads;
  for (int i = 0; i < 1'000; ++i) (void)authenticator_.verify(generate_admin_token().text, now_, kStranger);
  EXPECT_EQ(store_.reads - before, static_cast<int>(AdminAuthenticator::kUnknownOfAddress.burst));
  EXPECT_ERROR(authenticator_.verify(generate_admin_token().text, now_, kStranger), ErrorCode::rate_limited,
               "do not exist");
  EXPECT_OK(authenticator_.verify(token, now_, kElsewhere)) << "others are not held up";
  pass(Millis{1000});
  EXPECT_OK(authenticator_.verify(token, now_, kStranger)) << "nor is this address for long";
}

TEST_F(AdminAuthenticatorTest, RemembersForAWhileThatAnIdDoesNotExist) {
  const std::string removed = add({Role::viewer});
  ASSERT_OK(store_.remove_admin_token(id_of(removed)));
  EXPECT_ERROR(authenticator_.verify(removed, now_), ErrorCode::unauthenticated, "bearer token");
  const int reads = store_.reads;
  for (int i = 0; i < 1'000; ++i)
    ASSERT_ERROR(authenticator_.verify(removed, now_), ErrorCode::unauthenticated, "bearer token");
  EXPECT_EQ(store_.reads, reads);
  EXPECT_OK(authenticator_.verify(add({Role::viewer}), now_)) << "it does not count against its address";
  const int later = store_.reads;
  pass(AdminAuthenticator::kUnknownFor);
  EXPECT_ERROR(authenticator_.verify(removed, now_), ErrorCode::unauthenticated, "bearer token");
  EXPECT_EQ(store_.reads, later + 1);
}

TEST_F(AdminAuthenticatorTest, SaysAtOnceWhatNeedsNoStore) {
  const std::string token = add({Role::viewer});
  EXPECT_FALSE(authenticator_.answer_at_once(token, now_)) << "the store has to say it";
  ASSERT_OK(authenticator_.verify(token, now_));
  EXPECT_EQ(**authenticator_.answer_at_once(token, now_), (AdminCaller{id_of(token), {Role::viewer}}));
  EXPECT_EQ((*authenticator_.answer_at_once("cot_data-directory", now_))->id, kDataDirectoryTokenId);
  EXPECT_ERROR(*authenticator_.answer_at_once("a.b.c", now_), ErrorCode::unauthenticated, "bearer token")
      << "no provider's tokens are taken";
  AdminAuthenticator with_provider(store_, token_digest("cot_x"), [](std::string_view text, WallTime) {
    return Result<AdminCaller>(AdminCaller{"oidc:" + std::string(text), {Role::viewer}});
  });
  EXPECT_EQ((*with_provider.answer_at_once("a.b.c", now_))->id, "oidc:a.b.c");
  EXPECT_ERROR(*with_provider.answer_at_once("a.b", now_), ErrorCode::unauthenticated, "bearer token");
}

TEST_F(AdminAuthenticatorTest, HoldsUpNobodyElseForWhoShowsAnExpiredToken) {
  constexpr CallerKey kAttacker{0, 1}, kOther{0, 2};
  const std::string token = add({Role::viewer}), expired = add({Role::viewer}, Millis{0});
  for (int i = 0; i < 100; ++i) (void)authenticator_.verify(expired, now_, kAttacker);
  EXPECT_ERROR(authenticator_.verify(expired, now_, kAttacker), ErrorCode::rate_limited, "in a second");
  EXPECT_OK(authenticator_.verify(token, now_, kAttacker)) << "another token of the same address";
  EXPECT_ERROR(authenticator_.verify(expired, now_, kOther), ErrorCode::unauthenticated, "expired")
      << "the same token somewhere else";
  for (int i = 0; i < 100; ++i) (void)authenticator_.verify(spoiled(token), now_, kAttacker);
  EXPECT_OK(authenticator_.verify(token, now_, kOther)) << "who guesses at a token does not lock it";
}

TEST_F(AdminAuthenticatorTest, TellsWhoWatchesATokenThatItIsGone) {
  const auto first = authenticator_.watch("a"), same = authenticator_.watch("a"), other = authenticator_.watch("b");
  const auto of_directory = authenticator_.watch("admin-token");
  authenticator_.forget("a");
  EXPECT_FALSE(*first);
  EXPECT_FALSE(*same);
  EXPECT_TRUE(*other);
  EXPECT_TRUE(*authenticator_.watch("a")) << "whoever looks into the store next sees that there is none";
  authenticator_.replace_data_directory_digest(token_digest("cot_another"));
  EXPECT_FALSE(*of_directory);
}

TEST_F(AdminAuthenticatorTest, GivesAStoresFailureAsItIs) {
  const std::string token = add({Role::viewer});
  store_.failure = Error(ErrorCode::unavailable, "database: locked");
  EXPECT_ERROR(authenticator_.verify(token, now_), ErrorCode::unavailable, "locked");
}

TEST(AdminToken, HasItsIdInIt) {
  const NewAdminToken a = generate_admin_token(), b = generate_admin_token();
  EXPECT_EQ(admin_token_id(a.text), a.id);
  EXPECT_NE(a.id, b.id);
  EXPECT_NE(a.text.substr(22), b.text.substr(22));
}

}  // namespace
}  // namespace coterie
