// The conformance suite of TrainingStore, on what a round is told of the one before it: the median of the examples that
// counted devices named.
#include <gtest/gtest.h>

#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

using namespace test;
using enum RoundState;

template <typename Backend>
class ExamplesMedian : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  TrainingStore& store() { return backend_.store(); }

  void create(double share, SecurityLevel level = SecurityLevel::none) {
    JobRecord job = job_record("j");
    job.spec.horizontal().privacy = {.level = level};
    job.spec.horizontal().update.weight_max = 100;
    job.spec.horizontal().update.weight_share_max = share;
    ASSERT_OK(store().create_job(job, model_record("j", 0)));
  }
  Result<RoundRecord> open(uint64_t number, uint32_t attempt = 1) {
    return store().open_round(JobId("j"), {number, std::nullopt, Attempt(attempt), model_record("j", number - 1)},
                              wall(1));
  }
  // Devices that trained on so many examples each, in a batch each.
  void count(const RoundKey& key, const std::vector<uint64_t>& examples) {
    ASSERT_TRUE(*store().move_round({key, selecting, collecting, "", 0}, wall(2)));
    for (size_t i = 0; i < examples.size(); ++i) {
      const std::string id = "n/" + std::to_string(key.round.value()) + "/" + std::to_string(key.attempt.value()) +
                             "/" + std::to_string(i);
      AcceptRow row = rows_of({i})[0];
      row.examples = examples[i];
      ASSERT_EQ(text(store().accept_batch(partial_record(id, key, 1), {row})), "done");
    }
    ASSERT_TRUE(*store().move_round({key, collecting, frozen, "", 0}, wall(2)));
  }
  std::optional<RoundRecord> commit(const RoundKey& key, uint64_t number, uint64_t updates, bool opens_next) {
    const CommitRound request{{key, model_record("j", number), {updates, 1, 1, 0, 0, 0}}, number, opens_next, false};
    const auto progress = store().commit_round(JobId("j"), request, wall(3));
    EXPECT_OK(progress);
    return progress ? progress->latest : std::nullopt;
  }
  Backend backend_;
};
using Backends = testing::Types<SqliteBackend, PostgresBackend, MemoryBackend>;
TYPED_TEST_SUITE(ExamplesMedian, Backends, BackendNames);

TYPED_TEST(ExamplesMedian, IsOfTheRoundBeforeAndTheSameInEachAttempt) {
  this->create(0.1);
  const auto first = this->open(1);
  ASSERT_OK(first);
  EXPECT_EQ(first->examples_median, 0u) << "nothing is known";
  this->count(first->key, {7, UINT32_MAX, 3, 5});
  const auto second = this->commit(first->key, 1, 4, true);
  ASSERT_TRUE(second.has_value());
  ASSERT_EQ(second->number, 2u);
  EXPECT_EQ(second->examples_median, 5u) << "the lower of 5 and 7, whatever one device claims";
  this->count(second->key, {1, 1, 1});
  ASSERT_TRUE(*this->store().move_round({second->key, frozen, failed, "", 0}, wall(3)));
  this->backend_.reopen();
  const auto again = this->open(2, 2);
  ASSERT_OK(again);
  EXPECT_EQ(again->examples_median, 5u) << "an attempt that failed counts nobody";
  EXPECT_EQ(this->store().load_progress(JobId("j"))->latest->examples_median, 5u);
}

TYPED_TEST(ExamplesMedian, IsNotLookedForWhereNoShareIsCapped) {
  this->create(1);
  const auto first = this->open(1);
  ASSERT_OK(first);
  this->count(first->key, {7});
  EXPECT_EQ(this->commit(first->key, 1, 1, true)->examples_median, 0u);
}

TYPED_TEST(ExamplesMedian, IsNotLookedForWhereTheServerSeesSumsAlone) {
  this->create(0.1, SecurityLevel::active);
  const auto first = this->open(1);
  ASSERT_OK(first);
  this->count(first->key, {7});
  EXPECT_EQ(this->commit(first->key, 1, 1, true)->examples_median, 0u);
}

}  // namespace
}  // namespace coterie
