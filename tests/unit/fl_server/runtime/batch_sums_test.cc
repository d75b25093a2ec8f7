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

#include "proto/codec/codec.h"
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

  Status add(BatchId batch, uint8_t who, std::vector<float> values) {
    at_core([&] {
      UploadBody body;
      body.decoded = std::move(values);
      body.values = body.decoded;
      body.weight = 1;
      sums_.add({UploadId(who), batch}, {notice_.key, device(who), std::move(body)});
    });
    return next<UpdateAdded>().added;
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
  std::vector<uint64_t> lanes_of(const Digest& blob) {
    const Bytes& bytes = partials_.bytes_of(blob);
    std::vector<uint64_t> lanes(kValues);
    std::memcpy(lanes.data(), bytes.data() + bytes.size() - kValues * sizeof(uint64_t), kValues * sizeof(uint64_t));
    return lanes;
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
