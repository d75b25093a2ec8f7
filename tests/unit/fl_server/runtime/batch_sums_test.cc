// From updates to a partial sum and its rows, over real threads: when each happens the ingest machine says, and here a
// test does.
#include "fl_server/runtime/batch_sums.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <limits>
#include <mutex>

#include "aggregation/accumulate/cohort_sums.h"
#include "proto/codec/codec.h"
#include "proto/messages/norm_buckets.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/memory_training_store.h"

namespace coterie {
namespace {

const BatchId kBatch(1), kNextBatch(2);
constexpr uint64_t kValues = 3;

DeviceId device(uint8_t index) {
  DeviceId id;
  id.bytes[0] = index;
  return id;
}

class BatchSumsTest : public testing::Test {
 protected:
  void SetUp() override {
    JobRecord job;
    job.id = JobId("j");
    ModelRecord base;
    base.job = job.id;
    ASSERT_OK(store_.create_job(job, base));
    notice_.key = store_.open_round(job.id, {1, std::nullopt, Attempt(1), base}, WallTime()).value().key;
    ASSERT_TRUE(
        store_.move_round({notice_.key, RoundState::selecting, RoundState::collecting, "", 1}, WallTime()).value());
    notice_.job = job.id;
    notice_.plan = plan_of(HorizontalSettings(), job.id, kValues);
    loops_.start(2, {}, {});
    at_core([this] { sums_.take_up(notice_, {.session = {}, .lane_count = kValues}); });
  }
  void TearDown() override { loops_.stop(); }

