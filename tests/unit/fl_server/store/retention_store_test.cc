// The conformance suite of RetentionStore, beside the TrainingStore that it is.
#include "fl_server/store/retention_store.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

using namespace test;
using enum RoundState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr uint64_t kAll = 1'000;

template <typename Backend>
class RetentionStoreConformance : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_AVAILABLE(Backend);
    JobRecord job = job_record("j");
    job.spec.horizontal().rounds.count = 100;
    ASSERT_OK(store().create_job(job, model_record("j", 0)));
  }
  auto& store() { return backend_.store(); }

  RoundKey open(uint64_t number, uint32_t attempt = 1) {
    const auto round = store().open_round(
        JobId("j"), {number, std::nullopt, Attempt(attempt), model_record("j", number - 1)}, wall(100));
    EXPECT_OK(round);
    return round->key;
  }
  void move(const RoundKey& key, RoundState from, RoundState to) {
    EXPECT_TRUE(*store().move_round({key, from, to, "", 3}, wall(200)));
  }
  // With two devices; it ends at `end`.
  RoundKey play(uint64_t number, WallTime end) {
    const RoundKey key = open(number);
    move(key, selecting, collecting);
    EXPECT_EQ(accept(key, {1, 2}), "done");
    move(key, collecting, frozen);
    move(key, frozen, finalizing);
    const FinalizedRound done{key, model_record("j", number), {2, 2, 20, 1, 2, 9}};
    EXPECT_OK(store().commit_round(JobId("j"), {done, number, false, false}, end));
    return key;
  }
  std::string accept(const RoundKey& key, const std::vector<uint64_t>& devices) {
    const std::string id = "p" + std::to_string(key.round.value()) + "-" + std::to_string(++batches_);
    return text(store().accept_batch(partial_record(id, key, devices.size()), rows_of(devices)));
  }
  void forget_partials() {
    std::vector<std::string> ids;
    const auto partials = store().list_finished_partials(kAll);
    for (const PartialRecord& partial : *partials) ids.push_back(partial.id);
    ASSERT_OK(store().forget_partials(ids));
  }
  std::vector<uint64_t> forget(const std::vector<uint64_t>& numbers) {
    std::vector<ModelVersion> versions;
    for (const uint64_t number : numbers) versions.emplace_back(number);
    std::vector<uint64_t> gone;
    const auto models = store().forget_models(JobId("j"), versions);
    for (const ModelRecord& model : *models) gone.push_back(model.version.value());
    return gone;
  }
  std::vector<uint64_t> versions() {
    std::vector<uint64_t> list;
    const auto models = store().list_models(JobId("j"));
    for (const ModelRecord& model : *models) list.push_back(model.version.value());
    return list;
  }

  Backend backend_;
  int batches_ = 0;
};
using Backends = testing::Types<SqliteBackend, PostgresBackend, MemoryBackend>;
TYPED_TEST_SUITE(RetentionStoreConformance, Backends, BackendNames);

// ---- Versions of models

TYPED_TEST(RetentionStoreConformance, ForgetsVersionsThatNothingNames) {
  for (uint64_t number = 1; number <= 4; ++number) this->play(number, wall(300));
  EXPECT_THAT(this->forget({1, 3, 77}), ElementsAre(1, 3));
  this->backend_.reopen();
  EXPECT_THAT(this->versions(), ElementsAre(0, 2, 4));
  EXPECT_ERROR(this->store().get_model(JobId("j"), ModelVersion(3)), ErrorCode::not_found, "");
  EXPECT_OK(this->store().get_model(JobId("j"), ModelVersion(2)));
  EXPECT_THAT(this->forget({1, 3}), IsEmpty()) << "again is fine";
  EXPECT_THAT(*this->store().forget_models(JobId("other"), {ModelVersion(1)}), IsEmpty());
}

TYPED_TEST(RetentionStoreConformance, KeepsTheFirstTheNewestAndWhatIsReleasedWhateverIsAsked) {
  for (uint64_t number = 1; number <= 5; ++number) this->play(number, wall(300));
  for (const uint64_t version : {1u, 3u}) {
    ASSERT_OK(this->store().promote_model(JobId("j"), ModelVersion(version), wall(400)));
  }
  EXPECT_THAT(*this->store().list_releases(JobId("j")), ElementsAre(ModelVersion(1), ModelVersion(3)));
  EXPECT_THAT(this->forget({0, 1, 2, 3, 4, 5}), ElementsAre(2, 4));
  ASSERT_OK(this->store().roll_back_model(JobId("j"))) << "the version before is still there";
  EXPECT_THAT(this->forget({0, 1, 3, 5}), ElementsAre(3)) << "rolled back: no longer released";
}

