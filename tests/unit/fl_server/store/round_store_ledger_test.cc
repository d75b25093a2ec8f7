// The conformance suite of TrainingStore's privacy ledger: what every implementation must do.
#include <gmock/gmock.h>

#include "scheduler/job/round_release.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

using namespace test;
using testing::IsEmpty;

NoiseSalt salt_of(uint8_t value) {
  NoiseSalt salt;
  std::ranges::fill(salt.mutable_bytes(), value);
  return salt;
}

template <typename Backend>
class RoundStoreLedger : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  auto& store() { return backend_.store(); }
  void reopen() { backend_.reopen(); }

  // `releases` fit the budget, no more.
  void create(const std::string& id, uint64_t releases) {
    JobRecord job = noisy_job_record(id);
    job.spec.horizontal().rounds.count = 100;
    const LedgerRelease release = release_of(job.spec.horizontal(), job.value_count);
    job.spec.horizontal().privacy.epsilon_budget =
        account_of({{release, releases}}, job.spec.horizontal().privacy.target_delta)->epsilon;
    ASSERT_OK(store().create_job(job, model_record(id, 0)));
  }
  // A job of the population with room for 100 releases.
  JobRecord job_of(const std::string& id, const std::string& population) {
    JobRecord job = noisy_job_record(id);
    job.spec.common.population = Population(population);
    job.spec.horizontal().rounds.count = 100;
    const LedgerRelease release = release_of(job.spec.horizontal(), job.value_count);
    job.spec.horizontal().privacy.epsilon_budget = account_of({{release, 100}}, 1e-6)->epsilon;
    return job;
  }
  void create_in(const std::string& population, const std::string& id, const Digest& model) {
    ModelRecord initial = model_record(id, 0);
    initial.digest = model;
    ASSERT_OK(store().create_job(job_of(id, population), initial));
  }
  // The budget takes so many releases of noisy_job_record's, no more.
  PrivacyBudget budget_for(uint64_t releases) {
    const JobRecord job = noisy_job_record("any");
    return {account_of({{release_of(job.spec.horizontal(), job.value_count), releases}}, 1e-6)->epsilon, 1e-6};
  }
  // Rounds of the job until it may not go on; how many there were. Its models are of its own.
  uint64_t play_all(const std::string& id, uint64_t rounds_max, uint8_t first_digest) {
    for (uint64_t number = 1; number <= rounds_max; ++number) {
      if (!store().load_progress(JobId(id))->privacy_stop.empty()) return number - 1;
      const RoundKey key = finalizing(id, number);
      EXPECT_EQ(reserve(key), "1");
      FinalizedRound round{key, model_record(id, number), {3, 3, 30, 1, 2, 9}, filled_digest(0x77)};
      round.model.digest = filled_digest(static_cast<uint8_t>(first_digest + number));
      EXPECT_OK(store().commit_round(JobId(id), {round, number, false, false}, wall(4)));
    }
    return rounds_max;
  }
  // The newest round of the job, opened if need be, on its way to `state`.
  RoundKey finalizing(const std::string& id, uint64_t number, uint32_t attempt = 1) {
    const OpenRound open{number, std::nullopt, Attempt(attempt), model_record(id, number - 1)};
    const Result<RoundRecord> round = store().open_round(JobId(id), open, wall(1));
    EXPECT_OK(round);
    if (!round) return {};
    using enum RoundState;
    for (const auto& [from, to] : {std::pair(selecting, collecting), {collecting, frozen}, {frozen, finalizing_}}) {
      EXPECT_TRUE(*store().move_round({round->key, from, to, "", 0}, wall(2)));
    }
    return round->key;
  }
  std::string reserve(const RoundKey& key, uint8_t salt = 1) {
    const Result<NoiseSalt> kept = store().reserve_release(key, salt_of(salt), wall(3));
    return kept ? std::to_string(kept->reveal()[0]) : text(kept.error().code());
  }
  Result<JobProgress> commit(const std::string& id, const RoundKey& key, uint64_t number, bool opens_next = false) {
    const FinalizedRound round{key, model_record(id, number), {3, 3, 30, 1, 2, 9}, filled_digest(0x77)};
    return store().commit_round(JobId(id), {round, number, opens_next, false}, wall(4));
  }
  void fail(const RoundKey& key, bool voids_release = false) {
    EXPECT_TRUE(
        *store().move_round({key, finalizing_, RoundState::failed, "damage", 0, false, voids_release}, wall(5)));
  }
  std::vector<LedgerRecord> records() { return store().list_ledger(0, 1'000).value(); }
  JobPrivacy privacy(const std::string& id) { return store().job_privacy(JobId(id)).value(); }
  static std::string text(ErrorCode code) { return std::string(traits(code).name); }

  static constexpr RoundState finalizing_ = RoundState::finalizing;
  Backend backend_;
};
using Backends = testing::Types<SqliteBackend, PostgresBackend, MemoryBackend>;
TYPED_TEST_SUITE(RoundStoreLedger, Backends, BackendNames);

TYPED_TEST(RoundStoreLedger, KeepsTheFirstSaltOfAnAttempt) {
  this->create("j", 3);
  const RoundKey key = this->finalizing("j", 1);
  EXPECT_EQ(this->reserve(key, 7), "7");
  EXPECT_EQ(this->reserve(key, 8), "7") << "noise is drawn once";
  this->reopen();
  EXPECT_EQ(this->reserve(key, 9), "7");
  const std::vector<LedgerRecord> records = this->records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, LedgerKind::reserve);
  EXPECT_EQ(records[0].round, key);
  EXPECT_EQ(records[0].time, wall(3));
  EXPECT_EQ(this->privacy("j").spent.releases, 1u);
  EXPECT_EQ(this->privacy("j").spent.open_reserves, 1u);
}

