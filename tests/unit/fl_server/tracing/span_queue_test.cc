#include "fl_server/tracing/span_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace coterie {
namespace {

constexpr Instant kStart{Millis(5'000)};

std::vector<Span> numbered(size_t from, size_t count) {
  std::vector<Span> spans(count);
  for (size_t i = 0; i < count; ++i) spans[i].name = std::to_string(from + i);
  return spans;
}

TEST(SpanQueue, SendsTheOldestFirstABatchAtATime) {
  SpanQueue queue;
  EXPECT_FALSE(queue.next());
  queue.add(numbered(0, SpanQueue::kBatchMax + 10));
  ASSERT_LE(*queue.next(), kStart);
  std::vector<Span> batch = queue.begin_batch(kStart);
  ASSERT_EQ(batch.size(), SpanQueue::kBatchMax);
  EXPECT_EQ(batch.front().name, "0");
  queue.done(Exported::taken, kStart);
  batch = queue.begin_batch(kStart);
  EXPECT_EQ(batch.size(), 10u);
  EXPECT_EQ(batch.front().name, "512");
  queue.done(Exported::taken, kStart);
  EXPECT_EQ(queue.exported(), 522u);
  EXPECT_FALSE(queue.next());
}

TEST(SpanQueue, AsksLaterEachTimeAndFromTheBeginningAfterASuccess) {
  Instant now = kStart;
  SpanQueue queue;
  queue.add(numbered(0, 1));
  std::vector<int64_t> seen;
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(queue.begin_batch(now).size(), 1u);
    queue.done(Exported::unavailable, now);
    seen.push_back((*queue.next() - now).count());
    now = *queue.next();
  }
  EXPECT_EQ(seen, (std::vector<int64_t>{1'000, 2'000, 4'000, 8'000, 16'000, 32'000, 60'000, 60'000}));
  queue.begin_batch(now);
  queue.done(Exported::taken, now);
  queue.add(numbered(1, 1));
  EXPECT_LE(*queue.next(), now);
}

TEST(SpanQueue, DropsWhatIsRefused) {
  SpanQueue queue;
  queue.add(numbered(0, 3));
  queue.begin_batch(kStart);
  queue.add(numbered(3, 1));
  queue.done(Exported::refused, kStart);
  EXPECT_EQ(queue.dropped(), 3u);
  EXPECT_EQ(queue.begin_batch(kStart).front().name, "3");
}

TEST(SpanQueue, TheOldestGoWhereThereIsNoRoomAlsoWhileTheyAreUnderWay) {
  SpanQueue queue;
  queue.add(numbered(0, SpanQueue::kSpansMax));
  ASSERT_EQ(queue.begin_batch(kStart).size(), SpanQueue::kBatchMax);
  queue.add(numbered(SpanQueue::kSpansMax, 12));
  EXPECT_EQ(queue.size(), SpanQueue::kSpansMax);
  EXPECT_EQ(queue.dropped(), 12u);
  queue.done(Exported::taken, kStart);
  EXPECT_EQ(queue.exported(), SpanQueue::kBatchMax - 12);
  EXPECT_EQ(queue.begin_batch(kStart).front().name, std::to_string(SpanQueue::kBatchMax));
}

}  // namespace
}  // namespace coterie
