// Quotas where they are counted: what a tenant has, the refusal of one thing too many, and room that comes back. The
// same on every store.
#include "fl_server/records/quota.h"

#include <gtest/gtest.h>

#include <set>

#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_device_store.h"
#include "tests/support/memory_device_store.h"
#include "tests/unit/fl_server/admin/memory_admin_store.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"

namespace coterie {
namespace {

using namespace test;

TEST(Quota, RefusalsNameTheQuotaTheLimitWhatIsThereAndWhatToDo) {
  std::set<std::string_view> names, reasons;
  for (const Quota quota : kEveryQuota) {
    const Error error = over_quota(quota, "acme", 5, 6);
    names.insert(to_string(quota));
    reasons.insert(error.reason());
    EXPECT_EQ(error.reason(), "quota_" + std::string(to_string(quota)));
    EXPECT_TRUE(error.message().starts_with("quota " + std::string(to_string(quota)) +
                                            " of tenant acme: it may have 5, and would have 6; "))
        << error.message();
  }
  EXPECT_EQ(names.size(), kEveryQuota.size());
  EXPECT_EQ(reasons.size(), kEveryQuota.size());
}

UploadRecord upload(const std::string& tenant, uint8_t digest, uint64_t bytes, int64_t put = 0) {
  return {tenant, filled_digest(digest), bytes, wall(put)};
}

IdempotencyKey key(uint8_t name, const std::string& tenant) {
  return {.name = filled_digest(name), .body = filled_digest(1), .tenant = tenant};
}

AdminTokenRecord token(const std::string& id, const std::string& tenant) {
  AdminTokenRecord record{id, "of " + id, {Role::viewer}, "$argon2id$", "admin-token", wall(0), wall(5)};
  record.tenant = tenant;
  return record;
}

template <typename Backend>
class AdminQuotas : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  AdminStore& store() { return backend_.store(); }
  uint64_t used(const std::string& tenant, Quota quota) {
    auto use = store().list_use();
    EXPECT_OK(use);
    return use ? (*use)[tenant][quota] : 0;
  }
  Backend backend_;
};
using AdminBackends = testing::Types<SqlBackend<SqlAdminStore, SqliteDatabase>,
                                     SqlBackend<SqlAdminStore, PostgresDatabase>, MemoryStoreBackend<MemoryAdminStore>>;
TYPED_TEST_SUITE(AdminQuotas, AdminBackends, BackendNames);

TYPED_TEST(AdminQuotas, UploadsAreCountedOnceAndByTheirBytes) {
  constexpr UploadRoom kRoom{.uploads = 3, .bytes = 100};
  ASSERT_OK(this->store().note_upload(upload("a", 1, 60), kRoom));
  ASSERT_OK(this->store().note_upload(upload("a", 1, 60, 1), kRoom)) << "the same again is one";
  ASSERT_OK(this->store().note_upload(upload("a", 2, 40), kRoom)) << "to the last byte";
  const Status bytes = this->store().note_upload(upload("a", 3, 1), kRoom);
  ASSERT_ERROR(bytes, ErrorCode::conflict, "quota blob_bytes of tenant a: it may have 100, and would have 101");
  ASSERT_OK(this->store().note_upload(upload("a", 3, 0), kRoom)) << "what was refused has left nothing behind";
  ASSERT_ERROR(this->store().note_upload(upload("a", 4, 0), kRoom), ErrorCode::conflict,
               "quota uploads of tenant a: it may have 3, and would have 4");
  ASSERT_OK(this->store().note_upload(upload("b", 1, 100), kRoom)) << "of another tenant";
  this->backend_.reopen();
  EXPECT_EQ(this->used("a", Quota::uploads), 3u);
  EXPECT_EQ(this->used("a", Quota::blob_bytes), 100u);
  EXPECT_EQ(this->used("b", Quota::blob_bytes), 100u);
  ASSERT_OK(this->store().note_upload(upload("a", 1, 60, 2), {.uploads = 1, .bytes = 1}))
      << "what is there may be sent again, though the quota is lower now";
}

TYPED_TEST(AdminQuotas, WhatIsGoneMakesRoomForWhoeverHadIt) {
  constexpr UploadRoom kRoom{.uploads = 1};
  ASSERT_OK(this->store().note_upload(upload("a", 1, 9, 10), kRoom));
  ASSERT_OK(this->store().note_upload(upload("b", 1, 9, 30), kRoom));
  EXPECT_EQ(*this->store().list_uploads({}, 10), std::vector<Digest>{filled_digest(1)});
  ASSERT_OK(this->store().forget_upload(filled_digest(1), wall(20)));
  EXPECT_OK(this->store().note_upload(upload("a", 2, 9), kRoom));
  EXPECT_ERROR(this->store().note_upload(upload("b", 2, 9), kRoom), ErrorCode::conflict, "quota uploads of tenant b")
      << "it has sent it again since";
  EXPECT_EQ(*this->store().list_uploads({}, 1), std::vector<Digest>{filled_digest(1)});
  EXPECT_EQ(*this->store().list_uploads(filled_digest(1), 9), std::vector<Digest>{filled_digest(2)});
}

TYPED_TEST(AdminQuotas, KeysAreOfTheirTenantForADay) {
  ASSERT_OK(this->store().claim_key(key(1, "a"), wall(0), 2));
  ASSERT_OK(this->store().claim_key(key(2, "a"), wall(0), 2));
  const auto third = this->store().claim_key(key(3, "a"), wall(0), 2);
  ASSERT_ERROR(third, ErrorCode::rate_limited, "quota idempotency_keys of tenant a: it may have 2, and would have 3");
  EXPECT_EQ(this->store().claim_key(key(1, "a"), wall(0), 2)->state, KeyClaim::State::under_way) << "is known";
  EXPECT_OK(this->store().claim_key(key(3, "b"), wall(0), 2)) << "of another tenant";
  EXPECT_OK(this->store().claim_key(key(4, "*"), wall(0), 0)) << "who belongs to all has no quota";
  EXPECT_EQ(this->used("a", Quota::idempotency_keys), 2u);
  EXPECT_OK(this->store().claim_key(key(5, "a"), wall(0) + kIdempotencyKeptFor, 2)) << "the next day";
}

TYPED_TEST(AdminQuotas, AdminTokensAreOfTheirTenantAndOfAll) {
  constexpr AdminTokenRoom kRoom{.in_all = 4, .of_tenant = 2};
  ASSERT_OK(this->store().create_admin_token(token("a1", "a"), kRoom));
  ASSERT_OK(this->store().create_admin_token(token("a2", "a"), kRoom));
  EXPECT_ERROR(this->store().create_admin_token(token("a3", "a"), kRoom), ErrorCode::conflict,
               "quota admin_tokens of tenant a: it may have 2, and would have 3");
  ASSERT_OK(this->store().create_admin_token(token("e1", "*"), kRoom));
  ASSERT_OK(this->store().create_admin_token(token("b1", "b"), kRoom));
  EXPECT_ERROR(this->store().create_admin_token(token("e2", "*"), kRoom), ErrorCode::conflict, "admin tokens");
  EXPECT_EQ(this->used("a", Quota::admin_tokens), 2u);
  ASSERT_OK(this->store().remove_admin_token("a1"));
  EXPECT_OK(this->store().create_admin_token(token("a3", "a"), kRoom));
}

template <typename Backend>
class JobQuota : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  auto& store() { return backend_.store(); }
  Status create(const std::string& id, const std::string& tenant, uint64_t most) {
    return store().create_job(job_record(id), model_record(id, 0), QuotaClaim{tenant, most});
  }
  Backend backend_;
};
using JobBackends = testing::Types<SqliteBackend, PostgresBackend, MemoryBackend>;
TYPED_TEST_SUITE(JobQuota, JobBackends, BackendNames);

