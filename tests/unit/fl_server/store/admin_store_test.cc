// The conformance suite of AdminStore.
#include "fl_server/store/admin_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "fl_server/store/sql_admin_store.h"
#include "tests/unit/fl_server/admin/memory_admin_store.h"
#include "tests/unit/fl_server/store/store_backends.h"

namespace coterie {
namespace {

using namespace test;

AdminTokenRecord token(const std::string& id, int64_t created) {
  return {id,
          "of " + id,
          {Role::viewer, Role::operator_},
          "$argon2id$",
          "admin-token",
          wall_time_from_unix_ms(created),
          wall_time_from_unix_ms(created + 5)};
}

template <typename Backend>
class AdminStoreConformance : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  AdminStore& store() { return backend_.store(); }
  Backend backend_;
};
using SqlBackends =
    testing::Types<SqlBackend<SqlAdminStore, SqliteDatabase>, SqlBackend<SqlAdminStore, PostgresDatabase>>;
using Backends = testing::Types<SqlBackend<SqlAdminStore, SqliteDatabase>, SqlBackend<SqlAdminStore, PostgresDatabase>,
                                MemoryStoreBackend<MemoryAdminStore>>;
TYPED_TEST_SUITE(AdminStoreConformance, Backends, BackendNames);
// What only a database can be asked.
template <typename Backend>
class AdminStoreOnSql : public AdminStoreConformance<Backend> {};
TYPED_TEST_SUITE(AdminStoreOnSql, SqlBackends, BackendNames);

TYPED_TEST(AdminStoreConformance, KeepsTokensAsTheyAreOldestFirst) {
  ASSERT_OK(this->store().create_admin_token(token("bb", 20)));
  ASSERT_OK(this->store().create_admin_token(token("cc", 10)));
  ASSERT_OK(this->store().create_admin_token(token("aa", 20)));
  EXPECT_ERROR(this->store().create_admin_token(token("aa", 30)), ErrorCode::conflict, "");
  this->backend_.reopen();
  const auto list = this->store().list_admin_tokens();
  ASSERT_OK(list);
  ASSERT_EQ(list->size(), 3u);
  EXPECT_EQ((*list)[0].id + (*list)[1].id + (*list)[2].id, "ccaabb");
  const auto one = this->store().get_admin_token("bb");
  ASSERT_OK(one);
  EXPECT_EQ(one->label, "of bb");
  EXPECT_EQ(one->roles, (RoleSet{Role::viewer, Role::operator_}));
  EXPECT_EQ(one->hash, "$argon2id$");
  EXPECT_EQ(one->creator, "admin-token");
  EXPECT_EQ(one->created, wall_time_from_unix_ms(20));
  EXPECT_EQ(one->expires, wall_time_from_unix_ms(25));
}

TYPED_TEST(AdminStoreConformance, GivesAThingToTheTenantThatClaimsItFirst) {
  AdminTokenRecord of_acme = token("aa", 1);
  of_acme.tenant = "acme";
  ASSERT_OK(this->store().create_admin_token(of_acme));
  ASSERT_OK(this->store().create_admin_token(token("bb", 2)));
  EXPECT_EQ(*this->store().owner_of(Owned::job, "j1"), "");
  EXPECT_EQ(*this->store().claim_for_tenant(Owned::job, "j1", "acme"), "acme");
  EXPECT_EQ(*this->store().claim_for_tenant(Owned::job, "j1", "other"), "acme");
  EXPECT_EQ(*this->store().claim_for_tenant(Owned::job, "j1", "acme"), "acme");
  EXPECT_EQ(*this->store().claim_for_tenant(Owned::population, "j1", "other"), "other") << "another kind of thing";
  this->backend_.reopen();
  EXPECT_EQ(*this->store().owner_of(Owned::job, "j1"), "acme");
  EXPECT_EQ(*this->store().list_owners(Owned::job), (std::map<std::string, std::string>{{"j1", "acme"}}));
  EXPECT_EQ(this->store().get_admin_token("aa")->tenant, "acme");
  EXPECT_EQ(this->store().list_admin_tokens()->at(1).tenant, "*");
}

// Two servers at once: one of them has it, and both say so.
TYPED_TEST(AdminStoreConformance, GivesAThingToOneOfTwoTenantsThatClaimItAtOnce) {
  const auto other = this->backend_.another();
  constexpr int kThings = 30;
  std::vector<std::string> here(kThings), there(kThings);
  const auto claim_all = [](AdminStore& store, const std::string& tenant, std::vector<std::string>& owners) {
    for (int i = 0; i < kThings; ++i) {
      const auto owner = store.claim_for_tenant(Owned::population, "p" + std::to_string(i), tenant);
      EXPECT_OK(owner);
      owners[static_cast<size_t>(i)] = owner.value_or("");
    }
  };
  std::thread thread([&] { claim_all(*other, "b", there); });
  claim_all(this->store(), "a", here);
  thread.join();
  EXPECT_EQ(here, there);
}

TYPED_TEST(AdminStoreConformance, RemovesATokenOnce) {
  ASSERT_OK(this->store().create_admin_token(token("aa", 1)));
  ASSERT_OK(this->store().remove_admin_token("aa"));
  EXPECT_ERROR(this->store().remove_admin_token("aa"), ErrorCode::not_found, "admin token");
  EXPECT_ERROR(this->store().get_admin_token("aa"), ErrorCode::not_found, "admin token");
}

// ---- The audit log

TYPED_TEST(AdminStoreConformance, TiesEachAuditRecordToTheOneBeforeAlsoOverARestart) {
  AuditVerifier verifier;
  for (int i = 0; i < 6; ++i) {
    this->backend_.reopen();
    const auto head =
        this->store().append_audit({.time = wall_time_from_unix_ms(i), .who = i % 2 == 0 ? "a" : "b", .action = "x.y"});
    ASSERT_OK(head);
    EXPECT_EQ(head->seq, static_cast<uint64_t>(i + 1));
    EXPECT_EQ(*this->store().audit_head(), *head);
  }
  const auto all = this->store().list_audit({});
  ASSERT_OK(all);
  for (const AuditRecord& record : *all) ASSERT_OK(verifier.append(record));
  EXPECT_EQ(verifier.head(), *this->store().audit_head());
  const auto some = this->store().list_audit({.after = 1, .limit = 2, .who = "b", .action = "x.y"});
  ASSERT_OK(some);
  ASSERT_EQ(some->size(), 2u);
  EXPECT_EQ((*some)[0].entry.seq, 2u);
  EXPECT_EQ((*some)[1].entry.seq, 4u);
  EXPECT_TRUE(this->store().list_audit({.action = "x"})->empty());
  const auto at = [](int64_t ms) { return wall_time_from_unix_ms(ms); };
  EXPECT_EQ(this->store().list_audit({.since = at(2)})->front().entry.seq, 3u);
  EXPECT_EQ(this->store().list_audit({.until = at(2)})->back().entry.seq, 2u) << "before, not at";
  EXPECT_EQ(this->store().list_audit({.who = "a", .since = at(1), .until = at(4)})->size(), 1u);
}

// The next `count` records behind the last segment.
AuditSegment segment_of(AdminStore& store, size_t count) {
  const auto segments = store.list_audit_segments();
  AuditSegment segment{.before = {}, .head = {}, .blob = Digest(), .bytes = count * 100, .sealed = {}};
  if (!segments->empty()) segment.before = segments->back().head;
  const auto records = store.list_audit({.after = segment.before.seq, .limit = count});
  segment.head = {records->back().entry.seq, records->back().digest};
  segment.sealed = wall_time_from_unix_ms(static_cast<int64_t>(segment.head.seq));
  segment.blob->bytes.fill(static_cast<uint8_t>(segment.head.seq));
  return segment;
}

TYPED_TEST(AdminStoreConformance, ForgetsNoAuditRecordThatIsNotSealed) {
  AdminStore& store = this->store();
  EXPECT_TRUE(store.list_audit_segments()->empty());
  EXPECT_EQ(*store.forget_audit(10), 0u);
  for (int i = 0; i < 7; ++i) ASSERT_OK(store.append_audit({.who = std::to_string(i)}));
  const auto all = store.list_audit({});
  EXPECT_EQ(*store.forget_audit(10), 0u);
  const AuditSegment first = segment_of(store, 3);
  ASSERT_OK(store.seal_audit(first));
  EXPECT_ERROR(store.seal_audit(first), ErrorCode::conflict, "sealed up to") << "as another server did";
  EXPECT_EQ(store.list_audit({})->size(), 7u) << "a seal removes nothing";
  EXPECT_EQ(*store.forget_audit(2), 2u);
  const AuditSegment second = segment_of(store, 3);
  EXPECT_EQ(second.before, first.head);
  ASSERT_OK(store.seal_audit(second));
  EXPECT_EQ(*store.forget_audit(10), 4u);
  EXPECT_ERROR(store.seal_audit(segment_of(store, 1)), ErrorCode::conflict, "leaves the newest")
      << "the chain's end stays";
  this->backend_.reopen();
  EXPECT_EQ(*this->store().list_audit_segments(), (std::vector{first, second}));
  EXPECT_EQ(*this->store().list_audit({}), (std::vector{all->back()}));
  const auto next = this->store().append_audit({.who = "next"});
  ASSERT_OK(next);
  EXPECT_EQ(next->seq, 8u) << "the chain goes on";
  AuditVerifier verifier({}, second.head);
  const auto rest = this->store().list_audit({});
  for (const AuditRecord& record : *rest) EXPECT_OK(verifier.append(record));
  EXPECT_EQ(verifier.head(), *next);
}

TYPED_TEST(AdminStoreConformance, SealsWhatIsThereAndNothingElse) {
  AdminStore& store = this->store();
  for (int i = 0; i < 5; ++i) ASSERT_OK(store.append_audit({.who = std::to_string(i)}));
  const AuditSegment good = segment_of(store, 3);
  AuditSegment gap = good, other = good, beyond = good;
  gap.before = {1, good.head.digest};
  other.head.digest = Digest();
  beyond.head.seq = 9;
  for (const AuditSegment& bad : {gap, other, beyond})
    EXPECT_ERROR(store.seal_audit(bad), ErrorCode::conflict, "a segment begins behind");
  EXPECT_TRUE(store.list_audit_segments()->empty());
  EXPECT_OK(store.seal_audit(good));
}

TYPED_TEST(AdminStoreConformance, KeepsTheSealOfASegmentWhoseFileGoes) {
  AdminStore& store = this->store();
  for (int i = 0; i < 7; ++i) ASSERT_OK(store.append_audit({.who = std::to_string(i)}));
  for (int i = 0; i < 2; ++i) ASSERT_OK(store.seal_audit(segment_of(store, 3)));
  std::vector<AuditSegment> segments = *store.list_audit_segments();
  EXPECT_EQ(*store.drop_audit_segments(segments[1].sealed), std::vector{segments[0]});
  EXPECT_TRUE(store.drop_audit_segments(segments[1].sealed)->empty()) << "once";
  segments[0].blob.reset();
  segments[0].bytes = 0;
  this->backend_.reopen();
  EXPECT_EQ(*this->store().list_audit_segments(), segments);
}

TYPED_TEST(AdminStoreOnSql, LetsNoAuditRecordBeChangedOrCutByMistake) {
  ASSERT_OK(this->store().append_audit({.who = "a"}));
  Result<Database> database = this->backend_.open_database();
  ASSERT_OK(database);
  EXPECT_ERROR(database->execute("UPDATE audit SET who = 'b'"), ErrorCode::conflict, "records stay");
  EXPECT_ERROR(database->execute("DELETE FROM audit"), ErrorCode::conflict, "records stay");
  ASSERT_OK(this->store().append_audit({.who = "b"}));
  ASSERT_OK(this->store().seal_audit(segment_of(this->store(), 1)));
  EXPECT_ERROR(database->execute("DELETE FROM audit"), ErrorCode::conflict, "records stay") << "one is sealed";
}

// Two servers write at once: one chain.
TYPED_TEST(AdminStoreConformance, TiesTheRecordsOfTwoServersIntoOneChain) {
  const auto other = this->backend_.another();
  constexpr int kEach = 30;
  const auto write = [](AdminStore& store, const std::string& who) {
    for (int i = 0; i < kEach; ++i) EXPECT_OK(store.append_audit({.time = wall_time_from_unix_ms(i), .who = who}));
  };
  std::thread thread([&] { write(*other, "b"); });
  write(this->store(), "a");
  thread.join();
  const auto all = this->store().list_audit({.limit = 1'000});
  ASSERT_OK(all);
  ASSERT_EQ(all->size(), 2u * kEach);
  AuditVerifier verifier;
  for (const AuditRecord& record : *all) ASSERT_OK(verifier.append(record));
}

// ---- Idempotency keys

const WallTime kNow = wall_time_from_unix_ms(1'000'000);
IdempotencyKey key_of(std::string_view key, std::string_view body = "{}") {
  return *make_idempotency_key(key, "caller", "createJob", as_bytes(body));
}

TYPED_TEST(AdminStoreConformance, GivesAKeyToOneAndItsAnswerToTheOthers) {
  const KeptAnswer answer{201, "/admin/v1/jobs/j1", {1, 2, 3}};
  EXPECT_EQ(this->store().claim_key(key_of("k"), kNow)->state, KeyClaim::State::claimed);
  EXPECT_EQ(this->store().claim_key(key_of("k"), kNow)->state, KeyClaim::State::under_way) << "also after a restart";
  EXPECT_EQ(this->store().claim_key(key_of("k", "[]"), kNow)->state, KeyClaim::State::other_body);
  ASSERT_OK(this->store().keep_answer(key_of("k"), answer));
  const auto again = this->store().claim_key(key_of("k"), kNow + kIdempotencyKeptFor - Millis{1});
  ASSERT_OK(again);
  EXPECT_EQ(again->state, KeyClaim::State::answered);
  EXPECT_EQ(again->answer, answer);
  EXPECT_EQ(this->store().claim_key(key_of("k", "[]"), kNow)->state, KeyClaim::State::other_body);
  EXPECT_EQ(this->store().claim_key(key_of("other"), kNow)->state, KeyClaim::State::claimed);
  EXPECT_EQ(this->store().claim_key(key_of("k"), kNow + kIdempotencyKeptFor)->state, KeyClaim::State::claimed)
      << "a day later";
}

TYPED_TEST(AdminStoreConformance, ReleasesAKeyOnlyWhileItIsUnderWay) {
  this->backend_.reopen();
  ASSERT_OK(this->store().claim_key(key_of("k"), kNow));
  ASSERT_OK(this->store().release_key(key_of("k")));
  EXPECT_EQ(this->store().claim_key(key_of("k"), kNow)->state, KeyClaim::State::claimed);
  ASSERT_OK(this->store().keep_answer(key_of("k"), {201, "", {}}));
  ASSERT_OK(this->store().release_key(key_of("k")));
  EXPECT_EQ(this->store().claim_key(key_of("k"), kNow)->state, KeyClaim::State::answered);
}

TEST(IdempotencyKey, IsOfItsCallerOperationAndKey) {
  const auto name = [](std::string_view key, std::string_view caller, std::string_view operation) {
    return make_idempotency_key(key, caller, operation, {})->name;
  };
  EXPECT_EQ(name("k", "c", "o"), name("k", "c", "o"));
  EXPECT_NE(name("k", "c", "o"), name("k", "d", "o"));
  EXPECT_NE(name("k", "c", "o"), name("k", "c", "p"));
  EXPECT_NE(name("k", "co", ""), name("k", "c", "o"));
  EXPECT_OK(make_idempotency_key(std::string(kIdempotencyKeyCharsMax, '~'), "", "", {}));
  for (const std::string& wrong :
       {std::string(), std::string(kIdempotencyKeyCharsMax + 1, 'k'), std::string("a b"), std::string("\xc3\xa4")}) {
    EXPECT_ERROR(make_idempotency_key(wrong, "", "", {}), ErrorCode::invalid_argument, "Idempotency-Key");
  }
}

}  // namespace
}  // namespace coterie