TYPED_TEST(RetentionStoreConformance, ARoundGoesOnFromTheNewestVersionWhenOthersAreGone) {
  for (uint64_t number = 1; number <= 3; ++number) this->play(number, wall(300));
  const RoundKey key = this->open(4);
  EXPECT_THAT(this->forget({0, 1, 2, 3}), ElementsAre(1, 2));
  this->move(key, selecting, collecting);
  EXPECT_EQ(this->accept(key, {5}), "done");
  this->backend_.reopen();
  const Result<JobProgress> progress = this->store().load_progress(JobId("j"));
  EXPECT_EQ(progress->head.version, ModelVersion(3));
  EXPECT_EQ(progress->latest->base, ModelVersion(3));
}

TYPED_TEST(RetentionStoreConformance, ListsTheBlobsOfAllVersionsOnce) {
  JobRecord job = job_record("k");
  ModelRecord model = model_record("k", 0);
  model.optimizer_state = filled_digest(0x99);
  model.exact = filled_digest(0x98);
  model.deltas = {{filled_digest(0x90), filled_digest(0x96), 1}, {filled_digest(0x91), filled_digest(0x97), 2}};
  ASSERT_OK(this->store().create_job(job, model));
  model.job = JobId("l");  // its deltas are the other's, too
  job.id = JobId("l");
  ASSERT_OK(this->store().create_job(job, model));
  this->play(1, wall(300));
  for (const size_t limit : {1u, 2u, 4u, 100u}) {
    std::set<Digest> blobs;
    std::vector<ModelBlobs::Place> places;
    std::optional<ModelBlobs::Place> seen;
    do {
      const Result<ModelBlobs> page = this->store().list_model_blobs(seen, limit);
      ASSERT_OK(page);
      blobs.insert(page->blobs.begin(), page->blobs.end());
      if (page->last) places.push_back(*page->last);
      seen = page->last;
    } while (seen);
    EXPECT_THAT(blobs, UnorderedElementsAre(filled_digest(0x40), filled_digest(0x41), filled_digest(0x96),
                                            filled_digest(0x97), filled_digest(0x98), filled_digest(0x99)));
    EXPECT_EQ(places.size(), 4u / limit) << "pages that others may follow";
    EXPECT_TRUE(std::ranges::is_sorted(places));
  }
}

