// The conformance suite of TrainingStore, second part: edges, strangers' bytes, limits, order.
#include <gmock/gmock.h>

#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

using namespace test;
using enum RoundState;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kHostile = "it's \xc3\xa4\xf0\x9f\x94\x91 ?1 $1 \\ %_ \"; DROP TABLE job; --";
constexpr uint64_t kLargest = INT64_MAX;  // a database's integers have a sign

template <typename Backend>
class RoundStoreEdges : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  TrainingStore& store() { return backend_.store(); }
  void reopen() { backend_.reopen(); }

  void create(const std::string& id = "j") { ASSERT_OK(store().create_job(job_record(id), model_record(id, 0))); }
  RoundKey open(const std::string& id = "j", uint64_t number = 1, uint32_t attempt = 1) {
    const OpenRound request{number, std::nullopt, Attempt(attempt), model_record(id, number - 1)};
    const auto round = store().open_round(JobId(id), request, wall(1));
    EXPECT_OK(round);
    return round ? round->key : RoundKey{};
  }
  bool move(const RoundKey& key, RoundState from, RoundState to) {
    return *store().move_round({key, from, to, "", 0}, wall(2));
  }
  RoundKey collecting(const std::string& id = "j", uint64_t number = 1, uint32_t attempt = 1) {
    const RoundKey key = open(id, number, attempt);
    EXPECT_TRUE(move(key, selecting, RoundState::collecting));
    return key;
  }
  Result<JobProgress> commit(const RoundKey& key, uint64_t number, const std::string& id = "j",
                             bool opens_next = false) {
    const CommitRound request{{key, model_record(id, number), {3, 30, 300, 1.5, 200, 9}}, number, opens_next, false};
    return store().commit_round(JobId(id), request, wall(3));
  }
  std::string accept(const std::string& id, const RoundKey& key, const std::vector<AcceptRow>& rows) {
    return text(store().accept_batch(partial_record(id, key, rows.size()), rows));
  }
  Backend backend_;
};
using Backends = testing::Types<SqliteBackend, PostgresBackend, MemoryBackend>;
TYPED_TEST_SUITE(RoundStoreEdges, Backends, BackendNames);

// ---- Jobs

