// An upgrade: a database of schema version 4 on which a server of that version works; one of this version
// opens it, which migrates it, and works beside the other. No round of either fails.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "fl_server/store/schema.h"
#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_device_store.h"
#include "fl_server/store/sql_fleet_store.h"
#include "tests/unit/fl_server/store/old_node.h"
#include "tests/unit/fl_server/store/schema_4.h"

namespace coterie {
namespace {

using namespace test;
using enum RoundState;

constexpr uint64_t kRoundsBefore = 3;  // the migration comes somewhere in these, of the server of version 4
constexpr uint64_t kRoundsAround = 3;
constexpr uint64_t kRoundsAlone = kRoundsBefore + kRoundsAround;
constexpr uint64_t kRoundsBeside = 20;

JobRecord noisy_job_of_many_rounds(const std::string& id) {
  JobRecord job = noisy_job_record(id);
  job.spec.horizontal().rounds.count = 1'000;
  job.spec.horizontal().privacy.noise_multiplier = 50;
  job.spec.horizontal().privacy.epsilon_budget = 50;
  return job;
}

// A round of the present version, with all that leads it on.
Status play_round(SqlTrainingStore& store, const std::string& job, uint64_t number) {
  COT_ASSIGN(const RoundRecord round,
             store.open_round(JobId(job), {number, std::nullopt, Attempt(1), model_record(job, number - 1)}, wall(1)));
  const auto move = [&](RoundState from, RoundState to) -> Status {
    COT_ASSIGN(const bool won, store.move_round({round.key, from, to, "", 3}, wall(2)));
    return won ? Status() : Error(ErrorCode::conflict, "the round is elsewhere");
  };
  COT_TRY(move(selecting, collecting));
  const auto outcome =
      store.accept_batch(partial_record("new/1/" + std::to_string(number), round.key, 2), rows_of({1, 2}));
  if (!std::holds_alternative<BatchDone>(outcome)) return Error(ErrorCode::internal, "the batch was not taken");
  COT_TRY(move(collecting, frozen));
  COT_TRY(move(frozen, finalizing));
  COT_TRY(store.reserve_release(round.key, NoiseSalt(), wall(3)));
  const FinalizedRound done{round.key, model_record(job, number), {2, 2, 20, 1, 2, 9}, filled_digest(0x77)};
  COT_TRY(store.commit_round(JobId(job), {done, number, false, false}, wall(4)));
  return {};
}

template <typename OnDatabase>
class SchemaUpgrade : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_AVAILABLE(OnDatabase);
    Result<Database> made = database_.open();
    ASSERT_OK(made);
    ASSERT_OK(made->execute(made->engine() == SqlEngine::sqlite ? kSchema4OnSqlite : kSchema4OnPostgres));
  }
  OnDatabase database_;
};
using Databases = testing::Types<SqliteDatabase, PostgresDatabase>;
TYPED_TEST_SUITE(SchemaUpgrade, Databases, BackendNames);

