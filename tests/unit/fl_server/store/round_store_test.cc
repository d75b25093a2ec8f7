// The conformance suite of TrainingStore: what every implementation must do.
#include <gmock/gmock.h>

#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

template <typename Backend>
class RoundStoreConformance : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  TrainingStore& store() { return backend_.store(); }
  void reopen() { backend_.reopen(); }

  void create(const std::string& id = "j", int64_t created = 0) {
    ASSERT_OK(store().create_job(job_record(id, created), model_record(id, 0)));
  }
  Result<RoundRecord> open(uint64_t number = 1, uint32_t attempt = 1, uint64_t base = 0) {
    return store().open_round(JobId("j"), {number, std::nullopt, Attempt(attempt), model_record("j", base)}, wall(100));
  }
  Result<bool> move(const RoundKey& key, RoundState from, RoundState to, uint32_t selected = 0,
                    const std::string& reason = "") {
    return store().move_round({key, from, to, reason, selected}, wall(200));
  }
  // A job with a round that collects.
  RoundKey collecting() {
    create();
    const RoundKey key = open()->key;
    EXPECT_TRUE(*move(key, RoundState::selecting, RoundState::collecting));
    return key;
  }
  CommitRound commit_of(const RoundKey& key, uint64_t number, bool opens_next = true, bool completes = false) {
    return {{key, model_record("j", number), {3, 30, 300, 1.5, 200, 9}}, number, opens_next, completes};
  }
  std::string accept(const std::string& id, const RoundKey& key, const std::vector<uint64_t>& devices) {
    return text(store().accept_batch(partial_record(id, key, devices.size()), rows_of(devices)));
  }

  Backend backend_;
};
using Backends = testing::Types<SqliteBackend, PostgresBackend, MemoryBackend>;
TYPED_TEST_SUITE(RoundStoreConformance, Backends, BackendNames);

// ---- Jobs

TYPED_TEST(RoundStoreConformance, KeepsAJobAndItsInitialModelExactly) {
  JobRecord job = job_record("j");
  job.spec.horizontal().training.optimizer.learning_rate = 0.1f;
  job.spec.horizontal().training.optimizer.epsilon = 1e-8f;
  job.spec.horizontal().evaluation = filled_digest(0x33);
  job.value_count = ~0ull >> 1;
  ModelRecord model = model_record("j", 0);
  model.optimizer_state = filled_digest(0x44);
  model.evaluation_loss = 0.125;
  model.exact = filled_digest(0x55);
  model.deltas = {{filled_digest(1), filled_digest(2), 3}, {filled_digest(4), filled_digest(5), ~0ull >> 1}};
  ASSERT_OK(this->store().create_job(job, model));
  this->reopen();
  EXPECT_EQ(text(this->store().get_job(JobId("j"))), text(job));
  EXPECT_EQ(text(this->store().get_model(JobId("j"), ModelVersion(0))), text(model));
  EXPECT_EQ(this->store().get_job(JobId("j"))->spec, job.spec);
}

TYPED_TEST(RoundStoreConformance, RefusesASecondJobOfTheSameId) {
  this->create();
  JobRecord other = job_record("j");
  other.spec.common.name = "other";
  EXPECT_ERROR(this->store().create_job(other, model_record("j", 0)), ErrorCode::conflict, "");
  EXPECT_EQ(this->store().get_job(JobId("j"))->spec.common.name, "job j") << "nothing was written";
  EXPECT_EQ(this->store().list_models(JobId("j"))->size(), 1u);
}

TYPED_TEST(RoundStoreConformance, ListsJobsByCreation) {
  EXPECT_THAT(*this->store().list_jobs(), IsEmpty());
  this->create("b", 20);
  this->create("a", 30);
  this->create("d", 10);
  this->create("c", 20);
  std::string order;
  const std::vector<JobRecord> jobs = *this->store().list_jobs();
  for (const JobRecord& job : jobs) order += job.id.value();
  EXPECT_EQ(order, "dbca") << "the same moment: by id";
}