TYPED_TEST(RoundStoreEdges, TextsAreTheirBytes) {
  JobRecord job = job_record(kHostile);
  job.spec.common.name = std::string(kHostile) + std::string(100'000, 'n');
  job.reason = kHostile;
  ASSERT_OK(this->store().create_job(job, model_record(kHostile, 0)));
  ASSERT_OK(this->store().set_job_state(JobId(kHostile), JobState::failed, std::string(100'000, 'r') + kHostile));
  this->reopen();
  const JobRecord kept = *this->store().get_job(JobId(kHostile));
  EXPECT_EQ(kept.spec.common.name, job.spec.common.name);
  EXPECT_EQ(kept.reason, std::string(100'000, 'r') + kHostile);
  EXPECT_EQ(this->store().list_models(JobId(kHostile))->size(), 1u);
}

TYPED_TEST(RoundStoreEdges, IdsThatDifferInCaseOrBlanksAreOthers) {
  for (const char* id : {"j", "J", "j ", " j", ""}) this->create(id);
  EXPECT_EQ(this->store().list_jobs()->size(), 5u);
  ASSERT_OK(this->store().set_job_state(JobId("J"), JobState::paused, ""));
  EXPECT_EQ(this->store().get_job(JobId("j"))->state, JobState::running);
  EXPECT_ERROR(this->store().get_job(JobId("%")), ErrorCode::not_found, "");
}

TYPED_TEST(RoundStoreEdges, KeepsTheLargestNumbers) {
  JobRecord job = job_record("j");
  job.plan_bytes = UINT32_MAX;
  job.value_count = kLargest;
  job.created = wall_time_from_unix_ms(253'402'300'799'000);
  ModelRecord model = model_record("j", 0);
  model.bytes = kLargest;
  model.evaluation_loss = 1.7976931348623157e308;
  model.evaluation_accuracy = 5e-324;
  model.evaluation_mae = 1.7976931348623157e308;
  model.evaluation_r2 = -0.1;
  ASSERT_OK(this->store().create_job(job, model));
  this->reopen();
  EXPECT_EQ(text(this->store().get_job(JobId("j"))), text(job));
  const ModelRecord kept = *this->store().get_model(JobId("j"), ModelVersion(0));
  EXPECT_EQ(kept.bytes, kLargest);
  EXPECT_EQ(kept.evaluation_loss, model.evaluation_loss) << "to the last bit";
  EXPECT_EQ(kept.evaluation_accuracy, model.evaluation_accuracy) << "to the last bit";
  EXPECT_EQ(kept.evaluation_mae, model.evaluation_mae);
  EXPECT_EQ(kept.evaluation_r2, model.evaluation_r2);
}

TYPED_TEST(RoundStoreEdges, ListsManyJobsWithoutLosingOne) {
  for (int i = 0; i < 300; ++i) this->create("j" + std::to_string(i));
  this->reopen();
  const std::vector<JobRecord> jobs = *this->store().list_jobs();
  ASSERT_EQ(jobs.size(), 300u);
  EXPECT_TRUE(std::ranges::is_sorted(jobs, {}, [](const JobRecord& job) { return job.id; })) << "all of one moment";
}

TYPED_TEST(RoundStoreEdges, APauseThatIsRepeatedKeepsItsFirstReason) {
  this->create();
  ASSERT_OK(this->store().set_job_state(JobId("j"), JobState::paused, "first"));
  EXPECT_EQ(this->store().set_job_state(JobId("j"), JobState::paused, "second")->reason, "first");
  EXPECT_EQ(this->store().set_job_state(JobId("j"), JobState::running, "")->reason, "")
      << "resumed: the reason is over";
  EXPECT_EQ(this->store().get_job(JobId("j"))->revision, 3u);
}

TYPED_TEST(RoundStoreEdges, AJobThatIsOverStaysAsItIs) {
  this->create();
  ASSERT_OK(this->store().set_job_state(JobId("j"), JobState::cancelled, "enough"));
  EXPECT_ERROR(this->store().set_job_state(JobId("j"), JobState::failed, "x"), ErrorCode::conflict, "");
  EXPECT_EQ(this->store().set_job_state(JobId("j"), JobState::cancelled, "again")->reason, "enough");
  EXPECT_EQ(this->store().load_progress(JobId("j"))->job.state, JobState::cancelled);
}

// ---- Rounds

TYPED_TEST(RoundStoreEdges, RoundsOfTwoJobsHaveIdsOfTheirOwn) {
  this->create("a");
  this->create("b");
  const RoundKey a = this->collecting("a"), b = this->collecting("b");
  EXPECT_NE(a.round, b.round);
  EXPECT_EQ(this->accept("n/1", a, rows_of({1})), "done");
  EXPECT_EQ(this->accept("n/2", b, rows_of({1})), "done") << "a device may be in rounds of two jobs";
  EXPECT_EQ(*this->store().count_accepted(a), 1u);
  EXPECT_EQ(this->store().list_rounds(JobId("a"), {})->size(), 1u);
}

TYPED_TEST(RoundStoreEdges, ManyAttemptsOfARoundAreOneAfterTheOther) {
  this->create();
  RoundKey key;
  for (uint32_t attempt = 1; attempt <= 40; ++attempt) {
    key = this->open("j", 1, attempt);
    EXPECT_EQ(key.attempt, Attempt(attempt));
    if (attempt < 40) ASSERT_TRUE(this->move(key, selecting, failed));
  }
  this->reopen();
  EXPECT_EQ(this->store().load_progress(JobId("j"))->latest->key, key);
  EXPECT_EQ(this->store().list_rounds(JobId("j"), {.state = failed, .limit = 1'000})->size(), 39u);
}

TYPED_TEST(RoundStoreEdges, AnAttemptThatFailedComesNotBack) {
  this->create();
  const RoundKey key = this->open();
  ASSERT_TRUE(this->move(key, selecting, failed));
  for (const RoundState from : {selecting, collecting, frozen, finalizing})
    EXPECT_FALSE(this->move(key, from, collecting));
  EXPECT_ERROR(this->commit(key, 1), ErrorCode::conflict, "");
  EXPECT_EQ(this->accept("n/1", key, rows_of({1})), "closed");
}

TYPED_TEST(RoundStoreEdges, KeepsALongReasonAndTheMostTickets) {
  this->create();
  const RoundKey key = this->open();
  const std::string reason = std::string(100'000, 'x') + kHostile;
  ASSERT_TRUE(*this->store().move_round({key, selecting, failed, reason, UINT32_MAX}, wall(9)));
  this->reopen();
  const RoundRecord round = this->store().list_rounds(JobId("j"), {})->at(0);
  EXPECT_EQ(round.reason, reason);
  EXPECT_EQ(round.selected, UINT32_MAX);
}

TYPED_TEST(RoundStoreEdges, PagesOfRoundsMayBeginBehindAllOfThem) {
  this->create();
  this->open();
  EXPECT_EQ(this->store().list_rounds(JobId("j"), {.before = std::pair(kLargest, Attempt(1))})->size(), 1u);
  EXPECT_EQ(this->store().list_rounds(JobId("j"), {.before = std::pair(1, Attempt(UINT32_MAX))})->size(), 1u);
  EXPECT_THAT(*this->store().list_rounds(JobId("j"), {.before = std::pair(0, Attempt(0))}), IsEmpty());
  EXPECT_THAT(*this->store().list_rounds(JobId(""), {}), IsEmpty());
}

TYPED_TEST(RoundStoreEdges, CommitsTotalsAsTheyAre) {
  this->create();
  const RoundKey key = this->collecting();
  ASSERT_TRUE(this->move(key, RoundState::collecting, frozen));
  const RoundTotals totals{kLargest, kLargest, kLargest, -0.1, 0, kLargest};
  const CommitRound request{{key, model_record("j", 1), totals}, 1, false, false};
  ASSERT_OK(this->store().commit_round(JobId("j"), request, wall(3)));
  this->reopen();
  EXPECT_EQ(this->store().list_rounds(JobId("j"), {})->at(0).totals, totals);
}

TYPED_TEST(RoundStoreEdges, ACommitIntoAnUnknownRoundIsAConflict) {
  this->create();
  EXPECT_ERROR(this->commit({RoundId(77), Attempt(1)}, 1), ErrorCode::conflict, "");
  const RoundKey key = this->collecting();
  EXPECT_ERROR(this->commit({key.round, Attempt(2)}, 1), ErrorCode::conflict, "") << "another attempt";
  EXPECT_EQ(this->store().list_models(JobId("j"))->size(), 1u);
}

// ---- Who is counted

TYPED_TEST(RoundStoreEdges, AcceptsALargeBatchAsAWhole) {
  this->create();
  const RoundKey key = this->collecting();
  std::vector<AcceptRow> rows;
  for (uint32_t i = 0; i < 5'000; ++i) {
    DeviceId device;
    for (size_t byte = 0; byte < 4; ++byte)
      device.bytes[byte] = static_cast<uint8_t>((i * 2'654'435'761u) >> (8 * byte));
    rows.push_back({device});
  }
  EXPECT_EQ(this->accept("n/1", key, rows), "done");
  std::vector<AcceptRow> overlapping(rows.begin() + 4'999, rows.end());
  overlapping.push_back({numbered_device(1)});
  EXPECT_EQ(this->accept("n/2", key, overlapping), "conflict " + rows[4'999].device.hex());
  this->reopen();
  EXPECT_EQ(*this->store().count_accepted(key), 5'000u);
  const std::vector<DeviceId> listed = *this->store().list_accepted(key);
  EXPECT_TRUE(std::ranges::is_sorted(listed)) << "by unsigned bytes";
  EXPECT_EQ(listed.size(), 5'000u);
}

TYPED_TEST(RoundStoreEdges, TakesABatchOfNobody) {
  this->create();
  const RoundKey key = this->collecting();
  EXPECT_EQ(this->accept("n/1", key, {}), "done");
  EXPECT_EQ(*this->store().count_accepted(key), 0u);
  EXPECT_THAT(*this->store().list_partials(key), ElementsAre(partial_record("n/1", key, 0)));
}

TYPED_TEST(RoundStoreEdges, ABatchThatHasADeviceTwiceIsNotWritten) {
  this->create();
  const RoundKey key = this->collecting();
  EXPECT_EQ(this->accept("n/1", key, rows_of({1, 2, 1})), "conflict " + numbered_device(1).hex())
      << "its sum would have that device twice";
  EXPECT_EQ(*this->store().count_accepted(key), 0u);
  EXPECT_THAT(*this->store().list_partials(key), IsEmpty());
}

TYPED_TEST(RoundStoreEdges, AnIdThatIsKnownIsThatBatchWhateverComesWithIt) {
  this->create();
  const RoundKey key = this->collecting();
  ASSERT_EQ(this->accept("n/1", key, rows_of({1})), "done");
  EXPECT_EQ(this->accept("n/1", key, rows_of({2, 3})), "done");
  EXPECT_EQ(this->accept("n/1", {RoundId(99), Attempt(1)}, rows_of({4})), "done");
  EXPECT_EQ(*this->store().count_accepted(key), 1u);
  EXPECT_THAT(*this->store().list_partials(key), ElementsAre(partial_record("n/1", key, 1)));
}

TYPED_TEST(RoundStoreEdges, PartialsAreListedByTheirIds) {
  this->create();
  const RoundKey key = this->collecting();
  const std::string odd = std::string(kHostile) + "/1";
  uint64_t device = 0;
  for (const std::string& id : {std::string("n/2"), std::string("n/10"), std::string("N/3"), odd}) {
    ASSERT_EQ(this->accept(id, key, rows_of({++device})), "done");
  }
  this->reopen();
  const auto ids = [](const std::vector<PartialRecord>& partials) {
    std::vector<std::string> names;
    for (const PartialRecord& partial : partials) names.push_back(partial.id);
    return names;
  };
  EXPECT_THAT(ids(*this->store().list_partials(key)), ElementsAre("N/3", odd, "n/10", "n/2")) << "byte by byte";
  ASSERT_TRUE(this->move(key, RoundState::collecting, failed));
  EXPECT_THAT(ids(*this->store().list_finished_partials(3)), ElementsAre("N/3", odd, "n/10"));
  ASSERT_OK(this->store().forget_partials({odd, "n/10", "n/10", "N/3"}));
  EXPECT_THAT(ids(*this->store().list_finished_partials(10)), ElementsAre("n/2"));
}

TYPED_TEST(RoundStoreEdges, AnIdThatWasForgottenIsFreeAgain) {
  this->create();
  const RoundKey first = this->collecting();
  ASSERT_EQ(this->accept("n/1", first, rows_of({1})), "done");
  ASSERT_TRUE(this->move(first, RoundState::collecting, failed));
  ASSERT_OK(this->store().forget_partials({"n/1"}));
  const RoundKey second = this->collecting("j", 1, 2);
  EXPECT_EQ(this->accept("n/1", second, rows_of({1})), "done");
  EXPECT_EQ(*this->store().count_accepted(second), 1u);
}

TYPED_TEST(RoundStoreEdges, DevicesThatDifferInOneByteAreTwo) {
  this->create();
  const RoundKey key = this->collecting();
  DeviceId zero, last, first;
  last.bytes.back() = 1;
  first.bytes.front() = 255;
  EXPECT_EQ(this->accept("n/1", key, {{last}, {first}, {zero}}), "done");
  EXPECT_THAT(*this->store().list_accepted(key), ElementsAre(zero, last, first));
  first.bytes.front() = 254;
  EXPECT_FALSE(*this->store().is_accepted(key, first));
}

// ---- Models and releases

TYPED_TEST(RoundStoreEdges, ASecondJobsModelsAreItsOwn) {
  this->create("a");
  this->create("ab");
  const RoundKey key = this->collecting("a");
  ASSERT_TRUE(this->move(key, RoundState::collecting, frozen));
  ASSERT_OK(this->commit(key, 1, "a"));
  EXPECT_EQ(this->store().list_models(JobId("a"))->size(), 2u);
  EXPECT_EQ(this->store().list_models(JobId("ab"))->size(), 1u);
  EXPECT_ERROR(this->store().get_model(JobId("ab"), ModelVersion(1)), ErrorCode::not_found, "");
  EXPECT_ERROR(this->store().get_model(JobId("a"), ModelVersion(kLargest)), ErrorCode::not_found, "");
}

TYPED_TEST(RoundStoreEdges, AReleaseOutlivesItsJobsEnd) {
  this->create();
  ASSERT_OK(this->store().set_job_state(JobId("j"), JobState::cancelled, ""));
  ASSERT_OK(this->store().promote_model(JobId("j"), ModelVersion(0), wall(5)));
  this->reopen();
  EXPECT_EQ(*this->store().released_model(JobId("j")), (ModelRelease{1, ModelVersion(0), wall(5)}));
}

}  // namespace
}  // namespace coterie
