#include "fl_server/core/turn_order.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "base/random.h"

namespace coterie {
namespace {

using testing::ElementsAre;

Instant at(int64_t ms) { return Instant(Millis(ms)); }

class Order : public testing::Test {
 protected:
  void comes(const std::string& name, int64_t ms) { order_.add({.came = at(ms)}, at(ms), name); }
  void stands(const std::string& name, Work line, int64_t ms) {
    order_.add({.came = at(ms), .taken = 1, .line = line}, at(ms), name);
  }
  void goes_on(const std::string& name, int64_t came, uint32_t taken, int64_t ms) {
    order_.add({.came = at(came), .taken = taken}, at(ms), name);
  }
  std::vector<std::string> take_all() {
    std::vector<std::string> taken;
    while (!order_.empty()) taken.push_back(order_.take());
    return taken;
  }
  TurnOrder<std::string> order_;
};

TEST_F(Order, IsThatOfTheirComingAmongEquals) {
  comes("a", 5);
  comes("b", 5);
  comes("c", 6);
  EXPECT_THAT(take_all(), ElementsAre("a", "b", "c"));
}

TEST_F(Order, PutsWhatWasBegunBeforeWhatHasComeBeforeLinesByWorth) {
  stands("newcomer", Work::newcomer, 1);
  stands("download", Work::download, 2);
  stands("update", Work::update, 3);
  stands("session", Work::session, 4);
  comes("head", 5);
  goes_on("begun", 0, 1, 6);
  EXPECT_THAT(take_all(), ElementsAre("begun", "head", "session", "update", "download", "newcomer"));
}

// Also when it is younger in the queue, and when two came in the same millisecond.
TEST_F(Order, GoesOnWithTheOldestOfWhatWasBegun) {
  goes_on("young", 30, 1, 100);
  goes_on("old", 10, 2, 101);
  goes_on("twin 1", 20, 1, 102);
  goes_on("twin 2", 20, 1, 102);
  EXPECT_THAT(take_all(), ElementsAre("old", "twin 1", "twin 2", "young"));
}

TEST_F(Order, GivesALongTransferNoPreference) {
  const uint32_t last = TurnOrder<std::string>::kPiecesFirst;
  stands("newcomer 1", Work::newcomer, 10);
  goes_on("long", 0, last, 11);
  stands("newcomer 2", Work::newcomer, 12);
  goes_on("not long", 1, last - 1, 13);
  EXPECT_THAT(take_all(), ElementsAre("not long", "newcomer 1", "long", "newcomer 2"));
}

TEST_F(Order, ForgetsNobody) {
  const Millis most = TurnOrder<std::string>::kWaitMax;
  stands("newcomer", Work::newcomer, 0);
  stands("another", Work::newcomer, 1);
  comes("head", 1);
  EXPECT_EQ(order_.take_forgotten(at(0) + most), std::nullopt);
  EXPECT_EQ(order_.take_forgotten(at(1) + most), "newcomer");
  EXPECT_EQ(order_.take_forgotten(at(1) + most), std::nullopt);
  EXPECT_EQ(order_.take_forgotten(at(2) + most), "head") << "the more valuable line first";
  EXPECT_EQ(order_.take_forgotten(at(2) + most), "another");
}

TEST_F(Order, TellsHowLongTheLastLineWaits) {
  EXPECT_EQ(order_.delay(at(50)), Millis(0));
  comes("head", 10);
  stands("update", Work::update, 20);
  EXPECT_EQ(order_.delay(at(50)), Millis(0));
  stands("newcomer", Work::newcomer, 30);
  stands("another", Work::newcomer, 45);
  EXPECT_EQ(order_.delay(at(50)), Millis(20));
}

TEST_F(Order, IsNotNeededWhileNothingIsLate) {
  const Millis calm = TurnOrder<std::string>::kInTimeAfter, late = TurnOrder<std::string>::kLateFrom;
  EXPECT_TRUE(order_.is_in_time());
  order_.observe(late - Millis(1), at(10));
  EXPECT_TRUE(order_.is_in_time());
  order_.observe(late, at(20));
  EXPECT_FALSE(order_.is_in_time());
  order_.observe(Millis(0), at(19) + calm);
  EXPECT_FALSE(order_.is_in_time()) << "not yet";
  order_.observe(Millis(0), at(20) + calm);
  EXPECT_TRUE(order_.is_in_time());
  stands("newcomer", Work::newcomer, 500);
  order_.observe(Millis(0), at(500) + late);
  EXPECT_FALSE(order_.is_in_time()) << "somebody waits";
}

// A thread that is asked for twice of what it can do. Nothing that was begun waits for what came later, but for a look
// at it.
TEST(TurnOrder, FinishesWhatItBeginsWhateverComes) {
  constexpr uint32_t kPieces = 8;
  struct Request {
    RequestTurns turns;
    uint32_t left = kPieces;
  };
  TurnOrder<size_t> order;
  std::map<size_t, Request> requests;
  Prng prng(7);
  size_t next = 0, done = 0;
  Millis longest{0};
  for (int64_t ms = 0; ms < 20'000; ++ms) {  // a piece each; 1/4 of the time a request comes
    if (prng.chance(0.25)) {
      requests[next].turns.came = at(ms);
      order.add(requests[next].turns, at(ms), next);
      ++next;
    }
    if (order.empty()) continue;
    const size_t id = order.take();
    Request& request = requests[id];
    if (++request.turns.taken == 1) {
      request.turns.line = Work::newcomer;
      order.add(request.turns, at(ms), id);
      continue;
    }
    if (request.turns.line) request.turns.came = at(ms);  // from here on it is being served
    request.turns.line.reset();
    if (--request.left > 0) {
      order.add(request.turns, at(ms), id);
      continue;
    }
    longest = std::max(longest, at(ms) - request.turns.came);
    ++done;
    requests.erase(id);
  }
  EXPECT_GE(done, (20'000 - next) / kPieces - 10) << "all that the looks have left";
  EXPECT_LE(longest, Millis(2 * kPieces));
}

}  // namespace
}  // namespace coterie
