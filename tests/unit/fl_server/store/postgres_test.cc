// PostgreSQL itself: its words, its errors, and what becomes of a connection.
#include "fl_server/store/sql/postgres.h"

#include <gmock/gmock.h>

#include <barrier>
#include <latch>
#include <thread>

#include "fl_server/store/schema.h"
#include "fl_server/store/sql_device_store.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

TEST(SqlText, IsPutIntoPostgresWords) {
  EXPECT_EQ(postgres_text("SELECT a FROM t WHERE b = ? AND c = ?"), "SELECT a FROM t WHERE b = $1 AND c = $2");
  EXPECT_EQ(postgres_text("SELECT ?2, ?1, ?2"), "SELECT $2, $1, $2");
  EXPECT_EQ(postgres_text("SELECT 1 /*! FOR UPDATE */"), "SELECT 1  FOR UPDATE ");
  EXPECT_EQ(postgres_text("SELECT '?' /* why? */"), "SELECT '?' /* why$1 */") << "our comments have no question marks";
}

class Postgres : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_AVAILABLE(PostgresDatabase);
    auto server = PostgresServer::start();  // of its own: it is killed
    ASSERT_OK(server);
    server_ = std::move(*server);
  }
  PostgresSettings settings() const { return {.conninfo = server_->conninfo()}; }
  std::unique_ptr<PostgresServer> server_;
};

TEST_F(Postgres, RefusesANewerSchema) {
  ASSERT_OK(SqlTrainingStore::open(open_postgres(settings())));
  Result<Database> database = open_postgres(settings());
  ASSERT_OK(database);
  const std::string newer = "UPDATE schema_version SET version = " + std::to_string(kSchemaVersion + 1);
  ASSERT_OK(database->execute(newer.c_str()));
  EXPECT_ERROR(SqlTrainingStore::open(open_postgres(settings())), ErrorCode::unsupported_version,
               "schema version " + std::to_string(kSchemaVersion + 1) + ", this server speaks " +
                   std::to_string(kSchemaVersion) + "; run the server that wrote it");
}

TEST_F(Postgres, AddsToAnOlderSchemaWhatItLacks) {
  auto store = SqlTrainingStore::open(open_postgres(settings()));
  ASSERT_OK(store);
  ASSERT_OK((*store)->create_job(job_record("j"), model_record("j", 0)));
  store->reset();
  Result<Database> database = open_postgres(settings());
  ASSERT_OK(database);
  ASSERT_OK(
      database->execute("DROP TABLE round_gates; DROP TABLE canary_source; DROP TABLE canary; DROP TABLE fleet_node; "
                        "DROP TABLE fleet_board; "
                        "DROP TABLE model_release; DROP TABLE tenancy; "
                        "DROP TABLE job_population; DROP TABLE population_budget; "
                        "DROP TABLE device_day; DROP TABLE audit_segment; ALTER TABLE device DROP COLUMN seen_day; "
                        "DROP TABLE tenant; DROP TABLE upload; ALTER TABLE idempotency DROP COLUMN tenant; "
                        "ALTER TABLE job DROP COLUMN deleted; ALTER TABLE accept DROP COLUMN examples; "
                        "ALTER TABLE round DROP COLUMN examples_median; ALTER TABLE round DROP COLUMN clip_norm; "
                        "ALTER TABLE model DROP COLUMN clip_norm; ALTER TABLE model DROP COLUMN evaluation_mae; "
                        "ALTER TABLE model DROP COLUMN exact; ALTER TABLE model DROP COLUMN deltas; "
                        "ALTER TABLE model DROP COLUMN evaluation_r2; ALTER TABLE job DROP COLUMN trained_value_count; "
                        "ALTER TABLE round DROP COLUMN proximal_mu; ALTER TABLE model DROP COLUMN proximal_mu; "
                        "ALTER TABLE model DROP COLUMN proximal_falls; ALTER TABLE model DROP COLUMN watch; ALTER "
                        "TABLE model DROP COLUMN update_norms; ALTER TABLE model DROP COLUMN update_cosines; ALTER "
                        "TABLE model DROP COLUMN evaluation_heads; ALTER TABLE device DROP COLUMN checked_in; "
                        "ALTER TABLE admin_token DROP COLUMN tenant; UPDATE schema_version SET version = 4"));
  store = SqlTrainingStore::open(open_postgres(settings()));
  ASSERT_OK(store);
  EXPECT_EQ((*store)->promote_model(JobId("j"), ModelVersion(0), wall(1))->seq, 1u);
}

TEST_F(Postgres, SharesADatabaseByTheSchemasName) {
  auto first = SqlTrainingStore::open(open_postgres(settings()));
  ASSERT_OK(first);
  PostgresSettings other = settings();
  other.schema = "other_fleet";
  auto second = SqlTrainingStore::open(open_postgres(other));
  ASSERT_OK(second);
  ASSERT_OK((*first)->create_job(job_record("j"), model_record("j", 0)));
  EXPECT_EQ((*second)->list_jobs()->size(), 0u);
  other.schema = "x; DROP TABLE job";
  EXPECT_ERROR(open_postgres(other), ErrorCode::invalid_argument, "lower-case letters");
}

TEST_F(Postgres, IsConnectedToAgainAfterACrash) {
  auto store = SqlTrainingStore::open(open_postgres(settings()));
  ASSERT_OK(store);
  ASSERT_OK((*store)->create_job(job_record("j"), model_record("j", 0)));
  server_->crash();
  EXPECT_ERROR((*store)->list_jobs(), ErrorCode::unavailable, "database: ");
  EXPECT_ERROR((*store)->create_job(job_record("k"), model_record("k", 0)), ErrorCode::unavailable, "database: ");
  ASSERT_OK(server_->restart());
  EXPECT_EQ((*store)->list_jobs()->size(), 1u) << "what was acknowledged is there";
  ASSERT_OK((*store)->create_job(job_record("k"), model_record("k", 0)));
}