TYPED_TEST(RoundStoreConformance, SaysWhenThereIsNoSuchThing) {
  const JobId nobody("nobody");
  EXPECT_ERROR(this->store().get_job(nobody), ErrorCode::not_found, "");
  EXPECT_ERROR(this->store().set_job_state(nobody, JobState::paused, ""), ErrorCode::not_found, "");
  EXPECT_ERROR(this->store().load_progress(nobody), ErrorCode::not_found, "");
  EXPECT_ERROR(this->store().open_round(nobody, {1, {}, Attempt(1), model_record("nobody", 0)}, wall(0)),
               ErrorCode::not_found, "");
  EXPECT_ERROR(this->store().get_model(nobody, ModelVersion(0)), ErrorCode::not_found, "");
  EXPECT_THAT(*this->store().list_models(nobody), IsEmpty());
  EXPECT_THAT(*this->store().list_rounds(nobody, {.limit = 10}), IsEmpty());
  this->create();
  EXPECT_ERROR(this->store().get_model(JobId("j"), ModelVersion(1)), ErrorCode::not_found, "");
}

TYPED_TEST(RoundStoreConformance, ChangesAJobsStateAlongTheAllowedPathsOnly) {
  using enum JobState;
  for (const JobState from : {running, paused, completed, cancelled, failed}) {
    for (const JobState to : {running, paused, completed, cancelled, failed}) {
      const std::string id = std::string(to_string(from)) + "-" + std::string(to_string(to));
      JobRecord job = job_record(id);
      job.state = from;
      ASSERT_OK(this->store().create_job(job, model_record(id, 0)));
      const bool open = from == running || from == paused;
      const bool allowed = from == to || (open && to != completed);
      const Result<JobRecord> changed = this->store().set_job_state(JobId(id), to, "because");
      EXPECT_EQ(changed.has_value(), allowed) << id;
      if (!changed) EXPECT_EQ(changed.error().code(), ErrorCode::conflict) << id;
      this->reopen();
      const JobRecord now = *this->store().get_job(JobId(id));
      EXPECT_EQ(now.state, allowed ? to : from) << id;
      EXPECT_EQ(now.revision, allowed && from != to ? 2u : 1u) << id << ": the same state again is no change";
      EXPECT_EQ(now.reason, allowed && from != to ? "because" : "") << id;
    }
  }
}

TYPED_TEST(RoundStoreConformance, ChangesAJobOnlyFromTheRevisionThatIsExpected) {
  this->create();
  const JobId id("j");
  EXPECT_ERROR(this->store().set_job_state(id, JobState::paused, "", 2), ErrorCode::conflict, "");
  EXPECT_ERROR(this->store().set_job_state(id, JobState::running, "", 0), ErrorCode::conflict, "");
  EXPECT_EQ(this->store().get_job(id)->state, JobState::running) << "nothing was written";
  EXPECT_EQ(this->store().set_job_state(id, JobState::paused, "", 1)->revision, 2u);
  EXPECT_ERROR(this->store().set_job_state(id, JobState::paused, "", 1), ErrorCode::conflict, "");
  EXPECT_EQ(this->store().set_job_state(id, JobState::paused, "", 2)->revision, 2u) << "it is so";
  EXPECT_ERROR(this->store().set_job_state(id, JobState::completed, "", 2), ErrorCode::conflict, "");
}

// ---- Rounds

