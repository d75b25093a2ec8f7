// Several servers on one database at once: whatever they do, the outcome is that of one after the other.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "base/random.h"
#include "fl_server/store/sql_device_store.h"
#include "fl_server/store/sql_lease_store.h"
#include "scheduler/job/round_release.h"
#include "secure/dp/account/account.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

using namespace test;
using enum RoundState;

constexpr size_t kServers = 4;

// Runs `act` on every store at the same moment.
template <typename Store, typename Act>
void at_once(const std::vector<std::unique_ptr<Store>>& stores, Act act) {
  std::barrier start(static_cast<std::ptrdiff_t>(stores.size()));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < stores.size(); ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      act(*stores[i], i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <typename Backend>
class Races : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_AVAILABLE(Backend);
    for (size_t i = 0; i < kServers; ++i) servers_.push_back(backend_.another());
  }
  TrainingStore& store() { return backend_.store(); }
  RoundKey round_in(const std::string& job, RoundState state, uint64_t number = 1) {
    const Result<RoundRecord> round =
        store().open_round(JobId(job), {number, std::nullopt, Attempt(1), model_record(job, number - 1)}, wall(1));
    EXPECT_OK(round);
    for (const auto& [from, to] : {std::pair(selecting, collecting), {collecting, frozen}, {frozen, finalizing}}) {
      if (from == state) break;
      EXPECT_TRUE(*store().move_round({round->key, from, to, "", 0}, wall(2)));
    }
    return round->key;
  }
  Backend backend_;
  std::vector<std::unique_ptr<SqlTrainingStore>> servers_;
};
using Backends = testing::Types<SqliteBackend, PostgresBackend>;
TYPED_TEST_SUITE(Races, Backends, BackendNames);

TYPED_TEST(Races, OneRowOfARoundIsOpened) {
  ASSERT_OK(this->store().create_job(job_record("j"), model_record("j", 0)));
  std::array<std::string, kServers> rounds;
  at_once(this->servers_, [&](TrainingStore& server, size_t i) {
    const auto round = server.open_round(JobId("j"), {1, std::nullopt, Attempt(1), model_record("j", 0)}, wall(1));
    rounds[i] = round ? text(*round) : round.error().message();
  });
  for (const std::string& round : rounds) EXPECT_EQ(round, rounds[0]);
  EXPECT_EQ(this->store().list_rounds(JobId("j"), {.limit = 10})->size(), 1u);
}

TYPED_TEST(Races, AMoveIsWonByOne) {
  ASSERT_OK(this->store().create_job(job_record("j"), model_record("j", 0)));
  const RoundKey key = this->round_in("j", collecting);
  std::atomic<int> won{0}, failed{0};
  at_once(this->servers_, [&](TrainingStore& server, size_t i) {
    const Result<bool> moved =
        server.move_round({key, collecting, i % 2 == 0 ? frozen : RoundState::failed, "", 0}, wall(3));
    if (!moved) ++failed;
    else if (*moved) ++won;
  });
  EXPECT_EQ(won, 1);
  EXPECT_EQ(failed, 0);
}

// The same devices at every server, in different orders: each is counted once, whoever comes first.
TYPED_TEST(Races, ADeviceIsCountedOnce) {
  ASSERT_OK(this->store().create_job(job_record("j"), model_record("j", 0)));
  const RoundKey key = this->round_in("j", collecting);
  constexpr uint64_t kBatches = 30, kDevices = 12;
  std::atomic<uint64_t> counted{0}, unknown{0};
  at_once(this->servers_, [&](TrainingStore& server, size_t i) {
    Prng prng(i + 1);
    for (uint64_t batch = 0; batch < kBatches; ++batch) {
      std::vector<uint64_t> devices;
      for (uint64_t d = 0; d < kDevices; ++d) devices.push_back(kDevices * batch + d);
      for (size_t d = devices.size(); d > 1; --d) std::swap(devices[d - 1], devices[prng.below(d)]);
      if (i % 2 == 1) devices.resize(kDevices / 2);
      std::vector<AcceptRow> rows = rows_of({});
      for (const uint64_t device : devices) {
        DeviceId id;
        id.bytes[0] = static_cast<uint8_t>(device >> 8);
        id.bytes[1] = static_cast<uint8_t>(device);
        rows.push_back({id});
      }
      const std::string name = std::to_string(i) + "/1/" + std::to_string(batch);
      const BatchOutcome outcome = server.accept_batch(partial_record(name, key, rows.size()), rows);
      if (std::holds_alternative<BatchDone>(outcome)) counted += rows.size();
      if (std::holds_alternative<BatchUnknown>(outcome)) ++unknown;
    }
  });
  EXPECT_EQ(unknown, 0u);
  EXPECT_EQ(*this->store().count_accepted(key), counted);
  uint64_t updates = 0;
  const std::vector<PartialRecord> partials = *this->store().list_partials(key);
  for (const PartialRecord& partial : partials) updates += partial.totals.updates;
  EXPECT_EQ(updates, counted) << "what partial sums hold is what is accepted";
  EXPECT_GE(counted, kBatches * kDevices / 2);
}

