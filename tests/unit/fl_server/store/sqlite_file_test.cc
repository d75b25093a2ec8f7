// What SQLite's file may do to us: another schema, damage, a full disk.
#include <sys/mount.h>

#include "base/os/file.h"
#include "fl_server/store/schema.h"
#include "fl_server/store/sql/sqlite.h"
#include "fl_server/store/sql_device_store.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

// A database of today becomes one of version 6.
#define kWithoutVersions7To12                                                                                         \
  "DROP TABLE round_gates; DROP TABLE canary_source; DROP TABLE canary; DROP INDEX device_by_seen_day; ALTER TABLE "  \
  "device DROP COLUMN seen_day; DROP TABLE device_day; "                                                              \
  "DROP TRIGGER audit_is_never_cut; DROP TABLE audit_segment; CREATE TRIGGER audit_is_never_cut BEFORE DELETE ON "    \
  "audit "                                                                                                            \
  "BEGIN SELECT RAISE(ABORT, 'audit: records stay'); END; "                                                           \
  "DROP TABLE tenant; DROP TABLE upload; ALTER TABLE idempotency DROP COLUMN tenant; ALTER TABLE job DROP COLUMN "    \
  "deleted; ALTER TABLE accept DROP COLUMN examples; ALTER TABLE round DROP COLUMN examples_median; "                 \
  "ALTER TABLE device DROP COLUMN checked_in; ALTER TABLE round DROP COLUMN clip_norm; "                              \
  "ALTER TABLE model DROP COLUMN evaluation_mae; ALTER TABLE model DROP COLUMN evaluation_r2; "                       \
  "ALTER TABLE model DROP COLUMN exact; ALTER TABLE model DROP COLUMN deltas; "                                       \
  "ALTER TABLE round DROP COLUMN proximal_mu; ALTER TABLE model DROP COLUMN proximal_mu; "                            \
  "ALTER TABLE model DROP COLUMN proximal_falls; ALTER TABLE model DROP COLUMN watch; ALTER TABLE model DROP COLUMN " \
  "update_norms; ALTER TABLE model DROP COLUMN update_cosines; ALTER TABLE model DROP COLUMN evaluation_heads; "      \
  "ALTER TABLE model DROP COLUMN clip_norm; ALTER TABLE job DROP COLUMN trained_value_count; "

using namespace test;

class SqliteFile : public testing::Test {
 protected:
  std::string path() const { return directory_ / "db"; }
  Result<std::unique_ptr<SqlTrainingStore>> open() const { return SqlTrainingStore::open(open_sqlite(path())); }
  void execute(const std::string& sql) const {
    Result<Database> database = open_sqlite(path());
    ASSERT_OK(database);
    ASSERT_OK(database->execute(sql.c_str()));
  }
  // A store with a few hundred rows in one closed file.
  void fill() const {
    const auto store = open();
    ASSERT_OK(store);
    for (int i = 0; i < 200; ++i) {
      const std::string id = "job" + std::to_string(i);
      ASSERT_OK((*store)->create_job(job_record(id), model_record(id, 0)));
    }
  }
  Bytes bytes() const { return *os::read_file(path(), 100 << 20); }
  void write(const Bytes& bytes) const { ASSERT_OK(os::write_file_atomically(path(), bytes)); }

  TemporaryDirectory directory_{memory_disk()};
};

TEST_F(SqliteFile, IsCreatedOnceAndSharedByBothStores) {
  ASSERT_OK(open());
  ASSERT_OK(SqlDeviceStore::open(open_sqlite(path())));
  ASSERT_OK(open());
}

TEST_F(SqliteFile, OfANewerSchemaIsRefused) {
  ASSERT_OK(open());
  execute("PRAGMA user_version = " + std::to_string(kSchemaVersion + 1));
  EXPECT_ERROR(open(), ErrorCode::unsupported_version,
               "schema version " + std::to_string(kSchemaVersion + 1) + ", this server speaks " +
                   std::to_string(kSchemaVersion));
  EXPECT_ERROR(SqlDeviceStore::open(open_sqlite(path())), ErrorCode::unsupported_version,
               "run the server that wrote it");
}

