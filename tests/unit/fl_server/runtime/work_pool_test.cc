#include "fl_server/runtime/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <vector>

namespace coterie {
namespace {

TEST(WorkPool, RunsEverythingThatWasPostedBeforeItStops) {
  std::atomic<int> count = 0;
  WorkPool pool;
  for (int i = 0; i < 100; ++i) pool.post([&] { ++count; });
  pool.start(4);
  for (int i = 0; i < 5'000; ++i) pool.post([&] { ++count; });
  pool.stop();
  EXPECT_EQ(count, 5'100);
  pool.post([&] { ++count; });
  pool.stop();
  EXPECT_EQ(count, 5'100) << "later ones are dropped";
}

TEST(WorkPool, RunsAsManyTasksAtOnceAsItHasThreads) {
  WorkPool pool;
  pool.start(4);
  std::latch together(4);
  std::atomic<int> met = 0;
  for (int i = 0; i < 4; ++i) {
    pool.post([&] {
      together.arrive_and_wait();
      ++met;
    });
  }
  pool.stop();
  EXPECT_EQ(met, 4);
}

TEST(WorkPool, OfOneThreadKeepsTheOrder) {
  WorkPool pool;
  pool.start(1);
  std::vector<int> order;
  for (int i = 0; i < 1'000; ++i) pool.post([&order, i] { order.push_back(i); });
  pool.stop();
  ASSERT_EQ(order.size(), 1'000u);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(WorkPool, RunsWhatATaskPosts) {
  WorkPool pool;
  pool.start(3);
  std::atomic<int> count = 0;
  std::latch done(64);
  const std::function<void(int)> split = [&](int depth) {
    ++count;
    if (depth == 0) return done.count_down();
    for (int i = 0; i < 2; ++i) pool.post([&split, depth] { split(depth - 1); });
  };
  pool.post([&] { split(6); });
  done.wait();
  pool.stop();
  EXPECT_EQ(count, 127);
}

TEST(WorkPool, NeedNeverBeStarted) {
  bool ran = false;
  {
    WorkPool pool;
    pool.post([&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TEST(WorkPool, RunsEachPartOnceOnAnyNumberOfThreads) {
  for (const size_t threads : {0, 1, 2, 7}) {
    WorkPool pool;
    pool.start(threads);
    std::vector<std::atomic<int>> runs(100);
    pool.run_parts(runs.size(), [&](size_t part) { ++runs[part]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
    pool.run_parts(0, [](size_t) { FAIL(); });
  }
}

TEST(WorkPool, RunsPartsOnOtherThreadsToo) {
  WorkPool pool;
  pool.start(3);
  std::latch together(3);
  pool.run_parts(3, [&](size_t) { together.arrive_and_wait(); });
}

// All threads are in tasks that run parts: each must come to its end without the others.
TEST(WorkPool, TasksMayRunParts) {
  WorkPool pool;
  std::atomic<int> runs = 0;
  for (int i = 0; i < 10; ++i) {
    pool.post([&] { pool.run_parts(50, [&](size_t) { ++runs; }); });
  }
  pool.start(2);
  pool.stop();
  EXPECT_EQ(runs, 500);
}

}  // namespace
}  // namespace coterie