// Batches come while the round is frozen: what is accepted is accepted before, and the scheduler sees all of it.
TYPED_TEST(Races, NothingIsAcceptedBehindTheFreeze) {
  for (int turn = 0; turn < 10; ++turn) {
    const std::string job = "j" + std::to_string(turn);
    ASSERT_OK(this->store().create_job(job_record(job), model_record(job, 0)));
    const RoundKey key = this->round_in(job, collecting);
    uint64_t seen = 0;
    std::atomic<uint64_t> counted{0};
    at_once(this->servers_, [&](TrainingStore& server, size_t i) {
      if (i == 0) {
        EXPECT_TRUE(*server.move_round({key, collecting, frozen, "", 0}, wall(3)));
        seen = *server.count_accepted(key);
        return;
      }
      for (uint64_t batch = 0; batch < 5; ++batch) {
        const std::string name = job + "/" + std::to_string(i) + "/" + std::to_string(batch);
        const auto outcome = server.accept_batch(partial_record(name, key, 1), rows_of({10 * i + batch}));
        if (std::holds_alternative<BatchDone>(outcome)) ++counted;
      }
    });
    EXPECT_EQ(seen, counted);
  }
}

// Batches come while the attempt of nobody fails: it fails with nobody, or somebody counts and it goes on.
TYPED_TEST(Races, AnAttemptOfNobodyFailsWithNobody) {
  int failed = 0;
  for (int turn = 0; turn < 40; ++turn) {
    const std::string job = "j" + std::to_string(turn);
    ASSERT_OK(this->store().create_job(job_record(job), model_record(job, 0)));
    const RoundKey key = this->round_in(job, collecting);
    bool has_failed = false;
    std::atomic<uint64_t> counted{0};
    at_once(this->servers_, [&](TrainingStore& server, size_t i) {
      if (i == 0) {
        has_failed = *server.move_round({key, collecting, RoundState::failed, "", 0, true}, wall(3));
        return;
      }
      const std::string name = job + "/" + std::to_string(i);
      const auto outcome = server.accept_batch(partial_record(name, key, 1), rows_of({i}));
      if (std::holds_alternative<BatchDone>(outcome)) ++counted;
    });
    EXPECT_EQ(has_failed, counted == 0);
    failed += has_failed;
  }
  std::printf("%d of 40 attempts failed before the first update\n", failed);
}

TYPED_TEST(Races, ARoundIsCommittedOnce) {
  ASSERT_OK(this->store().create_job(job_record("j"), model_record("j", 0)));
  const RoundKey key = this->round_in("j", finalizing);
  std::array<std::string, kServers> outcomes;
  at_once(this->servers_, [&](TrainingStore& server, size_t i) {
    const FinalizedRound round{key, model_record("j", 1), {3, 30, 300, 1.5, 200, 9}};
    const auto progress = server.commit_round(JobId("j"), {round, 1, true, false}, wall(4));
    outcomes[i] = progress ? text(*progress) : progress.error().message();
  });
  for (const std::string& outcome : outcomes) EXPECT_EQ(outcome, outcomes[0]);
  EXPECT_EQ(this->store().list_models(JobId("j"))->size(), 2u);
  EXPECT_EQ(this->store().list_rounds(JobId("j"), {.limit = 10})->size(), 2u) << "and the next one opened";
}