TYPED_TEST(JobQuota, IsOfJobsThatAreThere) {
  ASSERT_OK(this->store().create_job(job_record("old"), model_record("old", 0)));  // without an owner: default's
  ASSERT_OK(this->create("d", "default", 2));
  EXPECT_ERROR(this->create("d2", "default", 2), ErrorCode::conflict,
               "quota jobs of tenant default: it may have 2, and would have 3");
  ASSERT_OK(this->create("a1", "a", 1));
  const Status refused = this->create("a2", "a", 1);
  ASSERT_ERROR(refused, ErrorCode::conflict, "quota jobs of tenant a");
  EXPECT_EQ(refused.error().reason(), "quota_jobs");
  EXPECT_ERROR(this->store().get_job(JobId("a2")), ErrorCode::not_found, "");
  ASSERT_OK(this->store().set_job_state(JobId("a1"), JobState::cancelled, "enough"));
  EXPECT_ERROR(this->create("a2", "a", 1), ErrorCode::conflict, "quota jobs of tenant a") << "it is still there";
  ASSERT_OK(this->store().delete_job(JobId("a1"), {}));
  EXPECT_OK(this->create("a2", "a", 1));
  EXPECT_ERROR(this->create("a1", "a", 9), ErrorCode::conflict, "") << "an id is never given again";
}

// The files of versions are its tenant's, too; what is in an upload already is one file.
template <typename OnDatabase>
class BytesOfVersions : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(OnDatabase); }
};
using Databases = testing::Types<SqliteDatabase, PostgresDatabase>;
TYPED_TEST_SUITE(BytesOfVersions, Databases, BackendNames);