TYPED_TEST(RoundStoreConformance, OpensARoundOnceHoweverOftenItIsAsked) {
  this->create();
  const Result<RoundRecord> first = this->open();
  ASSERT_OK(first);
  EXPECT_EQ(first->state, RoundState::selecting);
  EXPECT_EQ(first->number, 1u);
  EXPECT_EQ(first->key.attempt, Attempt(1));
  EXPECT_EQ(first->base_model, model_record("j", 0).digest);
  EXPECT_EQ(first->base_model_bytes, 4'096u);
  EXPECT_EQ(first->opened, wall(100));
  this->reopen();
  EXPECT_EQ(text(this->open()), text(first));
  ASSERT_TRUE(*this->move(first->key, RoundState::selecting, RoundState::collecting));
  EXPECT_EQ(this->open()->state, RoundState::collecting) << "the row as it is now";
  ASSERT_OK(this->store().set_job_state(JobId("j"), JobState::paused, ""));
  EXPECT_OK(this->open()) << "what exists is returned, whatever the job's state";
}

TYPED_TEST(RoundStoreConformance, OpensNoRoundThatIsNotDue) {
  this->create();
  EXPECT_ERROR(this->open(2), ErrorCode::conflict, "");
  EXPECT_ERROR(this->open(0), ErrorCode::conflict, "");
  EXPECT_ERROR(this->open(1, 2), ErrorCode::conflict, "") << "attempt 1 was never made";
  EXPECT_ERROR(this->open(1, 1, 1), ErrorCode::conflict, "") << "not from the newest model";
  for (const JobState state : {JobState::paused, JobState::cancelled}) {
    ASSERT_OK(this->store().set_job_state(JobId("j"), state, ""));
    EXPECT_ERROR(this->open(), ErrorCode::conflict, "") << to_string(state);
  }
}

TYPED_TEST(RoundStoreConformance, OpensTheNextAttemptOnlyAfterTheLastOneFailed) {
  const RoundKey first = this->collecting();
  EXPECT_ERROR(this->open(1, 2), ErrorCode::conflict, "");
  ASSERT_TRUE(*this->move(first, RoundState::collecting, RoundState::failed, 4, "nobody came"));
  EXPECT_ERROR(this->open(1, 3), ErrorCode::conflict, "") << "attempt 2 comes first";
  const Result<RoundRecord> second = this->open(1, 2);
  ASSERT_OK(second);
  EXPECT_EQ(second->key, (RoundKey{first.round, Attempt(2)})) << "the same round";
  const JobProgress progress = *this->store().load_progress(JobId("j"));
  EXPECT_EQ(progress.latest->key, second->key);
  EXPECT_EQ(progress.accepted, 0u);
}

TYPED_TEST(RoundStoreConformance, MovesARoundByCompareAndSet) {
  this->create();
  const RoundKey key = this->open()->key;
  EXPECT_FALSE(*this->move(key, RoundState::collecting, RoundState::frozen)) << "it is selecting";
  EXPECT_TRUE(*this->move(key, RoundState::selecting, RoundState::collecting));
  EXPECT_FALSE(*this->move(key, RoundState::selecting, RoundState::collecting)) << "somebody was faster";
  EXPECT_FALSE(*this->move({key.round, Attempt(2)}, RoundState::selecting, RoundState::collecting))
      << "no such attempt";
  EXPECT_TRUE(*this->move(key, RoundState::collecting, RoundState::frozen, 7));
  EXPECT_TRUE(*this->move(key, RoundState::frozen, RoundState::finalizing, 5));
  this->reopen();
  const RoundRecord round = *this->store().load_progress(JobId("j"))->latest;
  EXPECT_EQ(round.state, RoundState::finalizing);
  EXPECT_EQ(round.selected, 7u) << "never falls";
  EXPECT_EQ(round.closed, WallTime());
}

TYPED_TEST(RoundStoreConformance, FailsAnAttemptOfNobodyOnlyWhileNobodyCounts) {
  const RoundKey key = this->collecting();
  const MoveRound move{key, RoundState::collecting, RoundState::failed, "nobody came", 0, true};
  EXPECT_EQ(this->accept("p", key, {1}), "done");
  EXPECT_FALSE(*this->store().move_round(move, wall(200)));
  EXPECT_EQ(this->store().load_progress(JobId("j"))->latest->state, RoundState::collecting);
  EXPECT_TRUE(*this->move(key, RoundState::collecting, RoundState::failed)) << "for another reason";
  const RoundKey next = this->open(1, 2)->key;
  EXPECT_TRUE(*this->move(next, RoundState::selecting, RoundState::collecting));
  EXPECT_TRUE(*this->store().move_round({next, RoundState::collecting, RoundState::failed, "", 0, true}, wall(200)));
}

TYPED_TEST(RoundStoreConformance, RemembersWhyAndWhenAnAttemptFailed) {
  const RoundKey key = this->collecting();
  ASSERT_TRUE(*this->move(key, RoundState::collecting, RoundState::failed, 4, "nobody came"));
  this->reopen();
  const RoundRecord round = *this->store().load_progress(JobId("j"))->latest;
  EXPECT_EQ(round.state, RoundState::failed);
  EXPECT_EQ(round.reason, "nobody came");
  EXPECT_EQ(round.closed, wall(200));
}

TYPED_TEST(RoundStoreConformance, ListsRoundsNewestFirstEveryAttemptItsOwnRow) {
  this->create();
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const RoundKey key = this->open(1, attempt)->key;
    if (attempt < 3) ASSERT_TRUE(*this->move(key, RoundState::selecting, RoundState::failed));
    else ASSERT_TRUE(*this->move(key, RoundState::selecting, RoundState::frozen));
    if (attempt == 3) ASSERT_OK(this->store().commit_round(JobId("j"), this->commit_of(key, 1), wall(300)));
  }
  const auto listed = [this](const RoundQuery& query) {
    std::string order;
    const std::vector<RoundRecord> rounds = *this->store().list_rounds(JobId("j"), query);
    for (const RoundRecord& round : rounds) {
      order += std::to_string(round.number) + "." + std::to_string(round.key.attempt.value()) + " ";
    }
    return order;
  };
  const auto before = [](uint64_t number, uint32_t attempt) { return std::pair(number, Attempt(attempt)); };
  EXPECT_EQ(listed({}), "2.1 1.3 1.2 1.1 ");
  EXPECT_EQ(listed({.limit = 2}), "2.1 1.3 ");
  EXPECT_EQ(listed({.before = before(2, 0)}), "1.3 1.2 1.1 ");
  EXPECT_EQ(listed({.before = before(1, 3), .limit = 1}), "1.2 ") << "a page may end within a round";
  EXPECT_EQ(listed({.before = before(1, 0)}), "");
  EXPECT_EQ(listed({.limit = 0}), "");
  EXPECT_EQ(listed({.state = RoundState::failed}), "1.2 1.1 ");
  EXPECT_EQ(listed({.before = before(1, 2), .state = RoundState::failed}), "1.1 ");
  EXPECT_EQ(listed({.state = RoundState::frozen}), "");
}

