// Turns on a real io_context: at once while it is in time for everything, in the order of TurnOrder while it is not.
#include "fl_server/http/turns.h"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <string>
#include <vector>

#include "base/os/clock.h"

namespace coterie {
namespace {

using testing::ElementsAre;

class TurnsOfAThread : public testing::Test {
 protected:
  // A request that has a turn, then one in its line, then another piece.
  static Awaitable<void> serve(TurnsOfAThread* test, std::string name, Work line) {
    RequestTurns request;
    if (!test->turns_.take_at_once(request)) co_await test->turns_.take(request);
    test->log_.push_back(name + " comes");
    co_await test->turns_.stand_in_line(request, line);
    test->log_.push_back(name + " begins");
    if (!test->turns_.take_at_once(request)) co_await test->turns_.take(request);
    test->log_.push_back(name + " ends");
    EXPECT_FALSE(request.line);
    EXPECT_LE(request.came, os::monotonic_now());
  }
  void comes(const std::string& name, Work line) { asio::co_spawn(context_, serve(this, name, line), asio::detached); }

  asio::io_context context_{1};
  Turns turns_{context_};
  std::vector<std::string> log_;
};

TEST_F(TurnsOfAThread, AreTakenAtOnceWhileItIsInTime) {
  comes("a", Work::newcomer);
  comes("b", Work::update);
  context_.run();
  EXPECT_THAT(log_, ElementsAre("a comes", "a begins", "a ends", "b comes", "b begins", "b ends"));
}

TEST_F(TurnsOfAThread, GoByWorthOnceItIsLate) {
  turns_.observe(Millis(10), os::monotonic_now());
  comes("newcomer", Work::newcomer);
  comes("update", Work::update);
  comes("download", Work::download);
  context_.run();
  EXPECT_THAT(log_, ElementsAre("newcomer comes", "update comes", "download comes", "update begins", "update ends", "download begins",
                                "download ends", "newcomer begins", "newcomer ends"));
}

TEST_F(TurnsOfAThread, AreTakenAtOnceAgainWhenNothingWasLateForAWhile) {
  const Instant now = os::monotonic_now();
  RequestTurns request;
  turns_.observe(Millis(2), now);
  EXPECT_FALSE(turns_.take_at_once(request));
  turns_.observe(Millis(0), now + Millis(99));
  EXPECT_FALSE(turns_.take_at_once(request));
  EXPECT_EQ(request.taken, 0u);
  turns_.observe(Millis(1), now + Millis(100));
  EXPECT_TRUE(turns_.take_at_once(request));
  EXPECT_EQ(request.taken, 1u);
}

// Whoever waits when the server ends is given up with the thread.
TEST_F(TurnsOfAThread, AreForgottenWithIt) {
  turns_.observe(Millis(10), os::monotonic_now());
  comes("a", Work::newcomer);
  comes("b", Work::newcomer);
  context_.poll_one();  // a asks, b has not begun
  EXPECT_TRUE(log_.empty());
}

}  // namespace
}  // namespace coterie
