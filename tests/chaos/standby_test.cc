// A primary of PostgreSQL is killed in mid-round while its standby follows synchronously. The standby is promoted, the
// server goes on with it, and whoever holds a receipt is counted once: no acknowledged thing is lost (RPO 0).
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/chaos/scene.h"
#include "tests/chaos/stride.h"
#include "tests/support/matchers.h"

namespace coterie::chaos {
namespace {

using test::PostgresServer;

constexpr uint32_t kTimes = kIsNight ? 20 : 2;

class Standby : public Scene {
 protected:
  void SetUp() override {
    if (!PostgresServer::is_installed()) GTEST_SKIP() << "PostgreSQL is not installed: apt-get install postgresql";
    auto primary = PostgresServer::start();
    ASSERT_OK(primary);
    primary_ = std::move(*primary);
    auto standby = PostgresServer::start_standby_of(*primary_);
    ASSERT_OK(standby);
    standby_ = std::move(*standby);
  }
  // A server that could not renew its lead has ended, as it must: its supervisor starts it again.
  bool goes_on_for(uint64_t rounds) {
    while (!wait_for_rounds(rounds)) {
      if (HasFailure()) return false;
      shut_the_door();
      const Status back = start();
      EXPECT_OK(back);
      if (!back) return false;
    }
    return true;
  }

  std::unique_ptr<PostgresServer> primary_, standby_;
};

TEST_F(Standby, PromotedAfterItsPrimaryWasKilledHasAllThatWasAcknowledged) {
  ASSERT_OK(primary_->be_synchronous());
  keep_truth_at(PostgresServer::conninfo_of_pair(*primary_, *standby_));
  ASSERT_OK(start());
  begin();
  ASSERT_TRUE(has_begun());
  std::vector<Millis> took;
  for (uint32_t i = 0; i < kTimes; ++i) {
    SCOPED_TRACE("kill " + std::to_string(i + 1));
    ASSERT_TRUE(goes_on_for(2));
    audit_.wait_for_receipts(1 + i % kGoal);  // somewhere in a round
    const Instant begin = os::monotonic_now();
    primary_->kill_at_once();
    ASSERT_OK(standby_->promote());
    std::swap(primary_, standby_);
    ASSERT_TRUE(goes_on_for(1));
    took.push_back(std::chrono::duration_cast<Millis>(os::monotonic_now() - begin));
    ASSERT_OK(standby_->follow(*primary_));
    ASSERT_OK(primary_->be_synchronous());
  }
  const uint64_t rounds = end();
  EXPECT_GE(rounds, 2 * kTimes);
  std::ranges::sort(took);
  std::printf(
      "%u primaries killed, %llu receipts and %llu rounds audited, none lost; a round done again after %lld ms "
      "(median), %lld ms (slowest)\n",
      kTimes, static_cast<unsigned long long>(audit_.receipts()), static_cast<unsigned long long>(rounds),
      static_cast<long long>(took[took.size() / 2].count()), static_cast<long long>(took.back().count()));
}

// Why the other one is synchronous: this pair can lose.
TEST_F(Standby, ThatFollowsWhenItCanHasLostWhatItHadNotSeen) {
  ASSERT_OK(primary_->run_sql("CREATE TABLE acknowledged(n INTEGER)"));
  standby_->crash();
  ASSERT_OK(primary_->run_sql("INSERT INTO acknowledged VALUES(1)"));
  primary_->kill_at_once();
  ASSERT_OK(standby_->restart());
  ASSERT_OK(standby_->promote());
  EXPECT_ERROR(standby_->run_sql("SELECT 1 / count(*) FROM acknowledged"), ErrorCode::internal, "");
}

}  // namespace
}  // namespace coterie::chaos