TYPED_TEST(RoundStoreLedger, ReservesOnlyWhatIsBeingFinalized) {
  this->create("j", 3);
  const OpenRound open{1, std::nullopt, Attempt(1), model_record("j", 0)};
  const RoundKey key = this->store().open_round(JobId("j"), open, wall(1))->key;
  EXPECT_EQ(this->reserve(key), "conflict");
  ASSERT_TRUE(*this->store().move_round({key, RoundState::selecting, RoundState::collecting, "", 0}, wall(1)));
  EXPECT_EQ(this->reserve(key), "conflict");
  EXPECT_EQ(this->reserve({RoundId(99), Attempt(1)}), "conflict");
  ASSERT_OK(this->store().create_job(job_record("plain"), model_record("plain", 0)));
  EXPECT_EQ(this->reserve(this->finalizing("plain", 1)), "conflict");
  EXPECT_ERROR(this->store().job_privacy(JobId("plain")), ErrorCode::conflict, "noise");
  EXPECT_THAT(this->records(), IsEmpty());
}

TYPED_TEST(RoundStoreLedger, KnowsWhoseBudgetADeletedJobHasDrawnFrom) {
  this->create("j", 1);
  const RoundKey key = this->finalizing("j", 1);
  ASSERT_EQ(this->reserve(key), "1");
  ASSERT_OK(this->commit("j", key, 1));
  ASSERT_OK(this->store().set_job_state(JobId("j"), JobState::cancelled, "over"));
  ASSERT_OK(this->store().delete_job(JobId("j"), std::nullopt));
  for (bool is_gone = false; !is_gone;) {
    const Result<ForgottenJob> step = this->store().forget_job(JobId("j"), 10);
    ASSERT_OK(step);
    is_gone = step->is_gone;
  }
  this->reopen();
  EXPECT_EQ(*this->store().ledger_population(JobId("j")), Population("default"));
  EXPECT_EQ(this->records().size(), 2u);
  const auto spent = this->store().list_population_privacy(1e-6);
  ASSERT_OK(spent);
  ASSERT_EQ(spent->size(), 1u);
  EXPECT_EQ(spent->front().spent.releases, 1u);
  EXPECT_ERROR(this->store().create_job(job_record("j"), model_record("j", 0)), ErrorCode::conflict, "")
      << "its records would be another job's";
}

