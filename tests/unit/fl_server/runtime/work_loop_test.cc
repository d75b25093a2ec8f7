#include "fl_server/runtime/work_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/os/clock.h"

namespace coterie {
namespace {

using testing::ElementsAre;

const Millis kHour{3'600'000};

TEST(WorkLoop, RunsTasksInTheOrderTheyWerePostedOnOneThreadOfItsOwn) {
  WorkLoop loop;
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 10; ++i) loop.post([&order, i] { order.push_back(i); });
  loop.start();
  for (int i = 10; i < 1'000; ++i) {
    loop.post([&, i] {
      order.push_back(i);
      threads.push_back(std::this_thread::get_id());
    });
  }
  loop.stop();
  ASSERT_EQ(order.size(), 1'000u);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  for (const std::thread::id& id : threads) EXPECT_EQ(id, threads[0]);
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(WorkLoop, KeepsTheOrderOfEveryPoster) {
  constexpr size_t kPosters = 6, kEach = 2'000;
  WorkLoop loop;
  loop.start();
  std::vector<std::vector<size_t>> seen(kPosters);
  std::vector<std::thread> posters;
  for (size_t poster = 0; poster < kPosters; ++poster) {
    posters.emplace_back([&, poster] {
      for (size_t i = 0; i < kEach; ++i) loop.post([&seen, poster, i] { seen[poster].push_back(i); });
    });
  }
  for (std::thread& poster : posters) poster.join();
  loop.stop();
  for (const std::vector<size_t>& order : seen) {
    ASSERT_EQ(order.size(), kEach);
    for (size_t i = 0; i < kEach; ++i) ASSERT_EQ(order[i], i);
  }
}

TEST(WorkLoop, LetsATaskPostAnother) {
  WorkLoop loop;
  loop.start();
  std::promise<void> last;
  int depth = 0;
  std::function<void()> again = [&] {
    if (++depth < 100) loop.post(again);
    else last.set_value();
  };
  loop.post(again);
  last.get_future().wait();
  loop.stop();
  EXPECT_EQ(depth, 100);
}

TEST(WorkLoop, RunsWhatWasPostedBeforeStopAndNothingAfter) {
  WorkLoop loop;
  std::vector<std::string> ran;
  std::promise<void> stopping;
  std::shared_future<void> is_stopping = stopping.get_future().share();
  loop.start();
  loop.post([&, is_stopping] {
    is_stopping.wait();
    ran.push_back("first");
  });
  loop.post([&] { ran.push_back("second"); });
  stopping.set_value();
  loop.stop();
  EXPECT_THAT(ran, ElementsAre("first", "second"));
  loop.post([&] { ran.push_back("late"); });
  loop.stop();
  EXPECT_THAT(ran, ElementsAre("first", "second"));
}

TEST(WorkLoop, NeedNeverBeStarted) {
  bool ran = false;
  {
    WorkLoop loop;
    loop.post([&] { ran = true; });
    loop.stop();
  }
  EXPECT_FALSE(ran);
}

TEST(WorkLoop, WakesItsClientAtADeadlineThatHasCome) {
  WorkLoop loop;
  std::optional<Instant> deadline = os::monotonic_now();
  std::promise<void> woken;
  int times = 0;
  loop.start(
      [&] {
        ++times;
        deadline = std::nullopt;
        woken.set_value();
      },
      [&] { return deadline; });
  woken.get_future().wait();
  loop.stop();
  EXPECT_EQ(times, 1) << "once a deadline";
}

TEST(WorkLoop, WakesItsClientAtADeadlineThatATaskHasSet) {
  WorkLoop loop;
  std::optional<Instant> deadline = os::monotonic_now() + kHour;
  std::promise<void> woken;
  loop.start(
      [&] {
        deadline = std::nullopt;
        woken.set_value();
      },
      [&] { return deadline; });
  loop.post([&] { deadline = os::monotonic_now() + Millis(1); });
  woken.get_future().wait();
  loop.stop();
  EXPECT_FALSE(deadline.has_value());
}

TEST(WorkLoop, DoesNotLetADeadlineFarAwayHoldUpAnything) {
  WorkLoop loop;
  bool woken = false;
  loop.start([&] { woken = true; }, [] { return std::optional(os::monotonic_now() + kHour); });
  std::promise<void> ran;
  loop.post([&] { ran.set_value(); });
  ran.get_future().wait();
  loop.stop();
  EXPECT_FALSE(woken);
}

TEST(WorkLoop, RunsTasksThoughADeadlineIsAlwaysOver) {
  WorkLoop loop;
  loop.start([] {}, [] { return std::optional(os::monotonic_now() - kHour); });
  int count = 0;
  for (int i = 0; i < 100; ++i) loop.post([&] { ++count; });
  loop.stop();
  EXPECT_EQ(count, 100);
}

TEST(WorkLoop, TellsHowLongItsOldestTaskWaitsAndNothingOfTheOneThatRuns) {
  WorkLoop loop;
  loop.start();
  EXPECT_EQ(loop.delay(), Millis(0));
  std::promise<void> began, release;
  std::shared_future<void> released = release.get_future().share();
  loop.post([&] {
    began.set_value();
    released.wait();
  });
  began.get_future().wait();
  const Instant before = os::monotonic_now();
  while (os::monotonic_now() < before + Millis(2)) EXPECT_EQ(loop.delay(), Millis(0)) << "nobody waits for it";
  loop.post([] {});
  while (loop.delay() < Millis(2)) std::this_thread::yield();
  const Millis waited = loop.delay();
  loop.post([] {});
  EXPECT_GE(loop.delay(), waited) << "a newer one changes nothing";
  release.set_value();
  loop.stop();
  EXPECT_EQ(loop.delay(), Millis(0));
}

}  // namespace
}  // namespace coterie