  // On the core, done when this returns.
  void at_core(const std::function<void()>& work) {
    std::promise<void> done;
    loops_.core.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  template <typename Event>
  Event next() {
    std::unique_lock lock(mutex_);
    told_.wait(lock, [this] { return !events_.empty(); });
    const IngestEvent event = std::move(events_.front());
    events_.pop_front();
    EXPECT_TRUE(std::holds_alternative<Event>(event)) << "event " << event.index();
    return std::get<Event>(event);
  }

  Status add(BatchId batch, uint8_t who, UploadBody body) {
    at_core([&] { sums_.add({UploadId(who), batch}, {notice_.key, device(who), std::move(body)}); });
    return next<UpdateAdded>().added;
  }
  Status add(BatchId batch, uint8_t who, std::vector<float> values) {
    UploadBody body;
    body.decoded = std::move(values);
    body.values = body.decoded;
    body.weight = 1;
    return add(batch, who, std::move(body));
  }
  Status add_masked(BatchId batch, uint8_t who, uint8_t session, const std::vector<uint64_t>& lanes) {
    UploadBody body;
    body.masked.emplace().session.bytes.fill(session);
    body.lanes = std::span(lanes);
    return add(batch, who, std::move(body));
  }
  Status spill(BatchId batch, uint32_t updates) {
    at_core([&] { sums_.spill({batch, notice_.key, {.updates = updates, .weight = updates}}); });
    EXPECT_EQ(next<BufferReleased>().batch, batch);
    return next<BatchSpilled>().durable;
  }
  BatchOutcome commit(BatchId batch, std::vector<AcceptRow> rows) {
    at_core([&] { sums_.commit({batch, notice_.key, {}, std::move(rows)}); });
    return next<BatchAnswered>().outcome;
  }
  void drop(BatchId batch) {
    at_core([&] { sums_.drop(batch); });
    std::promise<void> stored;
    loops_.store.post([&] { stored.set_value(); });  // behind what the drop may have asked of it
    stored.get_future().wait();
  }
  // The lanes of the blob.
  std::vector<uint64_t> lanes_of(const Digest& blob, size_t count = kValues) {
    const Bytes& bytes = partials_.bytes_of(blob);
    std::vector<uint64_t> lanes(count);
    std::memcpy(lanes.data(), bytes.data() + bytes.size() - count * sizeof(uint64_t), count * sizeof(uint64_t));
    return lanes;
  }
  std::optional<NormHistogram> norms_of(const Digest& blob) {
    const auto partial = decode_partial_sum(partials_.bytes_of(blob));
    EXPECT_OK(partial);
    return partial ? partial->header.norms : std::nullopt;
  }
  uint64_t blobs() { return partials_.list(Millis(0)).value().size(); }

  MemoryTrainingStore store_;
  test::MemoryBlobStore partials_;
  Metrics metrics_{"test"};
  RoundNotice notice_;
  std::mutex mutex_;
  std::condition_variable told_;
  std::deque<IngestEvent> events_;
  WorkLoops loops_;
  BatchSums sums_{"node/life", {store_, partials_, metrics_, loops_}, [this](const IngestEvent& event) {
                    const std::lock_guard lock(mutex_);
                    events_.push_back(event);
                    told_.notify_one();
                  }};
};

TEST_F(BatchSumsTest, UpdatesBecomeAPartialSumWithTheirRows) {
  ASSERT_OK(add(kBatch, 1, {1, 0, 0}));
  ASSERT_OK(add(kBatch, 2, {1, 2, 0}));
  ASSERT_OK(spill(kBatch, 2));
  EXPECT_TRUE(std::holds_alternative<BatchDone>(commit(kBatch, {{device(1)}, {device(2)}})));
  const auto partials = store_.list_partials(notice_.key).value();
  ASSERT_EQ(partials.size(), 1u);
  EXPECT_EQ(partials[0].id, "node/life/1");
  EXPECT_EQ(partials[0].totals.updates, 2u);
  const std::vector<uint64_t> lanes = lanes_of(partials[0].blob);
  EXPECT_GT(lanes[0], 0u);
  EXPECT_EQ(lanes[0], lanes[1]) << "1 + 1 and 0 + 2";
  EXPECT_EQ(lanes[2], 0u);
  EXPECT_EQ(store_.count_accepted(notice_.key).value(), 2u);
}

TEST_F(BatchSumsTest, TheNextBatchBeginsWithAnEmptySum) {
  ASSERT_OK(add(kBatch, 1, {1, 0, 0}));
  ASSERT_OK(spill(kBatch, 1));
  ASSERT_OK(add(kNextBatch, 2, {0, 0, 1}));
  ASSERT_OK(spill(kNextBatch, 1));
  commit(kNextBatch, {{device(2)}});
  EXPECT_THAT(lanes_of(store_.list_partials(notice_.key).value()[0].blob), testing::ElementsAre(0, 0, testing::Gt(0u)));
}

TEST_F(BatchSumsTest, OfARoundThatComparesCohortsHaveTheSumOfEach) {
  notice_.keeps_updates = true;
  notice_.plan.privacy.level = SecurityLevel::masked;
  at_core([this] { sums_.take_up(notice_, {.session = {}, .lane_count = kValues}); });
  ASSERT_OK(add_masked(kBatch, 1, 7, {1, 2, 3}));
  ASSERT_OK(add_masked(kBatch, 2, 8, {10, 20, 30}));
  ASSERT_OK(add_masked(kBatch, 3, 7, {1, 1, 1}));
  ASSERT_OK(spill(kBatch, 3));
  commit(kBatch, {{device(1)}, {device(2)}, {device(3)}});
  const CohortSumLayout layout{kValues};
  std::vector<uint64_t> lanes = lanes_of(store_.list_partials(notice_.key).value()[0].blob, 2 * layout.lanes());
  EXPECT_THAT(std::span(lanes).subspan(CohortSumLayout::kUpdatesLane, 1 + kValues), testing::ElementsAre(2, 2, 3, 4));
  EXPECT_THAT(std::span(lanes).last(1 + kValues), testing::ElementsAre(1, 10, 20, 30));
}

// ---- How long updates are

TEST_F(BatchSumsTest, HaveTheNormOfEachUpdateThatIsInThemAtLevelNone) {
  notice_.plan.privacy.level = SecurityLevel::none;
  at_core([this] { sums_.take_up(notice_, {.session = {}, .lane_count = kValues}); });
  ASSERT_OK(add(kBatch, 1, {3, 0, -4}));
  ASSERT_OK(add(kBatch, 2, {0, 0, 0}));
  EXPECT_FALSE(add(kBatch, 3, {0, std::numeric_limits<float>::quiet_NaN(), 0}));
  EXPECT_FALSE(add(kBatch, 4, {0, 1e30f, 0})) << "no plan allows such a value";
  ASSERT_OK(spill(kBatch, 2));
  ASSERT_OK(add(kNextBatch, 5, {0, 1, 0}));
  ASSERT_OK(spill(kNextBatch, 1));
  commit(kBatch, {{device(1)}, {device(2)}});
  commit(kNextBatch, {{device(5)}});
  NormHistogram first, next;
  first.counts[norm_bucket(5)] = first.counts[0] = 1;
  next.counts[norm_bucket(1)] = 1;
  const auto partials = store_.list_partials(notice_.key).value();
  ASSERT_EQ(partials.size(), 2u);
  EXPECT_EQ(norms_of(partials[0].blob), first);
  EXPECT_EQ(norms_of(partials[1].blob), next) << "a batch begins with none";
}

TEST_F(BatchSumsTest, OfDroppedUpdatesHaveNoNorms) {
  notice_.plan.privacy.level = SecurityLevel::none;
  at_core([this] { sums_.take_up(notice_, {.session = {}, .lane_count = kValues}); });
  ASSERT_OK(add(kBatch, 1, {3, 0, -4}));
  drop(kBatch);
  ASSERT_OK(add(kNextBatch, 2, {0, 1, 0}));
  ASSERT_OK(spill(kNextBatch, 1));
  commit(kNextBatch, {{device(2)}});
  NormHistogram alone;
  alone.counts[norm_bucket(1)] = 1;
  EXPECT_EQ(norms_of(store_.list_partials(notice_.key).value()[0].blob), alone);
}

TEST_F(BatchSumsTest, AboveLevelNoneSayNothingOfNorms) {
  ASSERT_OK(add(kBatch, 1, {3, 0, -4}));
  ASSERT_OK(spill(kBatch, 1));
  commit(kBatch, {{device(1)}});
  EXPECT_EQ(norms_of(store_.list_partials(notice_.key).value()[0].blob), std::nullopt);
}

TEST_F(BatchSumsTest, AnUpdateThatIsNoNumberIsNotInTheSum) {
  ASSERT_OK(add(kBatch, 1, {1, 0, 0}));
  EXPECT_FALSE(add(kBatch, 2, {0, std::numeric_limits<float>::quiet_NaN(), 0}));
  ASSERT_OK(spill(kBatch, 1));
  commit(kBatch, {{device(1)}});
  EXPECT_EQ(lanes_of(store_.list_partials(notice_.key).value()[0].blob)[1], 0u);
}

TEST_F(BatchSumsTest, ABatchThatIsDroppedBeforeItIsWrittenLeavesTheSumEmpty) {
  ASSERT_OK(add(kBatch, 1, {1, 0, 0}));
  drop(kBatch);
  ASSERT_OK(add(kNextBatch, 2, {0, 0, 1}));
  ASSERT_OK(spill(kNextBatch, 1));
  commit(kNextBatch, {{device(2)}});
  EXPECT_EQ(lanes_of(store_.list_partials(notice_.key).value()[0].blob)[0], 0u);
}

TEST_F(BatchSumsTest, ABatchThatWillNeverCountLeavesNoBlob) {
  ASSERT_OK(add(kBatch, 1, {1, 0, 0}));
  ASSERT_OK(spill(kBatch, 1));
  EXPECT_EQ(blobs(), 1u);
  ASSERT_TRUE(store_.move_round({notice_.key, RoundState::collecting, RoundState::failed, "", 1}, WallTime()).value());
  EXPECT_TRUE(std::holds_alternative<BatchClosed>(commit(kBatch, {{device(1)}})));
  drop(kBatch);
  EXPECT_EQ(blobs(), 0u);
  drop(kBatch);  // again: nothing is left of it
}

}  // namespace
}  // namespace coterie