TYPED_TEST(RoundStoreLedger, CommitsWithTheModel) {
  this->create("j", 3);
  const RoundKey key = this->finalizing("j", 1);
  ASSERT_EQ(this->reserve(key), "1");
  ASSERT_OK(this->commit("j", key, 1));
  this->reopen();
  const std::vector<LedgerRecord> records = this->records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].kind, LedgerKind::commit);
  EXPECT_EQ(records[1].contributors, 3u);
  EXPECT_EQ(records[1].noise_commitment, filled_digest(0x77));
  EXPECT_EQ(records[1].previous, digest_of(records[0]));
  const JobPrivacy privacy = this->privacy("j");
  EXPECT_EQ(privacy.spent.releases, 1u);
  EXPECT_EQ(privacy.spent.open_reserves, 0u);
  EXPECT_EQ(privacy.ledger_records, 2u);
  EXPECT_EQ(privacy.ledger_head, digest_of(records[1]));
  ASSERT_OK(this->commit("j", key, 1)) << "repeating a commit is fine";
  EXPECT_EQ(this->records().size(), 2u);
  EXPECT_EQ(this->reserve(key), "conflict") << "this round is over";
}

TYPED_TEST(RoundStoreLedger, CommitsNoModelWithoutItsReserve) {
  this->create("j", 3);
  const RoundKey key = this->finalizing("j", 1);
  EXPECT_ERROR(this->commit("j", key, 1), ErrorCode::conflict, "");
  ASSERT_EQ(this->reserve(key), "1");
  const CommitRound without{{key, model_record("j", 1), {3, 3, 30, 1, 2, 9}, std::nullopt}, 1, false, false};
  EXPECT_ERROR(this->store().commit_round(JobId("j"), without, wall(4)), ErrorCode::conflict, "noise");
  EXPECT_EQ(this->store().list_models(JobId("j"))->size(), 1u);
  EXPECT_EQ(this->store().load_progress(JobId("j"))->job.rounds_done, 0u);
  EXPECT_OK(this->commit("j", key, 1));
}

TYPED_TEST(RoundStoreLedger, CountsAttemptsThatFailed) {
  this->create("j", 2);
  const RoundKey first = this->finalizing("j", 1);
  ASSERT_EQ(this->reserve(first), "1");
  this->fail(first);
  EXPECT_EQ(this->privacy("j").spent.releases, 1u);
  const RoundKey second = this->finalizing("j", 1, 2);
  EXPECT_EQ(this->reserve(second, 2), "2") << "an attempt of its own, noise of its own";
  EXPECT_EQ(this->privacy("j").spent.releases, 2u);
  ASSERT_OK(this->commit("j", second, 1));
  EXPECT_EQ(this->privacy("j").spent.releases, 2u);
  EXPECT_EQ(this->privacy("j").spent.open_reserves, 1u);
}

// Damaged sums: nobody saw what was made of them, so that k such attempts cost nothing.
TYPED_TEST(RoundStoreLedger, TakesBackWhatAnAttemptThatReleasedNothingReserved) {
  this->create("j", 1);
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const RoundKey key = this->finalizing("j", 1, attempt);
    ASSERT_EQ(this->reserve(key, static_cast<uint8_t>(attempt)), std::to_string(attempt)) << "fresh noise";
    this->fail(key, true);
    EXPECT_EQ(this->privacy("j").spent.releases, 0u);
    EXPECT_EQ(this->privacy("j").spent.account.epsilon, 0);
    EXPECT_EQ(this->reserve(key), "conflict") << "never again";
    EXPECT_ERROR(this->commit("j", key, 1), ErrorCode::conflict, "");
  }
  this->reopen();
  const std::vector<LedgerRecord> records = this->records();
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[1].kind, LedgerKind::voided);
  EXPECT_EQ(records[1].time, wall(5));
  const RoundKey last = this->finalizing("j", 1, 4);
  ASSERT_EQ(this->reserve(last), "1");
  ASSERT_OK(this->commit("j", last, 1));
  EXPECT_EQ(this->privacy("j").spent.releases, 1u);
}

