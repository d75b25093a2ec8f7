#include "fl_server/runtime/leadership.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/support/matchers.h"
#include "tests/support/memory_lease_store.h"

namespace coterie {
namespace {

constexpr std::chrono::seconds kPatience(60);

// Short: these tests wait for a lease's real time to be over.
constexpr LeaseSettings kBrief{.ttl = Millis(100), .renew_every = Millis(10), .retry_delay = Millis(5)};

struct Candidate {
  Candidate(LeaseStore& leases, const std::string& name, LeaseSettings settings = {})
      : leadership(settings, leases, "scheduler", name) {
    leadership.start([this](LeaseEpoch epoch) { held.set_value(epoch); },
                     [this](const std::string& why) { lost.set_value(why); });
  }
  uint64_t epoch() {
    auto future = held.get_future();
    if (future.wait_for(kPatience) != std::future_status::ready) return 0;
    return future.get().value();
  }
  std::promise<LeaseEpoch> held;
  std::promise<std::string> lost;
  Leadership leadership;
};

TEST(Leadership, GoesToOneAndWhenHeStopsToTheOtherAtOnce) {
  test::MemoryLeaseStore leases;
  auto first = std::make_unique<Candidate>(leases, "first", kBrief);
  ASSERT_EQ(first->epoch(), 1u);
  Candidate second(leases, "second", kBrief);
  const Result<LeaseAnswer> row = leases.take_lease("scheduler", "third", Millis(1));
  ASSERT_OK(row);
  EXPECT_FALSE(row->is_granted);
  EXPECT_EQ(row->holder, "first");
  first.reset();
  EXPECT_EQ(second.epoch(), 2u) << "the store's clock stands still: it was given back";
}

TEST(Leadership, IsLostWhenTheStoreStaysAway) {
  test::MemoryLeaseStore leases;
  Candidate only(leases, "only", kBrief);
  ASSERT_EQ(only.epoch(), 1u);
  leases.set_away(true);
  auto lost = only.lost.get_future();
  ASSERT_EQ(lost.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(lost.get(), "it could not be renewed in time");
}

// Grants, and after hang() answers no more until go_on().
class HangingStore final : public LeaseStore {
 public:
  Result<LeaseAnswer> take_lease(const std::string&, const std::string& holder, Millis ttl) override {
    if (hangs_) gone_on_.wait();
    return LeaseAnswer{true, LeaseEpoch(1), holder, ttl};
  }
  Status give_lease(const std::string&, const std::string&) override { return {}; }
  void hang() { hangs_ = true; }
  void go_on() { go_on_.set_value(); }

 private:
  std::atomic<bool> hangs_{false};
  std::promise<void> go_on_;
  std::shared_future<void> gone_on_ = go_on_.get_future().share();
};

TEST(Leadership, IsLostInTimeThoughTheStoreHangs) {
  HangingStore leases;
  Candidate only(leases, "only", kBrief);
  ASSERT_EQ(only.epoch(), 1u);
  leases.hang();
  auto lost = only.lost.get_future();
  EXPECT_EQ(lost.wait_for(kPatience), std::future_status::ready);
  leases.go_on();
}

TEST(Leadership, ThatNeverHeldGivesNothingBack) {
  test::MemoryLeaseStore leases;
  Candidate first(leases, "first");
  ASSERT_EQ(first.epoch(), 1u);
  { Candidate second(leases, "second"); }
  const Result<LeaseAnswer> row = leases.take_lease("scheduler", "first", Millis(1));
  ASSERT_OK(row);
  EXPECT_EQ(row->epoch, LeaseEpoch(1));
}

}  // namespace
}  // namespace coterie
