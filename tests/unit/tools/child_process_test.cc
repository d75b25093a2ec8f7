// Child processes of a demo, what is read out of their logs, and what a demo says about them.
#include "tools/demo/child_process.h"

#include <gmock/gmock.h>

#include <csignal>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tools/cli/interrupt.h"
#include "tools/demo/demo_server.h"
#include "tools/demo/fleet.h"

namespace coterie {
namespace {

using testing::HasSubstr;

class ChildTest : public testing::Test {
 protected:
  ChildTest() { Interrupt::install(); }

  Result<Child> shell(const std::string& script) {
    return Child::start({.name = "the child",
                         .command = {"/bin/sh", "-c", script},
                         .environment = {"GREETING=hello"},
                         .log_file = directory_ / "log"});
  }
  std::string log() const {
    const auto bytes = os::read_file(directory_ / "log", 1 << 16);
    return bytes ? std::string(as_text(*bytes)) : "";
  }
  // Until the child has said so much.
  void wait_for_log(const std::string& text) {
    while (log().find(text) == std::string::npos) {
    }
  }

  test::TemporaryDirectory directory_;
};

TEST_F(ChildTest, WritesWhatItSaysToItsLogAndSeesItsEnvironment) {
  auto child = shell("echo $GREETING; echo oops >&2");
  ASSERT_OK(child);
  child->reap();
  EXPECT_TRUE(child->succeeded());
  EXPECT_EQ(log(), "hello\noops\n");
}

TEST_F(ChildTest, LeavesAnObituaryWithItsLastWords) {
  auto child = shell("echo '{\"event\":\"start\"}'; echo '{\"event\":\"end\",\"error\":\"no memory\"}'; exit 3");
  ASSERT_OK(child);
  child->reap();
  EXPECT_FALSE(child->succeeded());
  EXPECT_EQ(child->obituary(), "the child ended with exit code 3: no memory (log: " + directory_ / "log" + ")");
  auto killed = shell("kill -9 $$");
  ASSERT_OK(killed);
  killed->reap();
  EXPECT_TRUE(killed->was_killed_by(SIGKILL));
  EXPECT_THAT(killed->obituary(), HasSubstr("was killed by signal 9"));
}

TEST_F(ChildTest, IsAnErrorAtOnceWhereTheProgramDoesNotExist) {
  EXPECT_ERROR(
      Child::start({.name = "x", .command = {"/no/such/program"}, .environment = {}, .log_file = directory_ / "log"}),
      ErrorCode::not_found, "cannot run /no/such/program: No such file");
}

TEST_F(ChildTest, DiesWithItsOwner) {
  int pid = 0;
  {
    auto child = shell("trap '' TERM INT; echo ready; while :; do :; done");
    ASSERT_OK(child);
    pid = child->pid();
    wait_for_log("ready");
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(ChildTest, IsAskedToEndAndKilledOnlyIfItDoesNot) {
  auto polite = shell("trap 'echo bye; exit 0' TERM; echo one; while :; do :; done");
  ASSERT_OK(polite);
  wait_for_log("one");
  stop_children({&*polite}, Millis{60'000});
  EXPECT_TRUE(polite->succeeded());
  EXPECT_THAT(log(), HasSubstr("bye"));

  auto stubborn = shell("trap '' TERM; echo two; while :; do :; done");
  ASSERT_OK(stubborn);
  wait_for_log("two");
  stop_children({&*stubborn, &*polite}, Millis{1});
  EXPECT_TRUE(stubborn->was_killed_by(SIGKILL));
}

TEST(LogWords, AreTheErrorOfALineOfJsonOrElseTheEventOrElseTheLine) {
  EXPECT_EQ(words_of_log_line(R"({"event":"e","error":"why"})"), "why");
  EXPECT_EQ(words_of_log_line(R"({"event":"e","error":""})"), "e");
  EXPECT_EQ(words_of_log_line(R"({"event":7})"), R"({"event":7})");
  EXPECT_EQ(words_of_log_line("plain words"), "plain words");
  EXPECT_EQ(last_words("/no/such/log"), "");
}

TEST(LogWords, TellInHowManyRoundsADeviceTrained) {
  EXPECT_EQ(rounds_in_log(""), 0u);
  EXPECT_EQ(rounds_in_log("{\"rounds_done\":2}\n{\"rounds_done\":11}\n{\"rounds_done\":0}\n{\"rounds_done\":"), 11u);
}

TEST(MetricValue, IsFoundByItsWholeName) {
  const std::string text = "# HELP a_sum x\na_sum_total 3\na_sum 2.5\nb 1\n";
  EXPECT_EQ(metric_value(text, "a_sum"), 2.5);
  EXPECT_EQ(metric_value(text, "sum"), 0);
}

}  // namespace
}  // namespace coterie