TYPED_TEST(RoundStoreLedger, TakesBackNothingOfAMoveThatIsLost) {
  this->create("j", 2);
  const RoundKey key = this->finalizing("j", 1);
  ASSERT_EQ(this->reserve(key), "1");
  EXPECT_FALSE(*this->store().move_round({key, RoundState::frozen, RoundState::failed, "", 0, false, true}, wall(5)));
  ASSERT_OK(this->commit("j", key, 1));
  EXPECT_FALSE(*this->store().move_round({key, this->finalizing_, RoundState::failed, "", 0, false, true}, wall(6)));
  EXPECT_EQ(this->records().size(), 2u);
  EXPECT_EQ(this->privacy("j").spent.releases, 1u);
}

TYPED_TEST(RoundStoreLedger, HasNothingToTakeBackWithoutAReserve) {
  this->create("j", 2);
  this->fail(this->finalizing("j", 1), true);
  ASSERT_OK(this->store().create_job(job_record("plain"), model_record("plain", 0)));
  this->fail(this->finalizing("plain", 1), true);
  EXPECT_THAT(this->records(), IsEmpty());
}

// The sum with the devices' noise was opened before it was found damaged.
TYPED_TEST(RoundStoreLedger, CountsWhatDevicesOpenedWhateverIsAskedFor) {
  JobRecord job = noisy_job_record("j");
  PrivacySettings& privacy = job.spec.horizontal().privacy;
  privacy = {.level = SecurityLevel::active_dp, .noise_multiplier = 5, .target_delta = 1e-6, .epsilon_budget = 8};
  privacy.cohort_min = 90;
  RoundSettings& rounds = job.spec.horizontal().rounds;
  rounds.goal_count = 100;
  rounds.goal_count_min = 90;
  rounds.over_selection = 1.3;
  ASSERT_THAT(validate(job.spec), IsEmpty());
  ASSERT_OK(this->store().create_job(job, model_record("j", 0)));
  const RoundKey key = this->finalizing("j", 1);
  ASSERT_EQ(this->reserve(key), "1");
  this->fail(key, true);
  EXPECT_EQ(this->records().size(), 1u);
  EXPECT_EQ(this->privacy("j").spent.releases, 1u);
}

TYPED_TEST(RoundStoreLedger, OpensNoRoundThatWouldPassTheBudget) {
  this->create("j", 2);
  for (uint64_t number : {1, 2}) {
    const RoundKey key = this->finalizing("j", number);
    ASSERT_EQ(this->reserve(key), "1");
    const Result<JobProgress> after = this->commit("j", key, number, true);
    ASSERT_OK(after);
    EXPECT_EQ(after->latest->number, number == 1 ? 2u : 2u) << "round 3 is not opened";
    EXPECT_EQ(after->privacy_stop.empty(), number == 1) << after->privacy_stop;
  }
  const Result<JobProgress> progress = this->store().load_progress(JobId("j"));
  EXPECT_EQ(progress->latest->state, RoundState::done);
  EXPECT_THAT(progress->privacy_stop, testing::HasSubstr("the privacy budget is used up"));
  EXPECT_EQ(this->privacy("j").stop, progress->privacy_stop);
  const OpenRound third{3, std::nullopt, Attempt(1), model_record("j", 2)};
  EXPECT_ERROR(this->store().open_round(JobId("j"), third, wall(9)), ErrorCode::conflict, "");
  EXPECT_LE(this->privacy("j").spent.account.epsilon, progress->job.spec.horizontal().privacy.epsilon_budget);
}

// A budget that fits no release: the last gate, should all others be passed.
TYPED_TEST(RoundStoreLedger, ReservesNothingThatWouldPassTheBudget) {
  this->create("j", 1);
  const RoundKey first = this->finalizing("j", 1);
  ASSERT_EQ(this->reserve(first), "1");
  this->fail(first);
  const OpenRound again{1, std::nullopt, Attempt(2), model_record("j", 0)};
  EXPECT_ERROR(this->store().open_round(JobId("j"), again, wall(9)), ErrorCode::conflict, "");
  EXPECT_EQ(this->records().size(), 1u);
}

