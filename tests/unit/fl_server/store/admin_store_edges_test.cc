// The conformance suite of AdminStore, second part: edges, strangers' bytes, limits, order.
#include <gtest/gtest.h>

#include "fl_server/store/sql_admin_store.h"
#include "tests/unit/fl_server/admin/memory_admin_store.h"
#include "tests/unit/fl_server/store/store_backends.h"

namespace coterie {
namespace {

using namespace test;

constexpr const char* kHostile = "it's \xc3\xa4\xf0\x9f\x94\x91 ?1 $1 \\ %_ \"; DROP TABLE audit; --";
WallTime at(int64_t ms) { return wall_time_from_unix_ms(ms); }

AdminTokenRecord token(const std::string& id, int64_t created = 1) {
  return {id, "label", {Role::viewer}, "hash", "admin-token", at(created), at(created + 5)};
}

IdempotencyKey key_of(std::string_view key, std::string_view caller = "caller",
                      std::string_view operation = "createJob") {
  return *make_idempotency_key(key, caller, operation, {});
}

template <typename Backend>
class AdminStoreEdges : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  AdminStore& store() { return backend_.store(); }
  void append(const std::string& who, int64_t time, const std::string& action = "x") {
    ASSERT_OK(store().append_audit({.time = at(time), .who = who, .action = action}));
  }
  std::string numbers(const AuditQuery& query) {
    std::string text;
    const std::vector<AuditRecord> records = *store().list_audit(query);
    for (const AuditRecord& record : records) text += std::to_string(record.entry.seq) + " ";
    return text;
  }
  Backend backend_;
};
using Backends = testing::Types<SqlBackend<SqlAdminStore, SqliteDatabase>, SqlBackend<SqlAdminStore, PostgresDatabase>,
                                MemoryStoreBackend<MemoryAdminStore>>;
TYPED_TEST_SUITE(AdminStoreEdges, Backends, BackendNames);

TYPED_TEST(AdminStoreEdges, AnEmptyStoreHasNothing) {
  EXPECT_TRUE(this->store().list_admin_tokens()->empty());
  EXPECT_ERROR(this->store().get_admin_token(""), ErrorCode::not_found, "");
  EXPECT_ERROR(this->store().remove_admin_token("x"), ErrorCode::not_found, "");
  EXPECT_EQ(*this->store().audit_head(), AuditHead{});
  EXPECT_EQ(this->numbers({}), "");
  EXPECT_TRUE(this->store().list_owners(Owned::job)->empty());
}

TYPED_TEST(AdminStoreEdges, ATokenMayHaveEveryRoleOrNone) {
  AdminTokenRecord all = token("all"), none = token("none");
  for (const Role role : kRoles) all.roles.insert(role);
  none.roles = {};
  ASSERT_OK(this->store().create_admin_token(all));
  ASSERT_OK(this->store().create_admin_token(none));
  this->backend_.reopen();
  EXPECT_EQ(this->store().get_admin_token("all")->roles, all.roles);
  EXPECT_EQ(this->store().get_admin_token("none")->roles, RoleSet{});
}

TYPED_TEST(AdminStoreEdges, KeepsWhatATokenSaysToTheLetter) {
  AdminTokenRecord odd = token(kHostile);
  odd.label = std::string(10'000, 'l') + kHostile;
  odd.creator = "";
  odd.tenant = "acme";
  ASSERT_OK(this->store().create_admin_token(odd));
  this->backend_.reopen();
  const AdminTokenRecord kept = *this->store().get_admin_token(kHostile);
  EXPECT_EQ(kept.label, odd.label);
  EXPECT_EQ(kept.creator, "");
  EXPECT_EQ(kept.tenant, "acme");
  EXPECT_OK(this->store().remove_admin_token(kHostile));
}

TYPED_TEST(AdminStoreEdges, ATokenThatWasRemovedMayBeMadeAnew) {
  ASSERT_OK(this->store().create_admin_token(token("a", 1)));
  ASSERT_OK(this->store().remove_admin_token("a"));
  ASSERT_OK(this->store().create_admin_token(token("a", 7)));
  EXPECT_EQ(this->store().get_admin_token("a")->created, at(7));
}

TYPED_TEST(AdminStoreEdges, IdsAreNotFoldedOrTrimmed) {
  ASSERT_OK(this->store().create_admin_token(token("a")));
  for (const char* other : {"A", "a ", " a", "", "%"}) {
    EXPECT_ERROR(this->store().get_admin_token(other), ErrorCode::not_found, "") << "'" << other << "'";
    EXPECT_ERROR(this->store().remove_admin_token(other), ErrorCode::not_found, "") << "'" << other << "'";
  }
  EXPECT_OK(this->store().create_admin_token(token("A")));
}

// ---- Tenants

TYPED_TEST(AdminStoreEdges, NamesOfThingsAreTheirBytes) {
  EXPECT_EQ(*this->store().claim_for_tenant(Owned::population, kHostile, "a"), "a");
  EXPECT_EQ(*this->store().claim_for_tenant(Owned::population, "", "b"), "b");
  EXPECT_EQ(*this->store().claim_for_tenant(Owned::population, "Phones", "c"), "c");
  EXPECT_EQ(*this->store().claim_for_tenant(Owned::population, "phones", "d"), "d") << "another name";
  this->backend_.reopen();
  EXPECT_EQ(*this->store().owner_of(Owned::population, kHostile), "a");
  EXPECT_EQ(this->store().list_owners(Owned::population)->size(), 4u);
  EXPECT_TRUE(this->store().list_owners(Owned::job)->empty());
}

TYPED_TEST(AdminStoreEdges, AskingWhoOwnsAThingClaimsNothing) {
  EXPECT_EQ(*this->store().owner_of(Owned::job, "j"), "");
  EXPECT_TRUE(this->store().list_owners(Owned::job)->empty());
  EXPECT_EQ(*this->store().claim_for_tenant(Owned::job, "j", "default"), "default");
  EXPECT_EQ(*this->store().claim_for_tenant(Owned::job, "j", "acme"), "default") << "by name is claimed, too";
}

// ---- The audit log

TYPED_TEST(AdminStoreEdges, KeepsARecordToTheLetter) {
  const AuditEntry entry{.time = at(-7),
                         .who = std::string(kAuditTextCharsMax, 'w'),
                         .roles = "viewer, operator",
                         .action = "job.create",
                         .target = "/x?y='\\",
                         .outcome = UINT32_MAX,
                         .request = ""};
  const AuditHead head = *this->store().append_audit(entry);
  this->backend_.reopen();
  const std::vector<AuditRecord> records = *this->store().list_audit({});
  ASSERT_EQ(records.size(), 1u);
  AuditEntry numbered = entry;
  numbered.seq = 1;
  EXPECT_EQ(records[0].entry, numbered);
  EXPECT_EQ(records[0].digest, head.digest);
  EXPECT_EQ(head.digest, audit_digest(Digest(), numbered));
}

TYPED_TEST(AdminStoreEdges, NumbersRecordsItselfWhateverTheCallerSays) {
  for (const uint64_t said : {uint64_t{0}, uint64_t{9}, UINT64_MAX})
    ASSERT_OK(this->store().append_audit({.seq = said}));
  EXPECT_EQ(this->numbers({}), "1 2 3 ");
}

TYPED_TEST(AdminStoreEdges, ListsTheAuditLogInItsOrderThoughTheClockWentBack) {
  for (const int64_t time : {50, 10, 30}) this->append("a", time);
  EXPECT_EQ(this->numbers({}), "1 2 3 ");
  EXPECT_EQ(this->numbers({.since = at(20)}), "1 3 ");
  EXPECT_EQ(this->numbers({.until = at(50)}), "2 3 ");
  EXPECT_EQ(this->numbers({.since = at(30), .until = at(30)}), "") << "no moment is both";
  EXPECT_EQ(this->numbers({.since = at(30), .until = at(31)}), "3 ");
}

TYPED_TEST(AdminStoreEdges, ReadsTheAuditLogInPages) {
  for (int i = 0; i < 7; ++i) this->append(i % 3 == 0 ? "a" : "b", i);
  EXPECT_EQ(this->numbers({.limit = 3}), "1 2 3 ");
  EXPECT_EQ(this->numbers({.after = 3, .limit = 3}), "4 5 6 ");
  EXPECT_EQ(this->numbers({.after = 6, .limit = 3}), "7 ");
  EXPECT_EQ(this->numbers({.after = 7}), "");
  EXPECT_EQ(this->numbers({.after = 1'000'000}), "");
  EXPECT_EQ(this->numbers({.limit = 0}), "");
  EXPECT_EQ(this->numbers({.after = 1, .limit = 2, .who = "a"}), "4 7 ") << "the limit is of those that fit";
}

TYPED_TEST(AdminStoreEdges, FiltersTheAuditLogToTheLetter) {
  this->append("anna", 1, "job.create");
  this->append("Anna", 2, "job.create");
  this->append("anna ", 3, "job.pause");
  EXPECT_EQ(this->numbers({.who = "anna"}), "1 ");
  EXPECT_EQ(this->numbers({.who = "ann%"}), "");
  EXPECT_EQ(this->numbers({.who = "' OR '1'='1"}), "");
  EXPECT_EQ(this->numbers({.action = "job.create"}), "1 2 ");
  EXPECT_EQ(this->numbers({.who = "anna", .action = "job.pause"}), "");
}

// ---- Idempotency keys

TYPED_TEST(AdminStoreEdges, KeysOfOtherCallersAndOperationsAreOthers) {
  using State = KeyClaim::State;
  EXPECT_EQ(this->store().claim_key(key_of("k"), at(1))->state, State::claimed);
  EXPECT_EQ(this->store().claim_key(key_of("k", "another"), at(1))->state, State::claimed);
  EXPECT_EQ(this->store().claim_key(key_of("k", "caller", "other"), at(1))->state, State::claimed);
  EXPECT_EQ(this->store().claim_key(key_of("K"), at(1))->state, State::claimed);
  EXPECT_EQ(this->store().claim_key(key_of("k"), at(1))->state, State::under_way);
}

TYPED_TEST(AdminStoreEdges, TheFirstAnswerOfAKeyStands) {
  ASSERT_OK(this->store().claim_key(key_of("k"), at(1)));
  const KeptAnswer first{201, "/x", Bytes(100'000, 7)};
  ASSERT_OK(this->store().keep_answer(key_of("k"), first));
  ASSERT_OK(this->store().keep_answer(key_of("k"), {200, "/y", {1}}));
  this->backend_.reopen();
  EXPECT_EQ(this->store().claim_key(key_of("k"), at(1))->answer, first);
}

TYPED_TEST(AdminStoreEdges, AnAnswerWithoutABodyIsKept) {
  ASSERT_OK(this->store().claim_key(key_of("k"), at(1)));
  ASSERT_OK(this->store().keep_answer(key_of("k"), {204, "", {}}));
  this->backend_.reopen();
  const auto claim = this->store().claim_key(key_of("k"), at(1));
  EXPECT_EQ(claim->state, KeyClaim::State::answered);
  EXPECT_EQ(claim->answer, (KeptAnswer{204, "", {}}));
}

TYPED_TEST(AdminStoreEdges, WhatNobodyHasClaimedIsNeitherAnsweredNorReleased) {
  ASSERT_OK(this->store().keep_answer(key_of("k"), {201, "", {1}}));
  ASSERT_OK(this->store().release_key(key_of("k")));
  EXPECT_EQ(this->store().claim_key(key_of("k"), at(1))->state, KeyClaim::State::claimed);
}

TYPED_TEST(AdminStoreEdges, KeepsSoManyKeysAndTakesMoreOnceTheyAreOld) {
  for (size_t i = 0; i < kIdempotencyKeysMax; ++i) {
    ASSERT_EQ(this->store().claim_key(key_of(std::to_string(i)), at(1))->state, KeyClaim::State::claimed);
  }
  EXPECT_ERROR(this->store().claim_key(key_of("one-more"), at(2)), ErrorCode::rate_limited, "");
  EXPECT_EQ(this->store().claim_key(key_of("7"), at(2))->state, KeyClaim::State::under_way) << "known ones are known";
  ASSERT_OK(this->store().release_key(key_of("7")));
  EXPECT_EQ(this->store().claim_key(key_of("one-more"), at(2))->state, KeyClaim::State::claimed);
  EXPECT_EQ(this->store().claim_key(key_of("next-day"), at(2) + kIdempotencyKeptFor)->state, KeyClaim::State::claimed);
}

}  // namespace
}  // namespace coterie