TEST_F(SqliteFile, ThatIsNoDatabaseIsDataLoss) {
  write(Bytes(10'000, 'x'));
  EXPECT_ERROR(open(), ErrorCode::data_loss, "not a database");
  EXPECT_EQ(bytes(), Bytes(10'000, 'x')) << "left as it is, for whoever can read it";
}

TEST_F(SqliteFile, InADirectoryThatDoesNotExistIsUnavailable) {
  EXPECT_ERROR(SqlTrainingStore::open(open_sqlite(directory_ / "absent/db")), ErrorCode::unavailable, "absent/db");
}

// The version says that the tables are there, but they are not: an answer, not an abort.
TEST_F(SqliteFile, WithoutItsTablesIsDataLoss) {
  execute("PRAGMA user_version = " + std::to_string(kSchemaVersion));
  EXPECT_ERROR(open(), ErrorCode::data_loss, "no such table") << "the ledger is read first";
  execute("PRAGMA user_version = 0");
  ASSERT_OK(open());
  execute(
      "DROP TABLE model_release; DROP TABLE accept; DROP TABLE round; DROP TABLE model; DROP TABLE job; DROP TABLE "
      "device");
  const auto store = open();
  ASSERT_OK(store);
  EXPECT_ERROR((*store)->list_jobs(), ErrorCode::data_loss, "no such table");
  EXPECT_ERROR((*store)->create_job(job_record("j"), model_record("j", 0)), ErrorCode::data_loss, "no such table");
  EXPECT_ERROR((*store)->count_accepted({RoundId(1), Attempt(1)}), ErrorCode::data_loss, "no such table");
  const auto devices = SqlDeviceStore::open(open_sqlite(path()));
  ASSERT_OK(devices);
  EXPECT_ERROR((*devices)->get_device({}), ErrorCode::data_loss, "no such table");
}

// ---- The privacy ledger

class SqliteLedgerFile : public SqliteFile {
 protected:
  // Round `number` of job j, reserved with a salt of this byte and, if asked for, committed.
  RoundKey release(uint64_t number, uint8_t salt, bool commits) const {
    const auto opened = open();
    EXPECT_OK(opened);
    TrainingStore& store = **opened;
    if (number == 1) EXPECT_OK(store.create_job(noisy_job_record("j"), model_record("j", 0)));
    const RoundKey key =
        store.open_round(JobId("j"), {number, {}, Attempt(1), model_record("j", number - 1)}, wall(1))->key;
    using enum RoundState;
    for (const auto& [from, to] : {std::pair(selecting, collecting), {collecting, frozen}, {frozen, finalizing}}) {
      EXPECT_TRUE(*store.move_round({key, from, to, "", 0}, wall(2)));
    }
    NoiseSalt fresh;
    std::ranges::fill(fresh.mutable_bytes(), salt);
    EXPECT_OK(store.reserve_release(key, fresh, wall(3)));
    if (!commits) return key;
    const FinalizedRound round{key, model_record("j", number), {3, 3, 30, 1, 2, 9}, filled_digest(0x77)};
    EXPECT_OK(store.commit_round(JobId("j"), {round, number, false, false}, wall(4)));
    return key;
  }
  // Checkpointed and closed.
  bool holds(const Bytes& needle) const {
    execute("PRAGMA wal_checkpoint(TRUNCATE)");
    const Bytes all = bytes();
    return std::search(all.begin(), all.end(), needle.begin(), needle.end()) != all.end();
  }
};

TEST_F(SqliteLedgerFile, IsAddedToAnOlderDatabase) {
  fill();
  execute(
      kWithoutVersions7To12
      "DROP TABLE job_population; DROP TABLE population_budget; DROP TABLE fleet_node; DROP TABLE fleet_board; DROP "
      "TABLE model_release; DROP TABLE tenancy; DROP TABLE lease; "
      "DROP TABLE admin_token; DROP TABLE audit; DROP TABLE idempotency; DROP TABLE ledger; DROP TABLE noise_salt; "
      "ALTER TABLE round DROP COLUMN ledger_head; "
      "ALTER TABLE round DROP COLUMN ledger_records; PRAGMA user_version = 1");
  const auto store = open();
  ASSERT_OK(store);
  EXPECT_EQ((*store)->list_jobs()->size(), 200u);
  EXPECT_TRUE((*store)->list_ledger(0, 10)->empty());
  release(1, 1, true);
  EXPECT_EQ((*store)->list_ledger(0, 10)->size(), 2u);
}

TEST_F(SqliteLedgerFile, IsLeftAsItIsByALaterVersion) {
  release(1, 1, true);
  execute(
      kWithoutVersions7To12
      "DROP TABLE job_population; DROP TABLE population_budget; DROP TABLE fleet_node; DROP TABLE fleet_board; DROP "
      "TABLE model_release; DROP TABLE tenancy; ALTER TABLE "
      "admin_token DROP COLUMN tenant; PRAGMA user_version = 4");
  const auto store = open();
  ASSERT_OK(store);
  EXPECT_EQ((*store)->list_ledger(0, 10)->size(), 2u);
  EXPECT_EQ((*store)->promote_model(JobId("j"), ModelVersion(1), wall(1))->seq, 1u) << "and has what is new";
}

// Rounds of before the server noted heads have none.
TEST_F(SqliteLedgerFile, HasNoHeadInRoundsOfAnOlderDatabase) {
  release(1, 1, true);
  release(2, 1, true);
  execute(
      kWithoutVersions7To12
      "DROP TABLE job_population; DROP TABLE population_budget; DROP TABLE fleet_node; DROP TABLE fleet_board; DROP "
      "TABLE model_release; DROP TABLE tenancy; DROP TABLE lease; "
      "DROP TABLE admin_token; DROP TABLE audit; DROP TABLE idempotency; ALTER TABLE round DROP COLUMN ledger_head; "
      "ALTER TABLE round DROP COLUMN ledger_records; "
      "PRAGMA user_version = 2");
  release(3, 1, true);
  const auto store = open();
  ASSERT_OK(store);
  const std::vector<RoundRecord> rounds = *(*store)->list_rounds(JobId("j"), {.limit = 10});
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds[2].ledger, LedgerHead{});
  EXPECT_EQ(rounds[1].ledger, LedgerHead{});
  EXPECT_EQ(rounds[0].ledger.records, 4u);
}

TEST_F(SqliteLedgerFile, ThatWasTamperedWithIsDataLoss) {
  release(1, 1, true);
  release(2, 1, false);
  for (const char* sql :
       {"UPDATE ledger SET variance = variance * 4 WHERE seq = 1", "UPDATE ledger SET contributors = 4 WHERE seq = 2",
        "DELETE FROM ledger WHERE seq = 2", "UPDATE ledger SET job = 'k' WHERE seq = 3",
        "UPDATE ledger SET seq = 9 WHERE seq = 3", "UPDATE ledger SET kind = 3, contributors = 0 WHERE seq = 2"}) {
    execute("PRAGMA wal_checkpoint(TRUNCATE)");
    const Bytes good = bytes();
    execute(sql);
    // The last record's own bytes are named by no other: only who has noted the head sees a change there.
    const auto store = open();
    const bool last = std::string_view(sql).find("job = 'k'") != std::string_view::npos;
    if (!last) EXPECT_ERROR(store, ErrorCode::data_loss, "privacy ledger") << sql;
    execute("PRAGMA wal_checkpoint(TRUNCATE)");
    write(good);
    ASSERT_OK(open());
  }
}

// What would take the noise off a model again is gone when the model is committed.
TEST_F(SqliteLedgerFile, ForgetsTheSaltOfNoiseThatIsReleased) {
  release(1, 0xa7, true);
  EXPECT_FALSE(holds(Bytes(32, 0xa7)));
  const RoundKey key = release(2, 0xb3, false);
  EXPECT_TRUE(holds(Bytes(32, 0xb3))) << "it is needed until then";
  ASSERT_TRUE(*(*open())->move_round({key, RoundState::finalizing, RoundState::failed, "cancelled", 0}, wall(5)));
  EXPECT_FALSE(holds(Bytes(32, 0xb3)));
}

// Whole pages overwritten, cut off or exchanged: every call answers or says data_loss. (Bytes changed inside a page are
// the file system's to find: SQLite has no checksums.)
TEST_F(SqliteFile, WithDamagedPagesSaysDataLoss) {
  fill();
  const Bytes good = bytes();
  constexpr size_t kPage = 4096;
  ASSERT_GT(good.size(), 8 * kPage);
  size_t losses = 0;
  const auto look = [&](const char* what, size_t page) {
    const auto store = open();
    const auto judge = [&](const auto& result) {
      if (result) return;
      ++losses;
      EXPECT_EQ(result.error().code(), ErrorCode::data_loss) << what << " " << page << ": " << result.error().message();
    };
    judge(store);
    if (!store) return;
    judge((*store)->list_jobs());
    judge((*store)->load_progress(JobId("job7")));
    judge((*store)->list_rounds(JobId("job7"), {.limit = 10}));
  };
  for (size_t page = 0; page < good.size() / kPage; ++page) {
    Bytes damaged = good;
    std::fill_n(damaged.begin() + static_cast<ptrdiff_t>(page * kPage), kPage, uint8_t{0xa5});
    write(damaged);
    look("overwritten page", page);
    damaged = good;
    damaged.resize(std::max<size_t>(page * kPage, 100));  // an empty file would be a new database
    write(damaged);
    look("cut before page", page);
  }
  EXPECT_GT(losses, good.size() / kPage) << "damage was found";
  write(good);
  const auto store = open();
  ASSERT_OK(store);
  EXPECT_EQ((*store)->list_jobs()->size(), 200u);
}

// A disk of half a megabyte. When it is full, nothing is half-written, and everything goes on when there is room again.
TEST_F(SqliteFile, SurvivesAFullDisk) {
  const std::string disk = directory_ / "disk";
  ASSERT_OK(os::make_directories(disk));
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=512k") != 0) {
    GTEST_SKIP() << "cannot mount a tmpfs here (needs root)";
  }
  {
    ASSERT_OK(os::write_file_atomically(disk + "/filler", Bytes(128 << 10)));
    auto opened = SqlTrainingStore::open(open_sqlite(disk + "/db"));
    ASSERT_OK(opened);
    SqlTrainingStore& store = **opened;
    ASSERT_OK(store.create_job(job_record("j"), model_record("j", 0)));
    const RoundKey key = store.open_round(JobId("j"), {1, {}, Attempt(1), model_record("j", 0)}, wall(0))->key;
    ASSERT_TRUE(*store.move_round({key, RoundState::selecting, RoundState::collecting, "", 0}, wall(0)));

    // 20 devices a batch, until there is no room for the next.
    uint64_t batches = 0;
    const auto accept = [&](uint64_t batch) {
      std::vector<AcceptRow> rows;
      for (uint64_t i = 0; i < 20; ++i) {
        DeviceId device;
        device.bytes[0] = static_cast<uint8_t>(batch >> 8);
        device.bytes[1] = static_cast<uint8_t>(batch);
        device.bytes[2] = static_cast<uint8_t>(i);
        rows.push_back({device});
      }
      return store.accept_batch(partial_record("n/" + std::to_string(batch), key, 20), rows);
    };
    BatchOutcome outcome = BatchDone{};
    for (; batches < 5'000 && std::holds_alternative<BatchDone>(outcome); ++batches) outcome = accept(batches);
    ASSERT_LT(batches, 5'000u) << "the disk never filled";
    --batches;
    EXPECT_EQ(text(outcome), "failed: storage_full");
    EXPECT_EQ(text(accept(batches)), "failed: storage_full") << "and again";
    // A job is smaller than a batch, and the log has room of its own for some; then it is the same for jobs.
    size_t jobs = 1;
    Status created;
    for (; created && jobs < 1'000; jobs += created ? 1 : 0) {
      const std::string id = "k" + std::to_string(jobs);
      created = store.create_job(job_record(id), model_record(id, 0));
    }
    EXPECT_ERROR(created, ErrorCode::storage_full, "full");

    const auto expect_whole_batches = [&](TrainingStore& s, uint64_t count) {
      EXPECT_EQ(*s.count_accepted(key), 20 * count);
      uint64_t updates = 0;
      const std::vector<PartialRecord> partials = *s.list_partials(key);
      for (const PartialRecord& partial : partials) updates += partial.totals.updates;
      EXPECT_EQ(updates, 20 * count);
      EXPECT_EQ(s.list_jobs()->size(), jobs);
    };
    expect_whole_batches(store, batches);

    ASSERT_OK(os::remove_file(disk + "/filler"));
    EXPECT_EQ(text(accept(batches)), "done") << "there is room again";
    expect_whole_batches(store, batches + 1);
    opened->reset();
    auto again = SqlTrainingStore::open(open_sqlite(disk + "/db"));
    ASSERT_OK(again);
    expect_whole_batches(**again, batches + 1);
  }
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

// ---- The connection itself

TEST_F(SqliteFile, KeepsValuesAsTheyAreBound) {
  Result<Database> database = open_sqlite(path());
  ASSERT_OK(database);
  ASSERT_OK(database->execute("CREATE TABLE t(a, b, c, d, e, f, g)"));
  const Bytes blob = {0, 255, 0};
  {
    Statement insert = database->prepare("INSERT INTO t VALUES(?,?,?,?,?,?,?)");
    insert << std::string_view("a\0b", 3) << ByteView(blob) << ~uint64_t{0} << uint32_t{7} << 0.1 << wall(5)
           << std::optional<double>();
    ASSERT_OK(insert.run());
  }
  Statement row = database->prepare("SELECT * FROM t");
  ASSERT_TRUE(*row.step());
  EXPECT_EQ(row.text(0), std::string("a\0b", 3));
  EXPECT_EQ(Bytes(row.blob(1).begin(), row.blob(1).end()), blob);
  EXPECT_EQ(row.u64(2), ~uint64_t{0}) << "as its two's complement";
  EXPECT_EQ(row.u32(3), 7u);
  EXPECT_EQ(row.real(4), 0.1);
  EXPECT_EQ(row.time(5), wall(5));
  EXPECT_TRUE(row.is_null(6));
  EXPECT_FALSE(row.is_null(5));
  EXPECT_FALSE(*row.step());
}

TEST_F(SqliteFile, RollsBackATransactionThatFails) {
  Result<Database> database = open_sqlite(path());
  ASSERT_OK(database);
  ASSERT_OK(database->execute("CREATE TABLE t(a INTEGER PRIMARY KEY)"));
  const auto count = [&] {
    Statement row = database->prepare("SELECT count(*) FROM t");
    EXPECT_TRUE(*row.step());
    return row.u64(0);
  };
  EXPECT_ERROR(database->transaction([&]() -> Status {
    COT_TRY(database->execute("INSERT INTO t VALUES(1)"));
    return Error(ErrorCode::refused, "the body's own reason");
  }),
               ErrorCode::refused, "own reason");
  EXPECT_EQ(count(), 0u);
  EXPECT_ERROR(database->transaction([&]() -> Status {
    COT_TRY(database->execute("INSERT INTO t VALUES(1)"));
    return database->execute("INSERT INTO t VALUES(1)");
  }),
               ErrorCode::conflict, "UNIQUE");
  EXPECT_EQ(count(), 0u);
  EXPECT_OK(database->transaction([&] { return database->execute("INSERT INTO t VALUES(1)"); }));
  EXPECT_EQ(count(), 1u);
}

TEST_F(SqliteFile, IsDurableAndChecksReferences) {
  Result<Database> database = open_sqlite(path());
  ASSERT_OK(database);
  const auto pragma = [&](const char* sql) {
    Statement row = database->prepare(sql);
    EXPECT_TRUE(*row.step());
    return row.text(0);
  };
  EXPECT_EQ(pragma("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(pragma("PRAGMA synchronous"), "2") << "FULL: what was answered survives a power cut";
  EXPECT_EQ(pragma("PRAGMA foreign_keys"), "1");
}

}  // namespace
}  // namespace coterie
