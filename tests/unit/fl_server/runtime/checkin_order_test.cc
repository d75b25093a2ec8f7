#include "fl_server/runtime/checkin_order.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>

#include "base/os/clock.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_device_store.h"

namespace coterie {
namespace {

constexpr Millis kSkew{60'000};

// The store that servers share; it may be held up, or be away.
class SharedStore : public test::MemoryDeviceStore {
 public:
  Result<std::vector<bool>> take_checkins(const std::vector<CheckinClaim>& claims, WallTime latest) override {
    std::unique_lock lock(mutex_);
    ++transactions_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_held_; });
    if (is_away_) return Error(ErrorCode::unavailable, "the database is away");
    return MemoryDeviceStore::take_checkins(claims, latest);
  }
  void hold() {
    const std::lock_guard lock(mutex_);
    is_held_ = true;
  }
  void go_on() {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    changed_.notify_all();
  }
  void go_away() {
    const std::lock_guard lock(mutex_);
    is_away_ = true;
  }
  void wait_until_asked() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return transactions_ > 0; });
  }
  int transactions() {
    const std::lock_guard lock(mutex_);
    return transactions_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int transactions_ = 0;
  bool is_held_ = false, is_away_ = false;
};

class CheckinOrderTest : public testing::Test {
 protected:
  void SetUp() override {
    const Digest token{{1}};
    ASSERT_OK(store_.create_token({.digest = token,
                                   .population = Population("phones"),
                                   .label = "",
                                   .uses_left = 2'000,
                                   .expires = now_ + kSkew,
                                   .created = now_}));
    for (uint32_t i = 0; i < 1'500; ++i) {
      DeviceRecord record;
      record.id = device(i);
      ASSERT_OK(store_.enroll(token, record, now_));
    }
  }
  static DeviceId device(uint32_t i) {
    return DeviceId{{static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i & 0xff)}};
  }
  static std::future<Result<bool>> ask(CheckinOrder& order, const CheckinClaim& claim) {
    auto promise = std::make_shared<std::promise<Result<bool>>>();
    order.take(claim, [promise](Result<bool> taken) { promise->set_value(std::move(taken)); });
    return promise->get_future();
  }

  const WallTime now_ = os::wall_now();
  SharedStore store_;
};

TEST_F(CheckinOrderTest, WhatOneServerHasTakenNoOtherTakes) {
  CheckinOrder one(store_, kSkew), other(store_, kSkew);
  EXPECT_TRUE(*ask(one, {device(1), now_}).get());
  EXPECT_FALSE(*ask(one, {device(1), now_}).get());
  EXPECT_FALSE(*ask(other, {device(1), now_}).get());
  EXPECT_TRUE(*ask(other, {device(2), now_}).get());
  EXPECT_TRUE(*ask(other, {device(1), now_ + Millis(1)}).get());
  EXPECT_FALSE(*ask(one, {device(1), now_}).get());
}

TEST_F(CheckinOrderTest, AsksForAllThatCameMeanwhileAtOnce) {
  CheckinOrder order(store_, kSkew);
  store_.hold();
  std::vector<std::future<Result<bool>>> answers;
  answers.push_back(ask(order, {device(0), now_}));
  store_.wait_until_asked();
  for (uint32_t i = 1; i < 1'500; ++i) answers.push_back(ask(order, {device(i), now_}));
  answers.push_back(ask(order, {device(7), now_}));
  store_.go_on();
  for (uint32_t i = 0; i < 1'500; ++i) EXPECT_TRUE(*answers[i].get()) << i;
  EXPECT_FALSE(*answers.back().get()) << "each has its own answer";
  EXPECT_EQ(store_.transactions(), 3) << "the first, and then 1,500 by at most 1,000";
}

TEST_F(CheckinOrderTest, SaysWhatTheStoreSays) {
  CheckinOrder order(store_, kSkew);
  store_.go_away();
  EXPECT_ERROR(ask(order, {device(1), now_}).get(), ErrorCode::unavailable, "the database is away");
}

TEST_F(CheckinOrderTest, AnswersAllBeforeItStopsAndNobodyLater) {
  CheckinOrder order(store_, kSkew);
  store_.hold();
  auto first = ask(order, {device(1), now_});
  store_.wait_until_asked();
  auto second = ask(order, {device(2), now_});
  store_.go_on();
  order.stop();
  EXPECT_TRUE(*first.get());
  EXPECT_TRUE(*second.get());
  EXPECT_ERROR(ask(order, {device(3), now_}).get(), ErrorCode::unavailable, "about to stop");
}

}  // namespace
}  // namespace coterie
