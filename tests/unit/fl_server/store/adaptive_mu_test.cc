// The conformance suite of TrainingStore, on FedProx's adaptive mu: a round has the mu that its base version's row
// names, in each of its attempts and after a restart; a version has its count of falls.
#include <gtest/gtest.h>

#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

using namespace test;
using enum RoundState;

template <typename Backend>
class AdaptiveMuRows : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  TrainingStore& store() { return backend_.store(); }
  Backend backend_;
};
using Backends = testing::Types<SqliteBackend, PostgresBackend, MemoryBackend>;
TYPED_TEST_SUITE(AdaptiveMuRows, Backends, BackendNames);

TYPED_TEST(AdaptiveMuRows, AreCommittedWithTheModelAndTheSameInEachAttempt) {
  ASSERT_OK(this->store().create_job(job_record("j"), model_record("j", 0)));
  const auto first = this->store().open_round(JobId("j"), {1, std::nullopt, Attempt(1), model_record("j", 0)}, wall(1));
  ASSERT_OK(first);
  EXPECT_FALSE(first->proximal_mu) << "the job's";
  ASSERT_TRUE(*this->store().move_round({first->key, selecting, collecting, "", 0}, wall(2)));
  ASSERT_EQ(text(this->store().accept_batch(partial_record("n/1", first->key, 1), {rows_of({1})[0]})), "done");
  ASSERT_TRUE(*this->store().move_round({first->key, collecting, frozen, "", 0}, wall(2)));

  ModelRecord model = model_record("j", 1);
  model.adaptive_mu = {.mu = 0.30000000000000004, .falls = 4};
  const CommitRound request{{first->key, model, {1, 1, 1, 0, 0, 0}}, 1, true, false};
  ASSERT_OK(this->store().commit_round(JobId("j"), request, wall(3)));
  // Once more, by a node that had not heard the answer, and found something else: the first one stands.
  CommitRound other = request;
  other.round.model.adaptive_mu = AdaptiveMu{.mu = 9};
  ASSERT_OK(this->store().commit_round(JobId("j"), other, wall(4)));
  this->backend_.reopen();
  const auto progress = this->store().load_progress(JobId("j"));
  ASSERT_OK(progress);
  EXPECT_EQ(progress->head.adaptive_mu, model.adaptive_mu);
  ASSERT_TRUE(progress->latest.has_value());
  EXPECT_EQ(progress->latest->proximal_mu, model.adaptive_mu->mu);
  ASSERT_TRUE(*this->store().move_round({progress->latest->key, selecting, failed, "", 0}, wall(5)));
  const auto retried = this->store().open_round(JobId("j"), {2, std::nullopt, Attempt(2), progress->head}, wall(6));
  ASSERT_OK(retried);
  EXPECT_EQ(retried->proximal_mu, model.adaptive_mu->mu);
}

}  // namespace
}  // namespace coterie