TYPED_TEST(RetentionStoreConformance, ListsVersionsAPageAtATimeFromEitherEnd) {
  for (uint64_t number = 1; number <= 5; ++number) this->play(number, wall(300));
  const auto versions = [&](const ModelQuery& query) {
    std::vector<uint64_t> numbers;
    const Result<std::vector<ModelRecord>> models = this->store().list_models(JobId("j"), query);
    for (const ModelRecord& model : *models) numbers.push_back(model.version.value());
    return numbers;
  };
  EXPECT_THAT(versions({}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(versions({.limit = 2}), ElementsAre(0, 1));
  EXPECT_THAT(versions({.after = ModelVersion(0), .limit = 2}), ElementsAre(1, 2));
  EXPECT_THAT(versions({.after = ModelVersion(4), .limit = 2}), ElementsAre(5));
  EXPECT_THAT(versions({.limit = 2, .newest_first = true}), ElementsAre(5, 4));
  EXPECT_THAT(versions({.after = ModelVersion(5)}), IsEmpty());
}

// Rounds of a job with deltas go on from the newest alone.
TYPED_TEST(RetentionStoreConformance, ForgetsComputedModelsThatNoRoundGoesOnFrom) {
  const auto version_with_exact = [](uint64_t version) {
    ModelRecord model = model_record("j", version);
    model.exact = filled_digest(static_cast<uint8_t>(0xa0 + version));
    return model;
  };
  const auto play = [&](uint64_t number) {
    const RoundKey key = this->open(number);
    this->move(key, selecting, collecting);
    EXPECT_EQ(this->accept(key, {1, 2}), "done");
    this->move(key, collecting, frozen);
    this->move(key, frozen, finalizing);
    EXPECT_OK(this->store().commit_round(
        JobId("j"), {{key, version_with_exact(number), {2, 2, 20, 1, 2, 9}}, number, false, false}, wall(300)));
  };
  for (uint64_t number = 1; number <= 3; ++number) play(number);
  const auto forget = [&] {
    std::vector<Digest> gone;
    const auto blobs = this->store().forget_exact_models(JobId("j"));
    EXPECT_OK(blobs);
    for (const UnnamedBlob& blob : *blobs) {
      EXPECT_TRUE(blob.made.has_value());
      gone.push_back(blob.digest);
    }
    return gone;
  };
  EXPECT_THAT(forget(), UnorderedElementsAre(filled_digest(0xa1), filled_digest(0xa2)));
  EXPECT_THAT(forget(), IsEmpty()) << "again is fine";
  this->backend_.reopen();
  EXPECT_EQ(this->store().get_model(JobId("j"), ModelVersion(2))->exact, std::nullopt);
  EXPECT_EQ(this->store().get_model(JobId("j"), ModelVersion(3))->exact, filled_digest(0xa3));
  this->open(4);
  EXPECT_THAT(forget(), IsEmpty()) << "a round trains from it";
  EXPECT_THAT(*this->store().forget_exact_models(JobId("other")), IsEmpty());
}

TYPED_TEST(RetentionStoreConformance, KnowsTheOldestAttemptUnderWay) {
  EXPECT_EQ(*this->store().oldest_under_way(collecting), std::nullopt);
  const RoundKey key = this->open(1);
  EXPECT_EQ(*this->store().oldest_under_way(collecting), std::nullopt) << "it puts nothing while it selects";
  this->move(key, selecting, collecting);
  EXPECT_EQ(*this->store().oldest_under_way(collecting), wall(100));
  EXPECT_EQ(*this->store().oldest_under_way(frozen), std::nullopt);
  this->move(key, collecting, failed);
  EXPECT_EQ(*this->store().oldest_under_way(collecting), std::nullopt);
}

// ---- Who was counted

TYPED_TEST(RetentionStoreConformance, ForgetsWhoWasCountedInAttemptsThatEndedLongAgo) {
  const RoundKey old = this->play(1, wall(1'000)), young = this->play(2, wall(5'000));
  const RoundKey live = this->open(3);
  this->move(live, selecting, collecting);
  this->accept(live, {1});
  EXPECT_EQ(this->store().forget_accepted(wall(1'000), kAll)->rows, 0u);
  EXPECT_EQ(this->store().forget_accepted(wall(1'001), kAll)->rows, 2u);
  this->backend_.reopen();
  EXPECT_EQ(*this->store().count_accepted(old), 0u);
  EXPECT_EQ(*this->store().count_accepted(young), 2u);
  EXPECT_EQ(this->store().forget_accepted(wall(1'000'000), kAll)->rows, 2u);
  EXPECT_EQ(*this->store().count_accepted(live), 1u) << "whatever the time, an attempt that has not ended keeps them";
}

// A device that comes back with an update after that is told neither that it is counted nor that it is not.
TYPED_TEST(RetentionStoreConformance, NobodyKnowsWhoWasCountedInAnAttemptThatIsForgotten) {
  const RoundKey done = this->play(1, wall(1'000));
  const UpdateFate forgotten{.is_over = true, .is_forgotten = true};
  EXPECT_EQ(*this->store().look_up(done, numbered_device(7)), (UpdateFate{.is_over = true})) << "all rows are there";
  ASSERT_EQ(this->store().forget_accepted(wall(1'001), 1)->rows, 1u);
  EXPECT_EQ(*this->store().look_up(done, numbered_device(1)), forgotten) << "its row was the first that went";
  EXPECT_EQ(*this->store().look_up(done, numbered_device(2)), (UpdateFate{.is_accepted = true, .is_over = true}));
  ASSERT_EQ(this->store().forget_accepted(wall(1'001), 1)->rows, 1u);
  EXPECT_EQ(*this->store().look_up(done, numbered_device(2)), forgotten);
}

// Exactly-once does not rest on the rows of attempts that have ended: their state takes no update.
TYPED_TEST(RetentionStoreConformance, ADeviceWhoseRowIsGoneIsNotCountedAgain) {
  const RoundKey done = this->play(1, wall(1'000));
  const RoundKey given_up = this->open(2);
  this->move(given_up, selecting, collecting);
  ASSERT_EQ(this->accept(given_up, {1}), "done");
  this->move(given_up, collecting, failed);
  ASSERT_EQ(this->store().forget_accepted(wall(1'000'000), kAll)->rows, 3u);
  for (const RoundKey& key : {done, given_up}) {
    EXPECT_FALSE(*this->store().is_accepted(key, numbered_device(1)));
    EXPECT_EQ(this->accept(key, {1}), "closed");
    EXPECT_EQ(this->accept(key, {9}), "closed");
    EXPECT_EQ(*this->store().count_accepted(key), 0u);
  }
  this->forget_partials();
  ASSERT_EQ(*this->store().forget_rounds(JobId("j"), 2, wall(1'000'000), kAll), 1u);
  EXPECT_EQ(this->accept(done, {1}), "closed") << "nor when the round's own row is gone";
}

TYPED_TEST(RetentionStoreConformance, RemovesNoMoreRowsAtATimeThanItIsAsked) {
  const RoundKey first = this->play(1, wall(1'000)), second = this->play(2, wall(1'000));
  EXPECT_EQ(this->store().forget_accepted(wall(5'000), 3)->rows, 3u);
  EXPECT_EQ(*this->store().count_accepted(first) + *this->store().count_accepted(second), 1u);
  EXPECT_EQ(this->store().forget_accepted(wall(5'000), 3)->rows, 1u);
  EXPECT_EQ(this->store().forget_accepted(wall(5'000), 3)->rows, 0u);
}

// ---- Rounds

TYPED_TEST(RetentionStoreConformance, ForgetsRoundsThatHaveNothingLeft) {
  for (uint64_t number = 1; number <= 4; ++number) this->play(number, wall(1'000 * number));
  EXPECT_EQ(*this->store().forget_rounds(JobId("j"), 4, wall(9'000), kAll), 0u) << "they have accept rows";
  ASSERT_OK(this->store().forget_accepted(wall(9'000), kAll));
  EXPECT_EQ(*this->store().forget_rounds(JobId("j"), 4, wall(9'000), kAll), 0u) << "they have partial sums";
  this->forget_partials();
  EXPECT_EQ(*this->store().forget_rounds(JobId("j"), 4, wall(3'000), 1), 1u);
  EXPECT_EQ(*this->store().forget_rounds(JobId("j"), 4, wall(3'000), kAll), 1u) << "3 ended at 3000";
  this->backend_.reopen();
  const auto rounds = this->store().list_rounds(JobId("j"), {});
  ASSERT_EQ(rounds->size(), 2u);
  EXPECT_EQ(rounds->back().number, 3u);
}

TYPED_TEST(RetentionStoreConformance, KeepsTheNewestRoundAndNeverGivesANumberTwice) {
  std::set<uint64_t> ids;
  for (uint64_t number = 1; number <= 3; ++number) ids.insert(this->play(number, wall(1'000)).round.value());
  ASSERT_OK(this->store().forget_accepted(wall(9'000), kAll));
  this->forget_partials();
  EXPECT_EQ(*this->store().forget_rounds(JobId("j"), kAll, wall(9'000), kAll), 2u);
  ASSERT_EQ(this->store().list_rounds(JobId("j"), {})->size(), 1u);
  this->backend_.reopen();
  EXPECT_FALSE(ids.contains(this->open(4).round.value()));
  EXPECT_ERROR(this->store().open_round(JobId("j"), {1, std::nullopt, Attempt(1), model_record("j", 0)}, wall(1)),
               ErrorCode::conflict, "");
}

// ---- Jobs

TYPED_TEST(RetentionStoreConformance, ForgetsAJobThatHasEndedWithAllThatWasItsOwn) {
  JobRecord other = job_record("k");
  ASSERT_OK(this->store().create_job(other, model_record("k", 0)));
  const RoundKey done = this->play(1, wall(300));
  ASSERT_OK(this->store().promote_model(JobId("j"), ModelVersion(1), wall(400)));
  const RoundKey live = this->open(2);
  this->move(live, selecting, collecting);
  this->accept(live, {1, 2, 3});
  EXPECT_ERROR(this->store().delete_job(JobId("j"), {}), ErrorCode::conflict, "");
  EXPECT_ERROR(this->store().forget_job(JobId("j"), 2), ErrorCode::not_found, "") << "nobody has deleted it";
  const uint64_t revision = this->store().set_job_state(JobId("j"), JobState::cancelled, "")->revision;
  EXPECT_ERROR(this->store().delete_job(JobId("j"), revision - 1), ErrorCode::conflict, "");
  EXPECT_THAT(*this->store().list_deleted_jobs(), IsEmpty());
  ASSERT_OK(this->store().delete_job(JobId("j"), revision));
  this->backend_.reopen();
  const auto expect_gone = [&] {  // whatever rows there still are
    EXPECT_ERROR(this->store().get_job(JobId("j")), ErrorCode::not_found, "");
    EXPECT_ERROR(this->store().delete_job(JobId("j"), {}), ErrorCode::not_found, "");
    EXPECT_ERROR(this->store().set_job_state(JobId("j"), JobState::cancelled, ""), ErrorCode::not_found, "");
    EXPECT_ERROR(this->store().get_model(JobId("j"), ModelVersion(1)), ErrorCode::not_found, "");
    EXPECT_ERROR(this->store().load_progress(JobId("j")), ErrorCode::not_found, "");
    EXPECT_EQ(this->store().list_jobs()->size(), 1u);
    EXPECT_THAT(*this->store().list_models(JobId("j")), IsEmpty());
    EXPECT_THAT(*this->store().list_rounds(JobId("j"), {}), IsEmpty());
    EXPECT_FALSE(*this->store().released_model(JobId("j")));
    EXPECT_FALSE(this->store().released_models()->contains(JobId("j")));
    EXPECT_ERROR(this->store().create_job(job_record("j"), model_record("j", 0)), ErrorCode::conflict, "");
  };
  expect_gone();
  EXPECT_THAT(*this->store().list_deleted_jobs(), ElementsAre(JobId("j")));
  const Result<ModelBlobs> named = this->store().list_model_blobs({}, 10);
  ASSERT_OK(named);
  EXPECT_EQ(std::set<Digest>(named->blobs.begin(), named->blobs.end()).size(), 2u)
      << "no blob is without its name before its row is gone";
  std::set<uint64_t> models;
  Result<ForgottenJob> step = this->store().forget_job(JobId("j"), 1);
  while (step && !step->is_gone) {
    EXPECT_LE(step->models.size(), 1u);
    for (const ModelRecord& model : step->models) models.insert(model.version.value());
    this->backend_.reopen();
    expect_gone();
    step = this->store().forget_job(JobId("j"), 1);
  }
  ASSERT_OK(step);
  EXPECT_EQ(models, (std::set<uint64_t>{0, 1}));
  EXPECT_EQ(step->plan.digest, job_record("j").plan);
  EXPECT_ERROR(this->store().forget_job(JobId("j"), 2), ErrorCode::not_found, "");
  EXPECT_THAT(*this->store().list_deleted_jobs(), IsEmpty());
  expect_gone();
  EXPECT_THAT(*this->store().list_models(JobId("j")), IsEmpty());
  EXPECT_THAT(*this->store().list_releases(JobId("j")), IsEmpty());
  EXPECT_THAT(*this->store().list_rounds(JobId("j"), {}), IsEmpty());
  EXPECT_THAT(*this->store().list_partials(done), IsEmpty());
  EXPECT_EQ(*this->store().count_accepted(live), 0u);
  EXPECT_OK(this->store().load_progress(JobId("k"))) << "the other one is as it was";
  EXPECT_ERROR(this->store().create_job(job_record("j"), model_record("j", 0)), ErrorCode::conflict, "")
      << "its records in the ledger would be another job's";
}

// ---- Who may

template <typename OnDatabase>
class RetentionFence : public testing::Test {};
using Databases = testing::Types<SqliteDatabase, PostgresDatabase>;
TYPED_TEST_SUITE(RetentionFence, Databases, BackendNames);

TYPED_TEST(RetentionFence, WhoeverDoesNotLeadForgetsNothing) {
  SKIP_UNLESS_AVAILABLE(TypeParam);
  SqlBackend<SqlTrainingStore, TypeParam> backend;
  ASSERT_OK(backend.store().create_job(job_record("j"), model_record("j", 0)));
  backend.store().set_fence("scheduler", LeaseEpoch(3));
  EXPECT_ERROR(backend.store().forget_models(JobId("j"), {ModelVersion(1)}), ErrorCode::conflict, "does not lead");
  EXPECT_ERROR(backend.store().forget_accepted(wall(1), 10), ErrorCode::conflict, "does not lead");
  EXPECT_ERROR(backend.store().forget_rounds(JobId("j"), 1, wall(1), 10), ErrorCode::conflict, "does not lead");
  ASSERT_OK(backend.store().set_job_state(JobId("j"), JobState::cancelled, ""));
  ASSERT_OK(backend.store().delete_job(JobId("j"), {})) << "a server that people talk to need not lead";
  EXPECT_ERROR(backend.store().forget_job(JobId("j"), 10), ErrorCode::conflict, "does not lead");
}

}  // namespace
}  // namespace coterie
