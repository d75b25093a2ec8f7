// What the lock of a tenant is for (sql_tenant_lock.h): servers that add the last thing there is room for, all at once.
// Behind the lock one of them is admitted. A broken variant has a lock that locks nothing: then all of them are.
//
// Neither is a matter of luck. A trigger has each transaction that has counted wait at its commit until nobody gets any
// further: either all have counted, or one has and the others stand in front of the lock.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_device_store.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"

namespace coterie {
namespace {

using namespace test;

constexpr size_t kServers = 4;

enum class TenantLock : uint8_t { as_it_ships, locks_nothing };

// PostgreSQL alone has it: SQLite's writers are serial.
template <typename Store>
class QuotaLock {
 public:
  // Adds one thing as this server, within a quota of one.
  using Add = std::function<Status(Store& store, size_t server)>;

  explicit QuotaLock(const std::string& table) : table_(table) {
    for (size_t i = 0; i < kServers; ++i) servers_.push_back(backend_.another());
  }
  size_t admitted(TenantLock kind, const Add& add) {
    Result<Database> gate = backend_.open_database();
    EXPECT_OK(gate);
    if (!gate) return 0;
    EXPECT_OK(gate->execute(("CREATE FUNCTION wait_at_the_gate() RETURNS trigger LANGUAGE plpgsql AS "
                             "$$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$;"
                             "CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON " +
                             table_ + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_at_the_gate()")
                                .c_str()));
    // No row of a tenant is ever there, so no one can be locked.
    if (kind == TenantLock::locks_nothing) {
      EXPECT_OK(
          gate->execute("CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
                        "CREATE TRIGGER no_row BEFORE INSERT ON tenant FOR EACH ROW EXECUTE FUNCTION drop_row()"));
    }
    EXPECT_OK(gate->execute("SELECT pg_advisory_lock(1)"));
    std::vector<Status> added(kServers);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kServers; ++i) threads.emplace_back([&, i] { added[i] = add(*servers_[i], i); });
    EXPECT_OK(gate->execute(kUntilAllWait));
    EXPECT_OK(gate->execute("SELECT pg_advisory_unlock(1)"));
    for (std::thread& thread : threads) thread.join();
    size_t count = 0;
    for (const Status& one : added) {
      if (one) ++count;
      else EXPECT_TRUE(one.error().reason().starts_with("quota_")) << one.error().message();
    }
    return count;
  }

 private:
  static_assert(kServers == 4, "kUntilAllWait says so, too");
  static constexpr const char* kUntilAllWait =
      "DO $$ BEGIN WHILE (SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted) < 4 "
      "LOOP PERFORM pg_sleep(0.01); END LOOP; END $$";

  const std::string table_;
  SqlBackend<Store, PostgresDatabase> backend_;
  std::vector<std::unique_ptr<Store>> servers_;
};

template <typename Store>
void expect_one_behind_the_lock_and_all_without(const std::string& table, const typename QuotaLock<Store>::Add& add) {
  EXPECT_EQ(QuotaLock<Store>(table).admitted(TenantLock::as_it_ships, add), 1u);
  EXPECT_EQ(QuotaLock<Store>(table).admitted(TenantLock::locks_nothing, add), kServers) << "the race is not there";
}

class QuotaLockOnPostgres : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(PostgresDatabase); }
};

Digest digest_of(size_t server) { return filled_digest(static_cast<uint8_t>(server + 1)); }

TEST_F(QuotaLockOnPostgres, KeepsUploadsToTheirQuota) {
  expect_one_behind_the_lock_and_all_without<SqlAdminStore>("upload", [](SqlAdminStore& store, size_t server) {
    return store.note_upload({"a", digest_of(server), 10, wall(0)}, {.bytes = 19});
  });
}

TEST_F(QuotaLockOnPostgres, KeepsAdminTokensToTheirQuota) {
  expect_one_behind_the_lock_and_all_without<SqlAdminStore>("admin_token", [](SqlAdminStore& store, size_t server) {
    AdminTokenRecord token;
    token.id = std::to_string(server);
    token.tenant = "a";
    return store.create_admin_token(token, {.of_tenant = 1});
  });
}

TEST_F(QuotaLockOnPostgres, KeepsIdempotencyKeysToTheirQuota) {
  expect_one_behind_the_lock_and_all_without<SqlAdminStore>(
      "idempotency", [](SqlAdminStore& store, size_t server) -> Status {
        const IdempotencyKey key{.name = digest_of(server), .body = filled_digest(1), .tenant = "a"};
        COT_TRY(store.claim_key(key, wall(0), 1));
        return {};
      });
}

TEST_F(QuotaLockOnPostgres, KeepsJobsToTheirQuota) {
  expect_one_behind_the_lock_and_all_without<SqlTrainingStore>("job", [](SqlTrainingStore& store, size_t server) {
    const std::string id = "j" + std::to_string(server);
    return store.create_job(job_record(id), model_record(id, 0), QuotaClaim{"a", 1});
  });
}

TEST_F(QuotaLockOnPostgres, KeepsEnrollmentTokensToTheirQuota) {
  expect_one_behind_the_lock_and_all_without<SqlDeviceStore>("token", [](SqlDeviceStore& store, size_t server) {
    const TokenRecord token{.digest = digest_of(server),
                            .population = Population("p"),
                            .label = "",
                            .uses_left = 1,
                            .expires = wall(9),
                            .created = wall(0)};
    return store.create_token(token, QuotaClaim{"default", 1});
  });
}

}  // namespace
}  // namespace coterie
