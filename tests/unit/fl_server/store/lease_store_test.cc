// The conformance suite of LeaseStore, with the database's own clock: what a test waits for is brief, what it relies on
// is long.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "fl_server/store/sql_lease_store.h"
#include "tests/support/memory_lease_store.h"
#include "tests/unit/fl_server/store/store_backends.h"

namespace coterie {
namespace {

using namespace test;

constexpr Millis kLong{3'600'000};

template <typename Backend>
class LeaseStoreConformance : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  LeaseAnswer take(const std::string& holder, Millis ttl = kLong, const std::string& name = "scheduler") {
    const Result<LeaseAnswer> answer = backend_.store().take_lease(name, holder, ttl);
    EXPECT_OK(answer);
    return answer ? *answer : LeaseAnswer{};
  }
  Backend backend_;
};
using Backends = testing::Types<SqlBackend<SqlLeaseStore, SqliteDatabase>, SqlBackend<SqlLeaseStore, PostgresDatabase>,
                                MemoryStoreBackend<MemoryLeaseStore>>;
TYPED_TEST_SUITE(LeaseStoreConformance, Backends, BackendNames);

TYPED_TEST(LeaseStoreConformance, GoesToTheFirstAndIsRenewedByHim) {
  EXPECT_EQ(this->take("a/1"), (LeaseAnswer{true, LeaseEpoch(1), "a/1", kLong}));
  EXPECT_EQ(this->take("a/1").epoch, LeaseEpoch(1));
  const LeaseAnswer refused = this->take("b/1");
  EXPECT_FALSE(refused.is_granted);
  EXPECT_EQ(refused.holder, "a/1");
  EXPECT_EQ(refused.epoch, LeaseEpoch(1));
  EXPECT_GT(refused.left, kLong - Millis(60'000));
  EXPECT_LE(refused.left, kLong);
}

TYPED_TEST(LeaseStoreConformance, GoesToAnotherWhenItsTimeIsOver) {
  this->take("a/1", Millis(0));
  const LeaseAnswer taken = this->take("b/1");
  EXPECT_TRUE(taken.is_granted);
  EXPECT_EQ(taken.epoch, LeaseEpoch(2));
  EXPECT_FALSE(this->take("a/1").is_granted) << "whoever had it has to wait as any other";
}

TYPED_TEST(LeaseStoreConformance, ThatIsOverButNotTakenGoesOn) {
  this->take("a/1", Millis(0));
  EXPECT_EQ(this->take("a/1").epoch, LeaseEpoch(1));
}

TYPED_TEST(LeaseStoreConformance, IsGivenBackByItsHolderAlone) {
  this->take("a/1");
  ASSERT_OK(this->backend_.store().give_lease("scheduler", "b/1"));
  EXPECT_FALSE(this->take("b/1").is_granted);
  ASSERT_OK(this->backend_.store().give_lease("scheduler", "a/1"));
  ASSERT_OK(this->backend_.store().give_lease("scheduler", "a/1"));
  EXPECT_EQ(this->take("b/1").epoch, LeaseEpoch(2));
}

TYPED_TEST(LeaseStoreConformance, OfAnotherNameIsAnother) {
  this->take("a/1");
  EXPECT_TRUE(this->take("b/1", kLong, "cohort 7").is_granted);
}

TYPED_TEST(LeaseStoreConformance, SurvivesARestart) {
  this->take("a/1");
  this->backend_.reopen();
  EXPECT_FALSE(this->take("b/1").is_granted);
}

TYPED_TEST(LeaseStoreConformance, IsShortenedByItsHolderToo) {
  this->take("a/1");
  EXPECT_EQ(this->take("a/1", Millis(0)).left, Millis(0)) << "the newest wish counts";
  EXPECT_EQ(this->take("b/1").epoch, LeaseEpoch(2));
}

TYPED_TEST(LeaseStoreConformance, OfTheSameServersNextLifeIsAnothers) {
  this->take("node-0/1");
  EXPECT_FALSE(this->take("node-0/2").is_granted);
  EXPECT_FALSE(this->take("node-0").is_granted);
  EXPECT_FALSE(this->take("NODE-0/1").is_granted) << "to the letter";
}

TYPED_TEST(LeaseStoreConformance, ThatIsGivenBackIsTakenAgainUnderItsEpochIfNobodyHadItMeanwhile) {
  this->take("a/1");
  ASSERT_OK(this->backend_.store().give_lease("scheduler", "a/1"));
  EXPECT_EQ(this->take("a/1").epoch, LeaseEpoch(1));
  EXPECT_FALSE(this->take("b/1").is_granted);
}

TYPED_TEST(LeaseStoreConformance, EpochsGrowWithEveryNewHolderAndNeverFall) {
  for (uint64_t epoch = 1; epoch <= 40; ++epoch) {
    EXPECT_EQ(this->take(epoch % 2 == 0 ? "a/1" : "b/1", Millis(0)).epoch, LeaseEpoch(epoch));
    if (epoch % 10 == 0) this->backend_.reopen();
  }
}

TYPED_TEST(LeaseStoreConformance, ThatNobodyHadIsGivenBackByNobody) {
  ASSERT_OK(this->backend_.store().give_lease("never heard of", "a/1"));
  EXPECT_EQ(this->take("a/1", kLong, "never heard of").epoch, LeaseEpoch(1)) << "and nothing is there for it";
}

TYPED_TEST(LeaseStoreConformance, TakesAnyNameAsItIs) {
  const std::string names[] = {
      "", " ", "'; DROP TABLE lease; --", "\xc3\xa4\xf0\x9f\x94\x91", "%_?1$1", std::string(5'000, 'x')};
  for (const std::string& name : names) {
    EXPECT_EQ(this->take("holder " + name, kLong, name).epoch, LeaseEpoch(1)) << name;
    EXPECT_EQ(this->take("b/1", kLong, name).holder, "holder " + name);
  }
}

// Six servers, each with a connection of its own, ask at once: one gets it, each time.
TYPED_TEST(LeaseStoreConformance, GoesToOneOfMany) {
  constexpr size_t kServers = 6, kTurns = 20;
  std::vector<decltype(this->backend_.another())> stores;
  for (size_t i = 0; i < kServers; ++i) stores.push_back(this->backend_.another());
  std::array<std::array<LeaseAnswer, kServers>, kTurns> answers;
  std::barrier start(static_cast<std::ptrdiff_t>(kServers));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kServers; ++i) {
    threads.emplace_back([&, i] {
      for (size_t turn = 0; turn < kTurns; ++turn) {
        start.arrive_and_wait();
        const auto answer = stores[i]->take_lease("turn " + std::to_string(turn), "server " + std::to_string(i), kLong);
        if (answer) answers[turn][i] = *answer;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& turn : answers) {
    EXPECT_EQ(std::ranges::count_if(turn, [](const LeaseAnswer& a) { return a.is_granted; }), 1);
    for (const LeaseAnswer& answer : turn) {
      EXPECT_EQ(answer.holder, turn[0].holder);
      EXPECT_EQ(answer.epoch, LeaseEpoch(1));
    }
  }
}

}  // namespace
}  // namespace coterie