// Whoever lost the lead is refused all that leads a round on; what anybody may do he may.
TYPED_TEST(Races, AFormerLeaderChangesNothing) {
  auto opened = SqlLeaseStore::open(this->backend_.open_database());
  ASSERT_OK(opened);
  SqlLeaseStore& leases = **opened;
  const LeaseAnswer first = *leases.take_lease("lead", "a", Millis(0));
  SqlTrainingStore& former = *this->servers_[0];
  former.set_fence("lead", first.epoch);
  ASSERT_OK(former.create_job(job_record("j"), model_record("j", 0)));
  const OpenRound open{1, std::nullopt, Attempt(1), model_record("j", 0)};
  const Result<RoundRecord> round = former.open_round(JobId("j"), open, wall(1));
  ASSERT_OK(round);
  const RoundKey key = round->key;
  EXPECT_TRUE(*former.move_round({key, selecting, collecting, "", 0}, wall(2)));
  EXPECT_EQ(text(former.accept_batch(partial_record("a/1", key, 1), rows_of({1}))), "done");

  const LeaseAnswer second = *leases.take_lease("lead", "b", Millis(3'600'000));
  ASSERT_TRUE(second.is_granted);
  EXPECT_ERROR(former.open_round(JobId("j"), open, wall(3)), ErrorCode::conflict, "epoch is 1, the lease has 2");
  EXPECT_ERROR(former.move_round({key, collecting, frozen, "", 0}, wall(3)), ErrorCode::conflict, "does not lead");
  EXPECT_NE(text(former.accept_batch(partial_record("a/2", key, 1), rows_of({2}))), "done");
  EXPECT_NE(text(former.accept_batch(partial_record("a/1", key, 1), rows_of({1}))), "done")
      << "not even what it had done";
  EXPECT_ERROR(former.forget_partials({"a/1"}), ErrorCode::conflict, "does not lead");
  const FinalizedRound result{key, model_record("j", 1), {1, 10, 100, 0.5, 1, 7}};
  EXPECT_ERROR(former.commit_round(JobId("j"), {result, 1, false, false}, wall(4)), ErrorCode::conflict,
               "does not lead");
  EXPECT_OK(former.load_progress(JobId("j")));

  SqlTrainingStore& leader = *this->servers_[1];
  leader.set_fence("lead", second.epoch);
  EXPECT_EQ(*leader.count_accepted(key), 1u);
  EXPECT_TRUE(*leader.move_round({key, collecting, frozen, "", 0}, wall(5)));
}

// A commit and a failure of the same attempt: one of the two.
TYPED_TEST(Races, ARoundIsDoneOrFailed) {
  for (int turn = 0; turn < 10; ++turn) {
    const std::string job = "j" + std::to_string(turn);
    ASSERT_OK(this->store().create_job(job_record(job), model_record(job, 0)));
    const RoundKey key = this->round_in(job, finalizing);
    std::atomic<bool> is_failed{false}, is_done{false};
    at_once(this->servers_, [&](TrainingStore& server, size_t i) {
      if (i % 2 == 0) {
        const auto moved = server.move_round({key, finalizing, RoundState::failed, "lost", 0}, wall(4));
        if (moved && *moved) is_failed = true;
        return;
      }
      const FinalizedRound round{key, model_record(job, 1), {3, 30, 300, 1.5, 200, 9}};
      if (server.commit_round(JobId(job), {round, 1, false, false}, wall(4))) is_done = true;
    });
    EXPECT_NE(is_failed, is_done);
    const RoundRecord row = this->store().list_rounds(JobId(job), {.limit = 1})->at(0);
    EXPECT_EQ(row.state, is_done ? RoundState::done : RoundState::failed);
    EXPECT_EQ(this->store().list_models(JobId(job))->size(), is_done ? 2u : 1u);
  }
}