// Each job from the former's model, each with a budget of its own that it is far from.
TYPED_TEST(RoundStoreLedger, FiveJobsOneAfterTheOtherStopAtThePopulationsBudget) {
  ASSERT_OK(this->store().set_population_budget(Population("phones"), this->budget_for(7)));
  uint64_t played = 0;
  Digest model = filled_digest(0x10);
  for (uint8_t i = 0; i < 5; ++i) {
    const std::string id = "j" + std::to_string(i);
    const Result<std::string> stop = this->store().why_no_job(this->job_of(id, "phones"), model);
    ASSERT_OK(stop);
    EXPECT_EQ(stop->empty(), played < 7) << *stop;
    this->create_in("phones", id, model);
    const uint64_t rounds = this->play_all(id, 2, static_cast<uint8_t>(0x80 + 2 * i));
    EXPECT_EQ(rounds, i < 3 ? 2u : i == 3 ? 1u : 0u);
    played += rounds;
    model = filled_digest(static_cast<uint8_t>(0x80 + 2 * i + 2));
    this->reopen();
  }
  EXPECT_EQ(played, 7u);
  const JobPrivacy last = this->privacy("j4");
  EXPECT_EQ(last.spent.releases, 0u);
  EXPECT_THAT(last.stop, testing::HasSubstr("population phones: the privacy budget is used up"));
  ASSERT_EQ(last.populations.size(), 1u);
  const PopulationPrivacy& all = last.populations[0];
  EXPECT_EQ(all.spent.account.epsilon, this->budget_for(7).epsilon) << "the accountant's, of all records together";
  EXPECT_EQ(all.spent.releases, 7u);
  EXPECT_EQ(all.jobs, 4u);
  double added = 0;
  for (const char* id : {"j0", "j1", "j2", "j3"}) added += this->privacy(id).spent.account.epsilon;
  EXPECT_GT(added, 1.5 * all.spent.account.epsilon) << "which is not what is added up";
  const OpenRound open{1, std::nullopt, Attempt(1), model_record("j4", 0)};
  EXPECT_ERROR(this->store().open_round(JobId("j4"), open, wall(9)), ErrorCode::conflict, "");
  EXPECT_EQ(this->records().size(), 14u);
}

TYPED_TEST(RoundStoreLedger, APopulationThatTheModelComesFromCountsToo) {
  ASSERT_OK(this->store().set_population_budget(Population("a"), this->budget_for(3)));
  this->create_in("a", "ja", filled_digest(1));
  this->create_in("b", "same start", filled_digest(1));
  EXPECT_EQ(this->play_all("ja", 2, 0x80), 2u);
  this->create_in("b", "jb", filled_digest(0x82));
  EXPECT_EQ(this->play_all("jb", 5, 0x90), 1u) << "one was left";
  this->reopen();
  EXPECT_THAT(this->privacy("jb").stop, testing::HasSubstr("that the job's model comes from: the privacy budget"));
  ASSERT_EQ(this->privacy("jb").populations.size(), 2u);
  EXPECT_EQ(this->privacy("jb").populations[0].population, Population("b"));
  EXPECT_EQ(this->privacy("jb").populations[1].spent.releases, 3u);
  this->create_in("c", "jc", filled_digest(0x91));
  EXPECT_NE(this->store().load_progress(JobId("jc"))->privacy_stop, "") << "by way of b";
  EXPECT_EQ(*this->store().why_no_job(this->job_of("new", "c"), filled_digest(0x66)), "") << "another model";
  EXPECT_EQ(this->play_all("same start", 2, 0xa0), 2u) << "a first model comes from nobody";
}

TYPED_TEST(RoundStoreLedger, APopulationWithABudgetTakesNoJobWithoutNoise) {
  JobRecord plain = job_record("plain");
  plain.spec.common.population = Population("phones");
  EXPECT_EQ(*this->store().why_no_job(plain, filled_digest(1)), "");
  ASSERT_OK(this->store().create_job(plain, model_record("plain", 0)));
  ASSERT_OK(this->store().set_population_budget(Population("phones"), this->budget_for(3)));
  EXPECT_THAT(*this->store().why_no_job(plain, filled_digest(1)), testing::HasSubstr("population phones: it has a"));
  EXPECT_NE(this->store().load_progress(JobId("plain"))->privacy_stop, "");
  const OpenRound open{1, std::nullopt, Attempt(1), model_record("plain", 0)};
  EXPECT_ERROR(this->store().open_round(JobId("plain"), open, wall(9)), ErrorCode::conflict, "");
  ASSERT_OK(this->store().set_population_budget(Population("phones"), std::nullopt));
  EXPECT_OK(this->store().open_round(JobId("plain"), open, wall(9)));
}