TYPED_TEST(SchemaUpgrade, AServerOfTheVersionBeforeGoesOnBesideOneOfThisVersionForTwentyRounds) {
  OldNode old(*this->database_.open(), noisy_job_of_many_rounds("old"));
  ASSERT_OK(old.begin());
  for (uint64_t number = 1; number <= kRoundsBefore; ++number) ASSERT_OK(old.play_round(number));

  std::barrier next_round(2);  // each round of the one is beside one of the other
  std::thread present([&] {
    auto opened = SqlTrainingStore::open(this->database_.open());  // migrates, while the other works
    EXPECT_OK(opened);
    if (opened) EXPECT_OK((*opened)->create_job(noisy_job_of_many_rounds("new"), model_record("new", 0)));
    for (uint64_t number = 1; opened && number <= kRoundsBeside; ++number) {
      next_round.arrive_and_wait();
      EXPECT_OK(play_round(**opened, "new", number)) << "round " << number << " of the server of this version";
    }
    if (opened) EXPECT_OK((*opened)->promote_model(JobId("old"), ModelVersion(1), wall(5)));
    next_round.arrive_and_drop();
  });
  for (uint64_t number = kRoundsBefore + 1; number <= kRoundsAlone + kRoundsBeside; ++number) {
    if (number > kRoundsAlone) next_round.arrive_and_wait();
    EXPECT_OK(old.play_round(number)) << "round " << number << " of the server of version 4";
  }
  next_round.arrive_and_drop();
  present.join();

  auto store = SqlTrainingStore::open(this->database_.open());
  ASSERT_OK(store);
  for (const auto& [id, count] : {std::pair("old", kRoundsAlone + kRoundsBeside), {"new", kRoundsBeside}}) {
    const auto rounds = (*store)->list_rounds(JobId(id), {.limit = 1'000});
    ASSERT_OK(rounds);
    EXPECT_EQ(rounds->size(), count) << id << ": one attempt each";
    for (const RoundRecord& round : *rounds)
      EXPECT_EQ(round.state, done) << id << " " << round.number << ": " << round.reason;
    EXPECT_EQ((*store)->get_job(JobId(id))->rounds_done, count);
    EXPECT_EQ((*store)->job_privacy(JobId(id))->spent.releases, count);
  }
  EXPECT_EQ((*store)->ledger_head()->records, 2 * (kRoundsAlone + 2 * kRoundsBeside)) << "one chain of both";
}

// What a server of the version before has released counts for the population: by the row of the migration, or, if that
// server has made the job after it, by the job's own.
TYPED_TEST(SchemaUpgrade, ReleasesOfTheVersionBeforeCountForTheirPopulation) {
  for (const bool is_made_before : {true, false}) {
    TypeParam database;
    Result<Database> made = database.open();
    ASSERT_OK(made);
    ASSERT_OK(made->execute(made->engine() == SqlEngine::sqlite ? kSchema4OnSqlite : kSchema4OnPostgres));
    OldNode old(*database.open(), noisy_job_of_many_rounds("old"));
    if (is_made_before) ASSERT_OK(old.begin());
    if (is_made_before) ASSERT_OK(old.play_round(1));
    auto store = SqlTrainingStore::open(database.open());  // migrates
    ASSERT_OK(store);
    if (!is_made_before) ASSERT_OK(old.begin());
    if (!is_made_before) ASSERT_OK(old.play_round(1));
    ASSERT_OK(old.play_round(2));
    const std::vector<PopulationPrivacy> populations = (*store)->list_population_privacy(1e-6).value();
    ASSERT_EQ(populations.size(), 1u);
    EXPECT_EQ(populations[0].population, Population("default"));
    EXPECT_EQ(populations[0].spent.releases, 2u);
    EXPECT_EQ(populations[0].jobs, 1u);
  }
}

TYPED_TEST(SchemaUpgrade, WhatTheOtherVersionWritesAfterTheMigrationIsRead) {
  OldNode old(*this->database_.open(), noisy_job_of_many_rounds("old"));
  ASSERT_OK(old.begin());
  auto admin = SqlAdminStore::open(this->database_.open());
  auto devices = SqlDeviceStore::open(this->database_.open());
  auto fleet = SqlFleetStore::open(this->database_.open());
  ASSERT_OK(admin);
  ASSERT_OK(devices);
  ASSERT_OK(fleet);
  for (uint64_t number = 1; number <= 2; ++number) {
    ASSERT_OK(old.play_round(number));
    ASSERT_OK((*admin)->append_audit({.time = wall(8), .who = "new"}));
  }
  EXPECT_EQ((*admin)->get_admin_token("old 1")->tenant, "*") << "tokens of before see everything";
  EXPECT_EQ(*(*admin)->owner_of(Owned::job, "old"), "") << "nobody's, and so the default tenant's";
  EXPECT_EQ((*devices)->list_devices({.tenant = "default"})->size(), 6u);
  AuditVerifier verifier;
  const std::vector<AuditRecord> records = *(*admin)->list_audit({});
  for (const AuditRecord& record : records) EXPECT_OK(verifier.append(record));
  EXPECT_EQ(verifier.head().seq, 4u) << "one chain of both";
  EXPECT_OK((*fleet)->say({.node = "new", .incarnation = "1", .started = wall(0), .report = "{}"}, "", Millis(1'000)));
}

// Several servers of the new version are started at once, and look at the version before any of them may
// write: one migrates, the others wait, all go on.
TYPED_TEST(SchemaUpgrade, IsDoneOnceThoughManyStartAtOnce) {
  constexpr int kTurns = 5;
  constexpr size_t kServers = 4;
  for (int turn = 0; turn < kTurns; ++turn) {
    TypeParam database;
    Result<Database> busy = database.open();
    ASSERT_OK(busy);
    ASSERT_OK(busy->execute(busy->engine() == SqlEngine::sqlite ? kSchema4OnSqlite : kSchema4OnPostgres));
    std::barrier start(static_cast<std::ptrdiff_t>(kServers + 1));
    std::vector<std::thread> servers;
    for (size_t i = 0; i < kServers; ++i) {
      servers.emplace_back([&] {
        Result<Database> own = database.open();
        start.arrive_and_wait();
        ASSERT_OK(own);
        EXPECT_OK(prepare_schema(*own));
      });
    }
    // In SQLite nobody else writes meanwhile, but all may read.
    EXPECT_OK(busy->transaction([&]() -> Status {
      start.arrive_and_wait();
      for (int i = 0; i < 2'000; ++i) {
        Statement look = busy->prepare("SELECT count(*) FROM job");
        COT_TRY(look.step());
      }
      return {};
    }));
    for (std::thread& server : servers) server.join();
    auto store = SqlFleetStore::open(database.open());
    ASSERT_OK(store);
    EXPECT_OK((*store)->read_board(0));
  }
}

}  // namespace
}  // namespace coterie
