// Many servers, or threads, that add to what one tenant has at the same moment: as many are admitted as there is room
// for, not one more and not one less.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <thread>

#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_device_store.h"
#include "tests/support/memory_device_store.h"
#include "tests/unit/fl_server/admin/memory_admin_store.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"

namespace coterie {
namespace {

using namespace test;

constexpr size_t kServers = 4;
constexpr size_t kEach = 10;  // things that each of them adds
constexpr uint64_t kRoom = 13;

Digest digest_of(size_t server, size_t thing) {
  Digest digest = filled_digest(static_cast<uint8_t>(thing));
  digest.bytes[0] = static_cast<uint8_t>(server + 1);
  return digest;
}

// `add` one by one on kServers connections at once; how many were admitted. Everything else is refused as over quota.
template <typename Stores>
uint64_t admitted(const Stores& stores, const std::function<Status(decltype(*stores[0]), size_t, size_t)>& add,
                  const std::string& reason) {
  std::atomic<uint64_t> done{0};
  std::barrier start(static_cast<std::ptrdiff_t>(stores.size()));
  std::vector<std::thread> threads;
  for (size_t server = 0; server < stores.size(); ++server) {
    threads.emplace_back([&, server] {
      start.arrive_and_wait();
      for (size_t thing = 0; thing < kEach; ++thing) {
        const Status added = add(*stores[server], server, thing);
        if (added) ++done;
        else EXPECT_EQ(added.error().reason(), reason) << added.error().message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return done;
}

template <typename Backend>
class QuotaRaces : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_AVAILABLE(Backend);
    for (size_t i = 0; i < kServers; ++i) servers_.push_back(backend_.another());
  }
  Backend backend_;
  std::vector<decltype(std::declval<Backend>().another())> servers_;
};

template <typename Backend>
class AdminQuotaRaces : public QuotaRaces<Backend> {};
using AdminBackends = testing::Types<SqlBackend<SqlAdminStore, SqliteDatabase>,
                                     SqlBackend<SqlAdminStore, PostgresDatabase>, MemoryStoreBackend<MemoryAdminStore>>;
TYPED_TEST_SUITE(AdminQuotaRaces, AdminBackends, BackendNames);

TYPED_TEST(AdminQuotaRaces, UploadsFillTheirQuotaToTheByte) {
  EXPECT_EQ(admitted(
                this->servers_,
                [](auto& store, size_t server, size_t thing) {
                  return store.note_upload({"a", digest_of(server, thing), 10, wall(0)}, {.bytes = 10 * kRoom + 9});
                },
                "quota_blob_bytes"),
            kRoom);
  EXPECT_EQ(this->backend_.store().list_use()->at("a").at(Quota::blob_bytes), 10 * kRoom);
}

TYPED_TEST(AdminQuotaRaces, AdminTokensFillTheirQuota) {
  EXPECT_EQ(admitted(
                this->servers_,
                [](auto& store, size_t server, size_t thing) {
                  AdminTokenRecord token;
                  token.id = std::to_string(server) + "-" + std::to_string(thing);
                  token.tenant = "a";
                  return store.create_admin_token(token, {.of_tenant = kRoom});
                },
                "quota_admin_tokens"),
            kRoom);
  EXPECT_EQ(this->backend_.store().list_admin_tokens()->size(), kRoom);
}

TYPED_TEST(AdminQuotaRaces, KeysFillTheirQuota) {
  EXPECT_EQ(admitted(
                this->servers_,
                [](auto& store, size_t server, size_t thing) -> Status {
                  const IdempotencyKey key{.name = digest_of(server, thing), .body = filled_digest(1), .tenant = "a"};
                  COT_TRY(store.claim_key(key, wall(0), kRoom));
                  return {};
                },
                "quota_idempotency_keys"),
            kRoom);
}

template <typename Backend>
class JobQuotaRaces : public QuotaRaces<Backend> {};
using JobBackends = testing::Types<SqliteBackend, PostgresBackend, MemoryStoreBackend<MemoryTrainingStore>>;
TYPED_TEST_SUITE(JobQuotaRaces, JobBackends, BackendNames);

TYPED_TEST(JobQuotaRaces, JobsFillTheirQuota) {
  EXPECT_EQ(admitted(
                this->servers_,
                [](auto& store, size_t server, size_t thing) {
                  const std::string id = "j" + std::to_string(server) + "-" + std::to_string(thing);
                  return store.create_job(job_record(id), model_record(id, 0), QuotaClaim{"a", kRoom});
                },
                "quota_jobs"),
            kRoom);
  EXPECT_EQ(this->backend_.store().list_jobs()->size(), kRoom);
}

template <typename Backend>
class TokenQuotaRaces : public QuotaRaces<Backend> {};
using TokenBackends =
    testing::Types<SqlBackend<SqlDeviceStore, SqliteDatabase>, SqlBackend<SqlDeviceStore, PostgresDatabase>,
                   MemoryStoreBackend<MemoryDeviceStore>>;
TYPED_TEST_SUITE(TokenQuotaRaces, TokenBackends, BackendNames);

TYPED_TEST(TokenQuotaRaces, EnrollmentTokensFillTheirQuota) {
  EXPECT_EQ(admitted(
                this->servers_,
                [](auto& store, size_t server, size_t thing) {
                  const TokenRecord token{.digest = digest_of(server, thing),
                                          .population = Population("p"),
                                          .label = "",
                                          .uses_left = 1,
                                          .expires = wall(9),
                                          .created = wall(0)};
                  return store.create_token(token, QuotaClaim{"default", kRoom});
                },
                "quota_enrollment_tokens"),
            kRoom);
  EXPECT_EQ(this->backend_.store().list_tokens()->size(), kRoom);
}

}  // namespace
}  // namespace coterie