// ---- Committing a round

TYPED_TEST(RoundStoreConformance, CommitsModelRoundAndProgressTogether) {
  const RoundKey key = this->collecting();
  ASSERT_TRUE(*this->move(key, RoundState::collecting, RoundState::frozen));
  const Result<JobProgress> progress = this->store().commit_round(JobId("j"), this->commit_of(key, 1), wall(300));
  ASSERT_OK(progress);
  EXPECT_EQ(progress->job.rounds_done, 1u);
  EXPECT_EQ(progress->job.revision, 2u);
  EXPECT_EQ(progress->head.version, ModelVersion(1));
  ASSERT_TRUE(progress->latest.has_value());
  EXPECT_EQ(progress->latest->number, 2u) << "the next round's row was asked for";
  EXPECT_EQ(progress->latest->state, RoundState::selecting);
  EXPECT_EQ(progress->latest->base, ModelVersion(1));
  EXPECT_NE(progress->latest->key.round, key.round);
  this->reopen();
  EXPECT_EQ(text(this->store().load_progress(JobId("j"))), text(progress));
  const std::vector<RoundRecord> rounds =
      *this->store().list_rounds(JobId("j"), {.before = std::pair(2u, Attempt(0)), .limit = 1});
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0].state, RoundState::done);
  EXPECT_EQ(rounds[0].totals, this->commit_of(key, 1).round.totals);
  EXPECT_EQ(rounds[0].closed, wall(300));
}

