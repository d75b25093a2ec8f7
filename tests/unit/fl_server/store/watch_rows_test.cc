// The conformance suite of TrainingStore, on what devices of a round found, how long their updates were, how they lay
// to its step, and what each head came to: all of it is in the row of the version that the round made, once, and after
// a restart.
#include <gtest/gtest.h>

#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

using namespace test;
using enum RoundState;

template <typename Backend>
class WatchRows : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  TrainingStore& store() { return backend_.store(); }
  Backend backend_;
};
using Backends = testing::Types<SqliteBackend, PostgresBackend, MemoryBackend>;
TYPED_TEST_SUITE(WatchRows, Backends, BackendNames);

TYPED_TEST(WatchRows, AreCommittedWithTheModel) {
  ASSERT_OK(this->store().create_job(job_record("j"), model_record("j", 0)));
  const auto first = this->store().open_round(JobId("j"), {1, std::nullopt, Attempt(1), model_record("j", 0)}, wall(1));
  ASSERT_OK(first);
  ASSERT_TRUE(*this->store().move_round({first->key, selecting, collecting, "", 0}, wall(2)));
  ASSERT_EQ(text(this->store().accept_batch(partial_record("n/1", first->key, 1), {rows_of({1})[0]})), "done");
  ASSERT_TRUE(*this->store().move_round({first->key, collecting, frozen, "", 0}, wall(2)));
  ModelRecord model = model_record("j", 1);
  model.watch =
      WatchOutcome{.looked = 0.30000000000000004, .hits = {{"dead_relu", "conv1", 1}, {"label_drift", "", 0.1}}};
  NormHistogram& norms = model.update_norms.emplace();
  norms.counts[30] = 7;
  norms.counts[40] = 1;
  CosineHistogram& cosines = model.update_cosines.emplace();
  cosines.counts[0] = 1;
  cosines.counts[39] = 6;
  cosines.undirected = 1;
  model.evaluation_heads = {{.output = "class", .loss = 0.1, .accuracy = 0.9}, {.output = "age", .loss = 2, .mae = 3}};
  const CommitRound request{{first->key, model, {1, 1, 1, 0, 0, 0}}, 1, true, false};
  ASSERT_OK(this->store().commit_round(JobId("j"), request, wall(3)));
  CommitRound other = request;
  other.round.model.watch.reset();
  other.round.model.update_norms.reset();
  other.round.model.update_cosines.reset();
  other.round.model.evaluation_heads.clear();
  ASSERT_OK(this->store().commit_round(JobId("j"), other, wall(4))) << "once more: the first one stands";
  this->backend_.reopen();
  const Result<ModelRecord> read = this->store().get_model(JobId("j"), ModelVersion(1));
  ASSERT_OK(read);
  EXPECT_EQ(read->watch, model.watch);
  EXPECT_EQ(read->update_norms, model.update_norms);
  EXPECT_EQ(read->update_cosines, model.update_cosines);
  EXPECT_EQ(read->evaluation_heads, model.evaluation_heads);
  const Result<ModelRecord> initial = this->store().get_model(JobId("j"), ModelVersion(0));
  EXPECT_FALSE(initial->watch || initial->update_norms || initial->update_cosines) << "no round has made it";
  EXPECT_TRUE(initial->evaluation_heads.empty());
}

}  // namespace
}  // namespace coterie