// Four jobs reserve their releases at four servers: one chain, no gap, and no more of a job than its budget.
TYPED_TEST(Races, TheLedgerIsOneChain) {
  std::array<RoundKey, kServers> keys;
  for (size_t i = 0; i < kServers; ++i) {
    const std::string id = "j" + std::to_string(i);
    JobRecord job = noisy_job_record(id);
    job.spec.horizontal().rounds.count = 100;
    const LedgerRelease release = release_of(job.spec.horizontal(), job.value_count);
    job.spec.horizontal().privacy.epsilon_budget =
        account_of({{release, 2}}, job.spec.horizontal().privacy.target_delta)->epsilon;
    ASSERT_OK(this->store().create_job(job, model_record(id, 0)));
    keys[i] = this->round_in(id, finalizing);
  }
  std::array<std::array<int, kServers>, kServers> salts{};
  at_once(this->servers_, [&](TrainingStore& server, size_t i) {
    std::array<uint8_t, 32> fresh;
    fresh.fill(static_cast<uint8_t>(i + 1));
    for (size_t job = 0; job < kServers; ++job) {
      const auto salt = server.reserve_release(keys[job], NoiseSalt(std::span<const uint8_t, 32>(fresh)), wall(5));
      salts[i][job] = salt ? salt->reveal()[0] : -1;
    }
  });
  for (size_t job = 0; job < kServers; ++job) {
    EXPECT_GT(salts[0][job], 0);
    for (size_t i = 1; i < kServers; ++i) EXPECT_EQ(salts[i][job], salts[0][job]) << "noise is drawn once";
  }
  const std::vector<LedgerRecord> records = *this->store().list_ledger(0, 100);
  ASSERT_EQ(records.size(), kServers);
  Ledger chain;
  for (const LedgerRecord& record : records) EXPECT_OK(chain.append(record));
}

template <typename OnDatabase>
class EnrollmentRaces : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(OnDatabase); }
  SqlBackend<SqlDeviceStore, OnDatabase> backend_;
};
using Databases = testing::Types<SqliteDatabase, PostgresDatabase>;
TYPED_TEST_SUITE(EnrollmentRaces, Databases, BackendNames);

DeviceRecord device_named(uint8_t value) {
  DeviceRecord device;
  device.id.bytes.fill(value);
  device.public_key = Bytes(32, value);
  return device;
}

TYPED_TEST(EnrollmentRaces, TheLastUseOfATokenIsOneDevices) {
  std::vector<std::unique_ptr<SqlDeviceStore>> servers;
  for (size_t i = 0; i < kServers; ++i) servers.push_back(this->backend_.another());
  for (uint8_t turn = 0; turn < 10; ++turn) {
    const Digest token = filled_digest(static_cast<uint8_t>(100 + turn));
    ASSERT_OK(this->backend_.store().create_token({.digest = token,
                                                   .population = Population("p"),
                                                   .label = "",
                                                   .uses_left = 1,
                                                   .expires = wall(1'000),
                                                   .created = wall(0)}));
    std::atomic<int> enrolled{0}, refused{0};
    at_once(servers, [&](DeviceStore& server, size_t i) {
      const auto device = server.enroll(token, device_named(static_cast<uint8_t>(turn * kServers + i)), wall(1));
      if (device) ++enrolled;
      else if (device.error().code() == ErrorCode::unauthenticated) ++refused;
    });
    EXPECT_EQ(enrolled, 1);
    EXPECT_EQ(refused, static_cast<int>(kServers) - 1);
  }
}

// A device whose request reached several servers: one row, one use.
TYPED_TEST(EnrollmentRaces, ADeviceEnrollsOnce) {
  std::vector<std::unique_ptr<SqlDeviceStore>> servers;
  for (size_t i = 0; i < kServers; ++i) servers.push_back(this->backend_.another());
  ASSERT_OK(this->backend_.store().create_token({.digest = filled_digest(9),
                                                 .population = Population("p"),
                                                 .label = "",
                                                 .uses_left = 100,
                                                 .expires = wall(1'000),
                                                 .created = wall(0)}));
  for (uint8_t turn = 0; turn < 10; ++turn) {
    std::atomic<int> enrolled{0};
    at_once(servers, [&](DeviceStore& server, size_t) {
      if (server.enroll(filled_digest(9), device_named(turn), wall(1))) ++enrolled;
    });
    EXPECT_EQ(enrolled, static_cast<int>(kServers));
  }
  EXPECT_EQ(*this->backend_.store().count_devices(), 10u);
  EXPECT_EQ(this->backend_.store().list_tokens()->at(0).uses_left, 90u);
}

}  // namespace
}  // namespace coterie