TYPED_TEST(RoundStoreConformance, RepeatsACommitThatHappenedWithoutDoingItAgain) {
  const RoundKey key = this->collecting();
  ASSERT_TRUE(*this->move(key, RoundState::collecting, RoundState::finalizing));
  const auto first = this->store().commit_round(JobId("j"), this->commit_of(key, 1), wall(300));
  this->reopen();
  const auto again = this->store().commit_round(JobId("j"), this->commit_of(key, 1), wall(400));
  EXPECT_EQ(text(again), text(first));
  EXPECT_EQ(this->store().list_models(JobId("j"))->size(), 2u);
}

TYPED_TEST(RoundStoreConformance, CommitsNothingForARoundThatIsNotBeingFinalized) {
  const RoundKey key = this->collecting();
  EXPECT_ERROR(this->store().commit_round(JobId("j"), this->commit_of(key, 1), wall(300)), ErrorCode::conflict, "");
  EXPECT_ERROR(this->store().commit_round(JobId("j"), this->commit_of({RoundId(99), Attempt(1)}, 1), wall(300)),
               ErrorCode::conflict, "");
  ASSERT_TRUE(*this->move(key, RoundState::collecting, RoundState::failed));
  EXPECT_ERROR(this->store().commit_round(JobId("j"), this->commit_of(key, 1), wall(300)), ErrorCode::conflict, "");
  EXPECT_EQ(this->store().list_models(JobId("j"))->size(), 1u);
  EXPECT_EQ(this->store().get_job(JobId("j"))->rounds_done, 0u);
}

TYPED_TEST(RoundStoreConformance, CompletesTheJobWithItsLastRound) {
  const RoundKey key = this->collecting();
  ASSERT_TRUE(*this->move(key, RoundState::collecting, RoundState::frozen));
  const auto progress = this->store().commit_round(JobId("j"), this->commit_of(key, 1, false, true), wall(300));
  ASSERT_OK(progress);
  EXPECT_EQ(progress->job.state, JobState::completed);
  EXPECT_EQ(progress->latest->state, RoundState::done) << "no next round";
}

TYPED_TEST(RoundStoreConformance, OpensNoNextRoundForAJobThatWasPausedOrCancelledMeanwhile) {
  for (const JobState state : {JobState::paused, JobState::cancelled}) {
    SCOPED_TRACE(to_string(state));
    const std::string id(to_string(state));
    this->create(id);
    const RoundKey key = this->store().open_round(JobId(id), {1, {}, Attempt(1), model_record(id, 0)}, wall(100))->key;
    ASSERT_TRUE(*this->move(key, RoundState::selecting, RoundState::frozen));
    ASSERT_OK(this->store().set_job_state(JobId(id), state, ""));
    CommitRound commit = this->commit_of(key, 1);
    commit.round.model = model_record(id, 1);
    const auto progress = this->store().commit_round(JobId(id), commit, wall(300));
    ASSERT_OK(progress);
    EXPECT_EQ(progress->job.state, state);
    EXPECT_EQ(progress->job.rounds_done, 1u) << "the round itself counts";
    EXPECT_EQ(progress->latest->number, 1u);
  }
}

// ---- Who is counted