// A restart between two calls is noticed, and nobody is troubled with it.
TEST_F(Postgres, ThatWasRestartedIsConnectedToInTheNextCall) {
  auto store = SqlTrainingStore::open(open_postgres(settings()));
  ASSERT_OK(store);
  ASSERT_OK(server_->restart());
  EXPECT_OK((*store)->list_jobs());
  ASSERT_OK(server_->restart());
  EXPECT_OK((*store)->create_job(job_record("j"), model_record("j", 0)));
}

// The schema is made with patience: on a busy machine that alone takes a while.
TEST_F(Postgres, ThatHangsIsGivenUpAndTriedAgain) {
  ASSERT_OK(SqlTrainingStore::open(open_postgres(settings())));
  PostgresSettings hasty = settings();
  hasty.statement_max = Millis(1'000);
  auto store = SqlTrainingStore::open(open_postgres(hasty));
  ASSERT_OK(store);
  server_->stall();
  EXPECT_ERROR((*store)->list_jobs(), ErrorCode::timed_out, "no answer in 1000 ms");
  server_->go_on();
  EXPECT_OK((*store)->list_jobs());
}

TEST_F(Postgres, ALockThatIsHeldTooLongTimesOut) {
  ASSERT_OK(SqlTrainingStore::open(open_postgres(settings())));
  PostgresSettings hasty = settings();
  hasty.lock_max = Millis(50);
  auto store = SqlTrainingStore::open(open_postgres(hasty));
  ASSERT_OK(store);
  ASSERT_OK((*store)->create_job(job_record("j"), model_record("j", 0)));
  Result<Database> other = open_postgres(settings());
  ASSERT_OK(other);
  ASSERT_OK(other->execute("BEGIN"));
  ASSERT_OK(other->execute("SELECT * FROM job FOR UPDATE"));
  EXPECT_ERROR((*store)->set_job_state(JobId("j"), JobState::paused, ""), ErrorCode::timed_out, "lock timeout");
  ASSERT_OK(other->execute("COMMIT"));
  EXPECT_OK((*store)->set_job_state(JobId("j"), JobState::paused, ""));
}

TEST_F(Postgres, WithoutItsTablesIsDataLoss) {
  auto store = SqlTrainingStore::open(open_postgres(settings()));
  ASSERT_OK(store);
  Result<Database> other = open_postgres(settings());
  ASSERT_OK(other);
  ASSERT_OK(other->execute("DROP TABLE accept"));
  EXPECT_ERROR((*store)->count_accepted({RoundId(1), Attempt(1)}), ErrorCode::data_loss, "does not exist");
}

TEST_F(Postgres, TakesNoTextItCannotKeep) {
  auto store = SqlDeviceStore::open(open_postgres(settings()));
  ASSERT_OK(store);
  const TokenRecord token{.digest = filled_digest(1),
                          .population = Population("p"),
                          .label = std::string("a\0b", 3),
                          .uses_left = 1,
                          .expires = wall(1),
                          .created = wall(0)};
  EXPECT_ERROR((*store)->create_token(token), ErrorCode::invalid_argument, "");
}

// The transaction is begun again by the one that PostgreSQL picked: here, once the other is through. At once they could
// well deadlock again.
TEST_F(Postgres, ADeadlockIsBegunAgain) {
  std::vector<Database> databases;
  for (int i = 0; i < 2; ++i) {
    auto database = open_postgres(settings());
    ASSERT_OK(database);
    databases.push_back(std::move(*database));
  }
  ASSERT_OK(databases[0].execute(
      "CREATE TABLE pair(id BIGINT PRIMARY KEY, n BIGINT); INSERT INTO pair VALUES(0, 0), (1, 0)"));
  std::array<int, 2> tries{};
  std::array<Status, 2> done;
  std::barrier both(2);
  std::latch one_is_through(1);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      const auto add_one = [&](size_t id) {
        return databases[i].execute(id == 0 ? "UPDATE pair SET n = n + 1 WHERE id = 0"
                                            : "UPDATE pair SET n = n + 1 WHERE id = 1");
      };
      done[i] = databases[i].transaction([&]() -> Status {
        const bool is_first_try = ++tries[i] == 1;
        if (!is_first_try) one_is_through.wait();
        COT_TRY(add_one(i));
        if (is_first_try) both.arrive_and_wait();
        return add_one(1 - i);
      });
      if (tries[i] == 1) one_is_through.count_down();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : done) EXPECT_OK(status);
  EXPECT_EQ(tries[0] + tries[1], 3);
  Statement sum = databases[0].prepare("SELECT CAST(sum(n) AS BIGINT) FROM pair");
  ASSERT_TRUE(*sum.step());
  EXPECT_EQ(sum.integer(0), 4);
}

TEST_F(Postgres, SaysNothingOfItsPassword) {
  constexpr const char* kSecret = "canary-4711";
  const std::string nowhere = "host=" + server_->conninfo().substr(5, server_->conninfo().find(' ') - 5);
  for (const std::string& conninfo :
       {"postgresql://coterie:" + std::string(kSecret) + "@[::1", "host=/nowhere password=" + std::string(kSecret),
        "password=" + std::string(kSecret) + " nonsense",
        nowhere + " user=nobody_here dbname=postgres password=" + kSecret}) {
    const Result<Database> database = open_postgres({.conninfo = conninfo});
    ASSERT_FALSE(database.has_value());
    EXPECT_THAT(database.error().message(), Not(HasSubstr(kSecret)));
    EXPECT_THAT(database.error().message(), HasSubstr("database: "));
  }
}

}  // namespace
}  // namespace coterie