// Two rounds under way, one release left: the last gate.
TYPED_TEST(RoundStoreLedger, OnlyOneOfTwoJobsGetsTheReleaseThatIsLeft) {
  ASSERT_OK(this->store().set_population_budget(Population("phones"), this->budget_for(1)));
  this->create_in("phones", "a", filled_digest(1));
  this->create_in("phones", "b", filled_digest(1));
  const RoundKey a = this->finalizing("a", 1), b = this->finalizing("b", 1);
  EXPECT_EQ(this->reserve(b), "1");
  EXPECT_EQ(this->reserve(a), "permission_denied");
  EXPECT_EQ(this->reserve(b), "1") << "it has its reserve";
  EXPECT_EQ(this->records().size(), 1u);
}

TYPED_TEST(RoundStoreLedger, BudgetsAreSetShownAndTakenAway) {
  const Population phones("phones");
  EXPECT_ERROR(this->store().set_population_budget(phones, PrivacyBudget{0, 1e-6}), ErrorCode::invalid_argument, "");
  EXPECT_ERROR(this->store().set_population_budget(phones, PrivacyBudget{1, 0.9}), ErrorCode::invalid_argument, "");
  EXPECT_THAT(*this->store().list_population_privacy(1e-6), IsEmpty());
  ASSERT_OK(this->store().set_population_budget(phones, PrivacyBudget{2, 1e-7}));
  ASSERT_OK(this->store().set_population_budget(phones, PrivacyBudget{3, 1e-8}));
  this->reopen();
  this->create_in("tablets", "j", filled_digest(1));
  EXPECT_EQ(this->play_all("j", 2, 0x80), 2u);
  const std::vector<PopulationPrivacy> both = this->store().list_population_privacy(1e-5).value();
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].population, phones);
  EXPECT_EQ(both[0].budget->epsilon, 3);
  EXPECT_EQ(both[0].spent.account.delta, 1e-8);
  EXPECT_EQ(both[0].spent.releases, 0u);
  EXPECT_EQ(both[1].population, Population("tablets"));
  EXPECT_FALSE(both[1].budget.has_value());
  EXPECT_EQ(both[1].spent.account.delta, 1e-5);
  EXPECT_EQ(both[1].jobs, 1u);
  ASSERT_OK(this->store().set_population_budget(phones, std::nullopt));
  EXPECT_EQ(this->store().list_population_privacy(1e-5)->size(), 1u);
}

TYPED_TEST(RoundStoreLedger, IsOneChainForAllJobs) {
  this->create("a", 3);
  this->create("b", 3);
  const RoundKey a = this->finalizing("a", 1), b = this->finalizing("b", 1);
  ASSERT_EQ(this->reserve(a), "1");
  ASSERT_EQ(this->reserve(b), "1");
  ASSERT_OK(this->commit("a", a, 1));
  this->reopen();
  ASSERT_OK(this->commit("b", b, 1));
  const Result<Ledger> replayed = Ledger::replay(this->records());
  ASSERT_OK(replayed);
  EXPECT_EQ(replayed->size(), 4u);
  EXPECT_EQ(replayed->head(), this->privacy("a").ledger_head);
  EXPECT_EQ(this->privacy("a").spent.releases, 1u);
  EXPECT_EQ(this->store().list_ledger(1, 2)->size(), 2u);
  EXPECT_EQ(this->store().list_ledger(3, 2)->front().seq, 4u);
  EXPECT_THAT(*this->store().list_ledger(4, 2), IsEmpty());
}