TYPED_TEST(RoundStoreConformance, AcceptsABatchAsAWhole) {
  const RoundKey key = this->collecting();
  EXPECT_EQ(this->accept("n/1", key, {1, 2, 3}), "done");
  EXPECT_EQ(this->accept("n/2", key, {4}), "done");
  this->reopen();
  EXPECT_EQ(*this->store().count_accepted(key), 4u);
  EXPECT_EQ(this->store().list_accepted(key)->size(), 4u);
  for (uint64_t i = 1; i <= 5; ++i) EXPECT_EQ(*this->store().is_accepted(key, numbered_device(i)), i <= 4) << i;
  EXPECT_THAT(*this->store().list_partials(key),
              ElementsAre(partial_record("n/1", key, 3), partial_record("n/2", key, 1)));
  EXPECT_EQ(this->store().load_progress(JobId("j"))->accepted, 4u);
}

TYPED_TEST(RoundStoreConformance, SaysWhetherWhoIsNotCountedMayStillBe) {
  const RoundKey key = this->collecting();
  ASSERT_EQ(this->accept("n/1", key, {1}), "done");
  EXPECT_EQ(*this->store().look_up(key, numbered_device(1)), (UpdateFate{.is_accepted = true, .is_over = false}));
  EXPECT_EQ(*this->store().look_up(key, numbered_device(2)), (UpdateFate{.is_accepted = false, .is_over = false}));
  ASSERT_TRUE(*this->move(key, RoundState::collecting, RoundState::frozen));
  EXPECT_EQ(*this->store().look_up(key, numbered_device(1)), (UpdateFate{.is_accepted = true, .is_over = true}));
  EXPECT_EQ(*this->store().look_up(key, numbered_device(2)), (UpdateFate{.is_accepted = false, .is_over = true}));
  EXPECT_EQ(this->accept("n/2", key, {2}), "closed") << "as was said";
  const RoundKey unknown{RoundId(987), Attempt(1)};
  EXPECT_EQ(*this->store().look_up(unknown, numbered_device(1)), (UpdateFate{.is_over = true, .is_forgotten = true}));
}

TYPED_TEST(RoundStoreConformance, CountsARepeatedBatchOnce) {
  const RoundKey key = this->collecting();
  EXPECT_EQ(this->accept("n/1", key, {1, 2}), "done");
  this->reopen();
  EXPECT_EQ(this->accept("n/1", key, {1, 2}), "done") << "the answer was lost, the batch comes again";
  EXPECT_EQ(*this->store().count_accepted(key), 2u);
  EXPECT_EQ(this->store().list_partials(key)->size(), 1u);
  ASSERT_TRUE(*this->move(key, RoundState::collecting, RoundState::frozen));
  EXPECT_EQ(this->accept("n/1", key, {1, 2}), "done") << "even after the freeze: it counts";
}

TYPED_TEST(RoundStoreConformance, WritesNothingOfABatchWithADeviceThatIsCounted) {
  const RoundKey key = this->collecting();
  ASSERT_EQ(this->accept("n/1", key, {1, 2}), "done");
  EXPECT_EQ(this->accept("m/1", key, {3, 2, 4, 1}),
            "conflict " + numbered_device(1).hex() + " " + numbered_device(2).hex());
  EXPECT_EQ(*this->store().count_accepted(key), 2u);
  EXPECT_FALSE(*this->store().is_accepted(key, numbered_device(3)));
  EXPECT_EQ(this->store().list_partials(key)->size(), 1u);
  EXPECT_EQ(this->accept("m/1", key, {3, 4}), "done") << "the id of a batch that was not written is free";
}

TYPED_TEST(RoundStoreConformance, TakesBatchesOnlyWhileTheAttemptCollects) {
  this->create();
  const RoundKey key = this->open()->key;
  EXPECT_EQ(this->accept("n/1", key, {1}), "closed") << "selecting";
  ASSERT_TRUE(*this->move(key, RoundState::selecting, RoundState::collecting));
  EXPECT_EQ(this->accept("n/1", {key.round, Attempt(2)}, {1}), "closed") << "no such attempt";
  EXPECT_EQ(this->accept("n/1", {RoundId(99), Attempt(1)}, {1}), "closed") << "no such round";
  EXPECT_EQ(this->accept("n/2", key, {1}), "done");
  for (const RoundState state : {RoundState::frozen, RoundState::finalizing, RoundState::failed}) {
    ASSERT_TRUE(*this->move(key, this->store().load_progress(JobId("j"))->latest->state, state));
    EXPECT_EQ(this->accept("n/3", key, {2}), "closed") << to_string(state);
  }
  EXPECT_EQ(*this->store().count_accepted(key), 1u);
}

