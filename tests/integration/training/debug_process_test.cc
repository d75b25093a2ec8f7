// coterie model debug in a pipe, and under signals.
#include <gmock/gmock.h>

#include <sched.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class DebugProcess : public DemoTest {
 protected:
  void SetUp() override {
    DemoProcess made(directory_.path(), {"model", "new", "cnn", "--input", "8x8x1", "--seed", "7", "-o", "net.cotf"});
    ASSERT_EQ(made.wait(), 0) << made.errors();
  }

  DemoSurroundings typed(const std::string& commands) {
    const std::string file = directory_ / "commands";
    EXPECT_TRUE(test::is_ok(os::write_file_atomically(file, as_bytes(commands))));
    return {.input = file};
  }
  std::vector<std::string> debug(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"model", "debug", "net.cotf", "--data", "digits", "--epochs", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(DebugProcess, AScriptFindsWhereATrainingGoesWrong) {
  DemoProcess debugger(directory_.path(), debug({"--lr", "1e6"}),
                       typed("watch operator_overflow\ncontinue\nwhere\nback\nstats conv1.weight\n"));
  EXPECT_EQ(debugger.wait(), 0) << debugger.errors() << debugger.output();
  EXPECT_THAT(debugger.output(), HasSubstr("(start) watch operator_overflow\n"));
  EXPECT_THAT(debugger.output(), HasSubstr("operator_overflow hit here: "));
  EXPECT_THAT(debugger.output(), HasSubstr("parameter behind the step of conv1"));
}

TEST_F(DebugProcess, ACommandThatCannotBeCarriedOutIsItsExitCode) {
  DemoProcess debugger(directory_.path(), debug(), typed("stpe\nstep\nquit\n"));
  EXPECT_EQ(debugger.wait(), 1);
  EXPECT_THAT(debugger.output(), HasSubstr("Did you mean `step`?"));
  EXPECT_THAT(debugger.output(), HasSubstr("step 0  loss ")) << "it goes on";
}

TEST_F(DebugProcess, AFolderOfRecordsTakesNoOptions) {
  DemoProcess training(directory_.path(), {"model", "train", "net.cotf", "--data", "digits", "--epochs", "1",
                                           "--record", "steps", "--record-every", "50"});
  ASSERT_EQ(training.wait(), 0) << training.errors();
  DemoProcess plain(directory_.path(), {"model", "debug", "steps"}, typed("quit\n"));
  EXPECT_EQ(plain.wait(), 0) << plain.errors();
  DemoProcess refused(directory_.path(), {"model", "debug", "steps", "--data", "digits", "--lr", "3"}, typed("quit\n"));
  EXPECT_EQ(refused.wait(), 2);
  EXPECT_THAT(refused.errors(), HasSubstr("--data, --lr: steps is a folder of records"));
}

TEST_F(DebugProcess, ControlCStopsWhatRunsAndComesBack) {
  ::setenv("TMPDIR", directory_.path().c_str(), 1);
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  DemoProcess debugger(directory_.path(), debug({"--epochs", "1000000"}), {.input = pipe});
  std::FILE* const commands = std::fopen(pipe.c_str(), "w");
  ASSERT_NE(commands, nullptr);
  std::fputs("step\ncontinue\n", commands);
  std::fflush(commands);
  while (debugger.output().find("(step 0) continue\n") == std::string::npos) {
    ::sched_yield();
  }
  debugger.signal(SIGINT);
  std::fputs("where\nquit\n", commands);
  std::fclose(commands);
  EXPECT_EQ(debugger.wait(), 0) << debugger.output();
  EXPECT_THAT(debugger.output(), HasSubstr("stopped\nstep "));
  EXPECT_THAT(debugger.output(), HasSubstr(") where\n"));
  ::unsetenv("TMPDIR");
  EXPECT_THAT(names_in(directory_.path()), Each(Not(HasSubstr("coterie-debug-")))) << "its checkpoints are gone";
}

}  // namespace
}  // namespace coterie::integration