// Devices are shown the ledger from before their round, the same for the whole attempt.
TYPED_TEST(RoundStoreLedger, NotesItsHeadAsARoundIsOpened) {
  this->create("j", 4);
  this->create("other", 4);
  const auto opened = [&](const char* job) { return this->store().load_progress(JobId(job))->latest->ledger; };
  const auto present = [&] { return LedgerHead{this->privacy("j").ledger_records, this->privacy("j").ledger_head}; };
  const RoundKey first = this->finalizing("j", 1);
  EXPECT_EQ(opened("j"), LedgerHead{}) << "no records yet";
  ASSERT_EQ(this->reserve(first), "1");
  EXPECT_EQ(opened("j"), LedgerHead{});
  ASSERT_OK(this->commit("j", first, 1, true));
  const LedgerHead two = present();
  EXPECT_EQ(two.records, 2u);
  EXPECT_EQ(opened("j"), two) << "round 2, opened with the commit of round 1";
  ASSERT_EQ(this->reserve(this->finalizing("other", 1)), "1");
  EXPECT_EQ(opened("other"), two) << "one ledger for all jobs";
  this->reopen();
  EXPECT_EQ(opened("j"), two) << "though it has grown";
  EXPECT_EQ(present().records, 3u);
  const RoundKey second = this->finalizing("j", 2);
  ASSERT_EQ(this->reserve(second), "1");
  this->fail(second);
  const LedgerHead four = present();
  this->finalizing("j", 2, 2);
  EXPECT_EQ(opened("j"), four) << "another attempt, another head";
  ASSERT_OK(this->store().create_job(job_record("plain"), model_record("plain", 0)));
  this->finalizing("plain", 1);
  EXPECT_EQ(opened("plain"), present())
      << "its models are in no ledger, but its devices are told of their population's";
}

TYPED_TEST(RoundStoreLedger, ThatIsEmptyHasNoHead) {
  EXPECT_EQ(*this->store().ledger_head(), LedgerHead{});
  EXPECT_THAT(*this->store().list_ledger(0, 10), IsEmpty());
  EXPECT_THAT(*this->store().list_ledger(5, 10), IsEmpty());
  EXPECT_ERROR(this->store().job_privacy(JobId("nobody")), ErrorCode::not_found, "");
  this->create("j", 3);
  EXPECT_EQ(this->privacy("j").spent.releases, 0u);
  EXPECT_EQ(this->privacy("j").stop, "");
}

TYPED_TEST(RoundStoreLedger, IsReadInPages) {
  this->create("j", 5);
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const RoundKey key = this->finalizing("j", 1, attempt);
    ASSERT_EQ(this->reserve(key), "1");
    this->fail(key);
  }
  EXPECT_THAT(*this->store().list_ledger(0, 0), IsEmpty());
  EXPECT_EQ(this->store().list_ledger(0, 1)->size(), 1u);
  EXPECT_EQ(this->store().list_ledger(1, 100)->front().seq, 2u);
  EXPECT_THAT(*this->store().list_ledger(3, 100), IsEmpty());
  EXPECT_THAT(*this->store().list_ledger(1'000'000, 100), IsEmpty());
}

TYPED_TEST(RoundStoreLedger, GrowsThoughTheClockWentBack) {
  this->create("j", 3);
  const RoundKey first = this->finalizing("j", 1);
  ASSERT_OK(this->store().reserve_release(first, salt_of(1), wall(1'000)));
  this->fail(first);
  const RoundKey second = this->finalizing("j", 1, 2);
  ASSERT_OK(this->store().reserve_release(second, salt_of(2), wall(-1'000)));
  this->reopen();
  const std::vector<LedgerRecord> records = this->records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].time, wall(-1'000));
  EXPECT_OK(Ledger::replay(records));
  EXPECT_EQ(this->store().ledger_head()->head, digest_of(records[1]));
}

// What was spent is spent, whatever becomes of the job.
TYPED_TEST(RoundStoreLedger, AJobThatIsCancelledHasSpentWhatItHasSpent) {
  this->create("j", 3);
  const RoundKey key = this->finalizing("j", 1);
  ASSERT_EQ(this->reserve(key), "1");
  ASSERT_OK(this->store().set_job_state(JobId("j"), JobState::cancelled, ""));
  this->reopen();
  EXPECT_EQ(this->privacy("j").spent.releases, 1u);
  EXPECT_EQ(this->privacy("j").spent.open_reserves, 1u);
  EXPECT_EQ(this->records().size(), 1u);
}

}  // namespace
}  // namespace coterie
