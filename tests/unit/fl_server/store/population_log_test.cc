// The conformance suite of what TrainingStore says of the logs of populations: what every implementation must do.
#include "secure/dp/ledger/population_logs.h"

#include "secure/merkle/merkle_proof.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"

namespace coterie {
namespace {

using namespace test;

const Population kPhones("phones"), kTablets("tablets");

template <typename Backend>
class StoredPopulationLog : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  auto& store() { return backend_.store(); }

  void create(const std::string& id, const Population& population, bool has_noise) {
    JobRecord job = has_noise ? noisy_job_record(id) : job_record(id);
    job.spec.common.population = population;
    job.spec.horizontal().rounds.count = 100;
    if (has_noise) job.spec.horizontal().privacy.epsilon_budget = 1000;
    ASSERT_OK(store().create_job(job, model_record(id, 0)));
  }
  RoundRecord open(const std::string& id, uint64_t number) {
    const OpenRound open{number, std::nullopt, Attempt(1), model_record(id, number - 1)};
    return store().open_round(JobId(id), open, wall(1)).value();
  }
  // The job's round `number`, with its two records.
  void play(const std::string& id, uint64_t number) {
    const RoundKey key = open(id, number).key;
    using enum RoundState;
    for (const auto& [from, to] : {std::pair(selecting, collecting), {collecting, frozen}, {frozen, finalizing}}) {
      EXPECT_TRUE(*store().move_round({key, from, to, "", 0}, wall(2)));
    }
    EXPECT_OK(store().reserve_release(key, NoiseSalt(), wall(3)));
    const FinalizedRound round{key, model_record(id, number), {3, 3, 30, 1, 2, 9}, filled_digest(0x77)};
    EXPECT_OK(store().commit_round(JobId(id), {round, number, false, false}, wall(4)));
  }

  Backend backend_;
};
using Backends = testing::Types<SqliteBackend, PostgresBackend, MemoryBackend>;
TYPED_TEST_SUITE(StoredPopulationLog, Backends, BackendNames);

TYPED_TEST(StoredPopulationLog, GoesOnFromItsHeadsOfBefore) {
  this->create("p", kPhones, true);
  this->create("t", kTablets, true);
  std::vector<LogHead> phones{{}};
  for (uint64_t number = 1; number <= 5; ++number) {
    this->play("t", number);
    this->play("p", number);
    phones.push_back(this->store().log_head(kPhones, 4 * number).value());
    EXPECT_EQ(phones.back().size, 2 * number) << "what tablets released is not in it";
    EXPECT_EQ(this->store().log_head(kPhones, 4 * number - 2).value(), phones[number - 1]);
  }
  this->backend_.reopen();
  for (uint64_t later = 2; later <= 5; ++later) {
    EXPECT_EQ(this->store().log_head(kPhones, 4 * later).value(), phones[later]) << "after a restart, too";
    for (uint64_t earlier = 1; earlier <= later; ++earlier) {
      const Result<LogProof> proof = this->store().prove_log(kPhones, 2 * earlier, 2 * later);
      ASSERT_OK(proof);
      EXPECT_OK(verify_consistency(2 * earlier, phones[earlier].root, 2 * later, phones[later].root, proof->hashes));
    }
  }
  EXPECT_ERROR(this->store().prove_log(kPhones, 2, 11), ErrorCode::not_found, "has 10 records, not 11");
  EXPECT_ERROR(this->store().prove_log(kPhones, 3, 2), ErrorCode::invalid_argument, "");
  EXPECT_ERROR(this->store().log_head(kPhones, 21), ErrorCode::conflict, "not 21 yet");
  EXPECT_EQ(this->store().log_head(Population("none"), 20).value(), LogHead{});
}

// Devices hold every plan of their population against its log, whatever the job.
TYPED_TEST(StoredPopulationLog, IsNamedInRoundsOfJobsWithoutNoiseOnceItHasRecords) {
  this->create("noisy", kPhones, true);
  this->create("plain", kPhones, false);
  this->create("elsewhere", kTablets, false);
  EXPECT_EQ(this->open("plain", 1).ledger, LedgerHead{}) << "there is nothing to name yet";
  this->play("noisy", 1);
  const LedgerHead head = this->store().ledger_head().value();
  EXPECT_EQ(head.records, 2u);
  this->create("later", kPhones, false);
  EXPECT_EQ(this->open("later", 1).ledger, head);
  EXPECT_EQ(this->open("elsewhere", 1).ledger, LedgerHead{});
}

}  // namespace
}  // namespace coterie