TYPED_TEST(RoundStoreConformance, KeepsAttemptsApart) {
  const RoundKey first = this->collecting();
  ASSERT_EQ(this->accept("n/1", first, {1, 2}), "done");
  ASSERT_TRUE(*this->move(first, RoundState::collecting, RoundState::failed));
  const RoundKey second = this->open(1, 2)->key;
  ASSERT_TRUE(*this->move(second, RoundState::selecting, RoundState::collecting));
  EXPECT_EQ(*this->store().count_accepted(second), 0u);
  EXPECT_EQ(this->accept("n/2", second, {1}), "done") << "counted in the failed attempt is not counted here";
  EXPECT_EQ(*this->store().count_accepted(first), 2u);
  EXPECT_EQ(*this->store().count_accepted(second), 1u);
}

TYPED_TEST(RoundStoreConformance, ListsPartialsOfFinishedRoundsUntilTheyAreForgotten) {
  const RoundKey key = this->collecting();
  for (const char* id : {"n/1", "n/2", "n/3"}) {
    ASSERT_EQ(this->accept(id, key, {static_cast<uint64_t>(id[2])}), "done");
  }
  EXPECT_THAT(*this->store().list_finished_partials(10), IsEmpty()) << "they are needed";
  ASSERT_TRUE(*this->move(key, RoundState::collecting, RoundState::frozen));
  ASSERT_OK(this->store().commit_round(JobId("j"), this->commit_of(key, 1), wall(300)));
  EXPECT_EQ(this->store().list_finished_partials(10)->size(), 3u);
  EXPECT_EQ(this->store().list_finished_partials(2)->size(), 2u);
  ASSERT_OK(this->store().forget_partials({"n/1", "n/3", "never heard of"}));
  this->reopen();
  EXPECT_THAT(*this->store().list_finished_partials(10), ElementsAre(partial_record("n/2", key, 1)));
  EXPECT_EQ(*this->store().count_accepted(key), 3u) << "who was counted is not forgotten";
  ASSERT_OK(this->store().forget_partials({}));
}

TYPED_TEST(RoundStoreConformance, ListsModelsByVersion) {
  RoundKey key = this->collecting();
  for (uint64_t number = 1; number <= 3; ++number) {
    if (number > 1) {
      key = this->store().load_progress(JobId("j"))->latest->key;
      ASSERT_TRUE(*this->move(key, RoundState::selecting, RoundState::collecting));
    }
    ASSERT_TRUE(*this->move(key, RoundState::collecting, RoundState::frozen));
    CommitRound commit = this->commit_of(key, number, number < 3, number == 3);
    commit.round.model.evaluation_accuracy = 0.5;
    ASSERT_OK(this->store().commit_round(JobId("j"), commit, wall(300)));
  }
  this->reopen();
  const std::vector<ModelRecord> models = *this->store().list_models(JobId("j"));
  ASSERT_EQ(models.size(), 4u);
  for (uint64_t version = 0; version < 4; ++version) {
    EXPECT_EQ(models[version].version, ModelVersion(version));
    EXPECT_EQ(text(this->store().get_model(JobId("j"), ModelVersion(version))), text(models[version]));
  }
  EXPECT_EQ(models[3].evaluation_accuracy, 0.5);
}

// ---- Releases

