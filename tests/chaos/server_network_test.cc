// A real server whose way to PostgreSQL fails in mid-round, again and again: it stays up, goes on by itself, and counts
// whoever it has told so once.
#include <gtest/gtest.h>

#include "tests/chaos/fault_proxy.h"
#include "tests/chaos/scene.h"
#include "tests/chaos/stride.h"
#include "tests/support/matchers.h"

namespace coterie::chaos {
namespace {

constexpr const char* kCommit = "COMMIT";

class ServerNetwork : public Scene {
 protected:
  void SetUp() override {
    if (!test::PostgresServer::is_installed())
      GTEST_SKIP() << "PostgreSQL is not installed: apt-get install postgresql";
    auto postgres = test::PostgresServer::start();
    ASSERT_OK(postgres);
    postgres_ = std::move(*postgres);
    auto proxy = FaultProxy::start({}, {.path = postgres_->socket_path()});
    ASSERT_OK(proxy);
    proxy_ = std::move(*proxy);
    keep_truth_at(test::PostgresServer::conninfo_at(proxy_->endpoint().port));
    lease_ttl_ = Millis(8'000);  // longer than what is to be waited for
    ASSERT_OK(start());
    begin();
    ASSERT_TRUE(wait_for_rounds(1));
    pid_ = server_->pid();
  }
  // `fault` strikes whoever comes next on any of the server's connections; the round goes on behind it.
  void expect_to_survive(const Fault& fault) {
    proxy_->arm(fault);
    EXPECT_TRUE(proxy_->wait_until_struck(kPatience));
    if (fault.kind != FaultKind::delay) proxy_->clear();
    EXPECT_TRUE(wait_for_rounds(2)) << server_->log();
    proxy_->clear();
  }
  void expect_the_same_process() {
    EXPECT_EQ(server_->pid(), pid_);
    EXPECT_FALSE(server_->ends_within(Millis(0))) << server_->log();
  }

  std::unique_ptr<test::PostgresServer> postgres_;
  std::unique_ptr<FaultProxy> proxy_;  // before the server
  int pid_ = 0;
};

TEST_F(ServerNetwork, ConnectionsThatAreResetInMidCommitCostNobody) {
  for (uint32_t i = 1; i <= (kIsNight ? 40u : 5u) && !HasFailure(); ++i) {
    const Direction direction = i % 2 == 0 ? Direction::to_server : Direction::to_client;
    expect_to_survive({.kind = FaultKind::reset, .direction = direction, .pattern = kCommit, .occurrence = 1 + i % 4});
  }
  expect_the_same_process();
  EXPECT_GE(end(), 10u);
}

TEST_F(ServerNetwork, AStallOfTwoSecondsHoldsTheRoundUp) {
  proxy_->arm(
      {.kind = FaultKind::delay, .direction = Direction::to_client, .pattern = kCommit, .delay = Millis(2'000)});
  ASSERT_TRUE(proxy_->wait_until_struck(kPatience));
  proxy_->clear();  // what came before is passed on in two seconds, and everything else behind it
  EXPECT_TRUE(wait_for_rounds(2));
  expect_the_same_process();
  EXPECT_GE(end(), 3u);
}

TEST_F(ServerNetwork, ADatabaseThatRefusesForAWhileIsComeBackTo) {
  for (int i = 0; i < (kIsNight ? 10 : 2) && !HasFailure(); ++i) {
    audit_.wait_for_receipts(1);
    proxy_->refuse(true);
    proxy_->reset_all();
    EXPECT_TRUE(server_->wait_for_log("cannot connect", kPatience));
    proxy_->refuse(false);
    EXPECT_TRUE(wait_for_rounds(2)) << server_->log();
  }
  expect_the_same_process();
  EXPECT_GE(end(), 5u);
}

// The lead is over before the database is reached again: the process ends, and the next one goes on.
TEST_F(ServerNetwork, ADatabaseThatIsGoneForLongerThanTheLeaseCostsTheLeadAndNothingElse) {
  proxy_->refuse(true);
  proxy_->reset_all();
  shut_the_door();
  ASSERT_TRUE(server_->ends_within(kPatience));
  EXPECT_EQ(server_->wait(), 75);
  proxy_->refuse(false);
  ASSERT_OK(start());
  EXPECT_TRUE(wait_for_rounds(2));
  EXPECT_GE(end(), 3u);
}

}  // namespace
}  // namespace coterie::chaos