TYPED_TEST(BytesOfVersions, AreCountedWithUploads) {
  TypeParam database;
  const auto training = SqlTrainingStore::open(database.open());
  const auto admin = SqlAdminStore::open(database.open());
  ASSERT_OK(training);
  ASSERT_OK(admin);
  ModelRecord model = model_record("j", 0);
  model.bytes = 70;
  ASSERT_OK((*admin)->note_upload({"a", model.digest, model.bytes, wall(0)}, {.bytes = 100}));
  ASSERT_OK((*training)->create_job(job_record("j"), model, QuotaClaim{"a", 9}));
  ASSERT_OK((*admin)->note_upload(upload("a", 1, 30), {.bytes = 100})) << "the model was counted as it was sent";
  ASSERT_OK((*admin)->forget_upload(model.digest, wall(1)));
  EXPECT_ERROR((*admin)->note_upload(upload("a", 2, 1), {.bytes = 100}), ErrorCode::conflict,
               "quota blob_bytes of tenant a: it may have 100, and would have 101")
      << "the job has it";
  const auto use = (*admin)->list_use();
  ASSERT_OK(use);
  EXPECT_EQ(use->at("a"), (TenantUse{{Quota::blob_bytes, 100}, {Quota::uploads, 1}, {Quota::jobs, 1}}));
}

// The job has deltas; a delta that two versions name is one file.
TYPED_TEST(BytesOfVersions, HaveTheirDeltasAndWhatTheyWereRoundedFrom) {
  TypeParam database;
  const auto training = SqlTrainingStore::open(database.open());
  const auto admin = SqlAdminStore::open(database.open());
  ASSERT_OK(training);
  ASSERT_OK(admin);
  for (const std::string job : {"j", "k"}) {
    ModelRecord model = model_record(job, 0);
    model.bytes = 50;
    model.exact = filled_digest(0x71);
    model.deltas = {{filled_digest(0x72), filled_digest(0x73), 7}, {filled_digest(0x74), filled_digest(0x75), 8}};
    ASSERT_OK((*training)->create_job(job_record(job), model, QuotaClaim{"a", 9}));
  }
  EXPECT_EQ((*admin)->list_use()->at("a").at(Quota::blob_bytes), 50u + 50 + 7 + 8);
  EXPECT_OK((*admin)->note_upload(upload("a", 1, 5), {.bytes = 120}));
  EXPECT_ERROR((*admin)->note_upload(upload("a", 2, 1), {.bytes = 120}), ErrorCode::conflict, "would have 121");
}

template <typename OnDatabase>
void claim(SqlBackend<SqlDeviceStore, OnDatabase>& backend, const std::string& population, const std::string& tenant) {
  const auto admin = SqlAdminStore::open(backend.open_database());
  ASSERT_OK(admin);
  ASSERT_OK((*admin)->claim_for_tenant(Owned::population, population, tenant));
}
void claim(MemoryStoreBackend<MemoryDeviceStore>& backend, const std::string& population, const std::string& tenant) {
  backend.store().claim(population, tenant);
}

template <typename Backend>
class TokenQuota : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_AVAILABLE(Backend);
    claim(backend_, "cars", "a");
    claim(backend_, "vans", "a");
  }
  Status create(uint8_t digest, const std::string& population, const std::string& tenant) {
    const TokenRecord token{.digest = filled_digest(digest),
                            .population = Population(population),
                            .label = "",
                            .uses_left = 1,
                            .expires = wall(9),
                            .created = wall(0)};
    return backend_.store().create_token(token, QuotaClaim{tenant, 2});
  }
  Backend backend_;
};
using TokenBackends =
    testing::Types<SqlBackend<SqlDeviceStore, SqliteDatabase>, SqlBackend<SqlDeviceStore, PostgresDatabase>,
                   MemoryStoreBackend<MemoryDeviceStore>>;
TYPED_TEST_SUITE(TokenQuota, TokenBackends, BackendNames);

TYPED_TEST(TokenQuota, IsOfAllPopulationsOfTheTenant) {
  ASSERT_OK(this->create(1, "cars", "a"));
  ASSERT_OK(this->create(2, "vans", "a"));
  EXPECT_ERROR(this->create(3, "cars", "a"), ErrorCode::conflict,
               "quota enrollment_tokens of tenant a: it may have 2, and would have 3");
  EXPECT_OK(this->create(3, "phones", "default"));
  ASSERT_OK(this->backend_.store().remove_token(filled_digest(1)));
  EXPECT_OK(this->create(4, "vans", "a"));
}

}  // namespace
}  // namespace coterie