TYPED_TEST(RoundStoreConformance, PromotesAVersionAndRollsBackToTheOneBefore) {
  const RoundKey key = this->collecting();
  ASSERT_TRUE(*this->move(key, RoundState::collecting, RoundState::frozen));
  ASSERT_OK(this->store().commit_round(JobId("j"), this->commit_of(key, 1), wall(300)));
  const JobId id("j");
  const auto promote = [&](uint64_t version, int64_t at) {
    return this->store().promote_model(id, ModelVersion(version), wall(at));
  };
  const auto released = [&] {
    this->reopen();
    const auto release = *this->store().released_model(id);
    const std::map<JobId, ModelRelease> all = *this->store().released_models();
    EXPECT_EQ(all.contains(id) ? std::optional(all.at(id)) : std::nullopt, release) << "the same of all jobs";
    return release ? std::to_string(release->seq) + ":" + std::to_string(release->version.value()) : "none";
  };
  const uint64_t revision = this->store().get_job(id)->revision;
  EXPECT_EQ(released(), "none");
  EXPECT_ERROR(this->store().roll_back_model(id), ErrorCode::conflict, "");
  EXPECT_EQ(*promote(0, 10), (ModelRelease{1, ModelVersion(0), wall(10)}));
  EXPECT_EQ(*promote(0, 20), (ModelRelease{1, ModelVersion(0), wall(10)})) << "it is so already";
  EXPECT_EQ(this->store().get_job(id)->revision, revision + 1);
  EXPECT_ERROR(this->store().roll_back_model(id), ErrorCode::conflict, "") << "there was none before";
  EXPECT_EQ(promote(1, 30)->seq, 2u);
  EXPECT_EQ(promote(0, 40)->seq, 3u);
  EXPECT_EQ(released(), "3:0");
  EXPECT_EQ(this->store().roll_back_model(id)->version, ModelVersion(1));
  EXPECT_EQ(released(), "2:1");
  EXPECT_EQ(*this->store().roll_back_model(id), (ModelRelease{1, ModelVersion(0), wall(10)}));
  EXPECT_ERROR(this->store().roll_back_model(id), ErrorCode::conflict, "");
  EXPECT_EQ(released(), "1:0");
  EXPECT_EQ(this->store().get_job(id)->revision, revision + 5);
}

TYPED_TEST(RoundStoreConformance, SaysWhatEveryJobHasReleasedByOneQuestion) {
  using Released = std::map<JobId, ModelRelease>;
  for (const char* const id : {"j", "k", "never"})
    ASSERT_OK(this->store().create_job(job_record(id), model_record(id, 0)));
  ASSERT_OK(this->store().promote_model(JobId("j"), ModelVersion(0), wall(10)));
  ASSERT_OK(this->store().promote_model(JobId("k"), ModelVersion(0), wall(20)));
  this->reopen();
  EXPECT_EQ(*this->store().released_models(),
            (Released{{JobId("j"), {1, ModelVersion(0), wall(10)}}, {JobId("k"), {1, ModelVersion(0), wall(20)}}}));
}

TYPED_TEST(RoundStoreConformance, PromotesOnlyWhatExistsAndOnlyFromTheRevisionThatIsExpected) {
  this->create();
  const JobId id("j"), nobody("x");
  EXPECT_ERROR(this->store().promote_model(nobody, ModelVersion(0), wall(1)), ErrorCode::not_found, "");
  EXPECT_ERROR(this->store().roll_back_model(nobody), ErrorCode::not_found, "");
  EXPECT_ERROR(this->store().promote_model(id, ModelVersion(1), wall(1)), ErrorCode::not_found, "");
  EXPECT_EQ(*this->store().released_model(nobody), std::nullopt);
  EXPECT_ERROR(this->store().promote_model(id, ModelVersion(0), wall(1), 2), ErrorCode::conflict, "");
  EXPECT_EQ(this->store().get_job(id)->revision, 1u);
  EXPECT_OK(this->store().promote_model(id, ModelVersion(0), wall(1), 1));
  EXPECT_ERROR(this->store().roll_back_model(id, 1), ErrorCode::conflict, "");
}

}  // namespace
}  // namespace coterie
