// Ctrl-C at every moment: no process is left, and no file, whole or half.
#include <gmock/gmock.h>
#include <sched.h>

#include <csignal>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"

namespace coterie::integration {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class DemoInterrupted : public DemoTest {
 protected:
  // Long enough that it never ends by itself.
  std::vector<std::string> endless() const { return small({"--rounds", "100000"}); }

  void expect_nothing_left(DemoProcess& demo) {
    EXPECT_EQ(demo.wait(), 130) << demo.errors();
    EXPECT_THAT(demo.errors(), ::testing::EndsWith("interrupted; all processes ended, nothing is left behind\n"));
    EXPECT_EQ(demo.output(), "");
    EXPECT_THAT(processes_with(directory_.path()), IsEmpty());
    EXPECT_THAT(names_in(directory_.path()), IsEmpty());
  }
};

TEST_F(DemoInterrupted, BeforeTheServerStarts) {
  DemoProcess demo(directory_.path(), endless());
  ASSERT_TRUE(demo.wait_for("held out")) << demo.errors();
  demo.signal(SIGINT);
  expect_nothing_left(demo);
}

TEST_F(DemoInterrupted, WhileTheServerStarts) {
  DemoProcess demo(directory_.path(), endless());
  ASSERT_TRUE(demo.wait_for_path(run() + "/logs/server.log")) << demo.errors();
  demo.signal(SIGINT);
  expect_nothing_left(demo);
}

TEST_F(DemoInterrupted, WhenTheServerHasStarted) {
  DemoProcess demo(directory_.path(), endless());
  ASSERT_TRUE(demo.wait_for_path(run() + "/server/endpoints.json")) << demo.errors();
  demo.signal(SIGINT);
  expect_nothing_left(demo);
}

TEST_F(DemoInterrupted, WhileTheDevicesStart) {
  DemoProcess demo(directory_.path(), endless());
  ASSERT_TRUE(demo.wait_for_path(run() + "/logs/device-01.log")) << demo.errors();
  demo.signal(SIGINT);
  expect_nothing_left(demo);
}

TEST_F(DemoInterrupted, WhileDevicesEnroll) {
  DemoProcess demo(directory_.path(), endless());
  ASSERT_TRUE(demo.wait_for_path(run() + "/devices/03/state")) << demo.errors();
  demo.signal(SIGTERM);
  expect_nothing_left(demo);
}

TEST_F(DemoInterrupted, InTheMiddleOfARound) {
  DemoProcess demo(directory_.path(), endless());
  ASSERT_TRUE(demo.wait_for("\nround      3/")) << demo.errors();
  EXPECT_THAT(processes_with(run()), SizeIs(5));  // it, the server and three devices
  demo.signal(SIGINT);
  expect_nothing_left(demo);
}

TEST_F(DemoInterrupted, TwiceInARow) {
  DemoProcess demo(directory_.path(), endless());
  ASSERT_TRUE(demo.wait_for("\nround      1/")) << demo.errors();
  demo.signal(SIGINT);
  demo.signal(SIGINT);
  demo.signal(SIGHUP);
  expect_nothing_left(demo);
}

TEST_F(DemoInterrupted, AtTheEndIsEitherDoneOrGone) {
  DemoProcess demo(directory_.path(), small());
  ASSERT_TRUE(demo.wait_for("\nround 3/3")) << demo.errors();
  demo.signal(SIGINT);
  const int status = demo.wait();
  EXPECT_THAT(processes_with(directory_.path()), IsEmpty());
  if (status == 0) EXPECT_THAT(names_in(run()), SizeIs(5));
  else EXPECT_THAT(names_in(directory_.path()), IsEmpty()) << status;
}

TEST_F(DemoInterrupted, LeavesTheFolderThatWasThereBefore) {
  ASSERT_TRUE(os::make_directories(run()));
  DemoProcess demo(directory_.path(), endless());
  ASSERT_TRUE(demo.wait_for("\nround      1/")) << demo.errors();
  demo.signal(SIGINT);
  EXPECT_EQ(demo.wait(), 130);
  EXPECT_THAT(names_in(directory_.path()), ::testing::ElementsAre("run"));
  EXPECT_THAT(names_in(run()), IsEmpty());
}

TEST_F(DemoInterrupted, ByAKillThatCannotBeCaughtTakesItsProcessesAlong) {
  DemoProcess demo(directory_.path(), endless());
  ASSERT_TRUE(demo.wait_for("\nround      1/")) << demo.errors();
  demo.signal(SIGKILL);
  EXPECT_EQ(demo.wait(), 128 + SIGKILL);
  // The kernel ends them. A test that hangs here has found one that lives on.
  while (!processes_with(run()).empty()) ::sched_yield();
}

}  // namespace
}  // namespace coterie::integration
