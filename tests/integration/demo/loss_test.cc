// A demo that loses a process of its own.
#include <gmock/gmock.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/integration/demo/demo_process.h"

namespace coterie::integration {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using DemoLoss = DemoTest;

TEST_F(DemoLoss, StartsAKilledDeviceAgainAndGoesOn) {
  DemoProcess demo(directory_.path(), small({"--rounds", "40"}));
  ASSERT_TRUE(demo.wait_for("\nround  2/40")) << demo.errors();
  const std::vector<int> device = processes_with(run() + "/devices/02/");
  ASSERT_THAT(device, SizeIs(1));
  ::kill(device[0], SIGKILL);
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  EXPECT_THAT(demo.errors(), HasSubstr("device 2 was stopped from outside; started again"));
  const auto summary = nlohmann::json::parse(demo.output());
  EXPECT_EQ(summary["devices_restarted"], 1);
  EXPECT_EQ(summary["rounds"], 40);
}

TEST_F(DemoLoss, EndsWithTheReasonAndTheLogsWhenTheServerDies) {
  DemoProcess demo(directory_.path(), small({"--rounds", "100000"}));
  ASSERT_TRUE(demo.wait_for("\nround      2/")) << demo.errors();
  const std::vector<int> server = processes_with(std::string("--data-dir") + '\0' + run());
  ASSERT_THAT(server, SizeIs(1));
  ::kill(server[0], SIGKILL);
  EXPECT_EQ(demo.wait(), 1);
  EXPECT_THAT(demo.errors(), HasSubstr("\ncoterie demo: the server was killed by signal 9"));
  EXPECT_THAT(processes_with(directory_.path()), IsEmpty());
  EXPECT_THAT(names_in(run()), Contains("logs"));
  EXPECT_THAT(names_in(run()), Not(Contains("server")));
  EXPECT_THAT(names_in(run() + "/logs"), Contains("server.log"));
}

}  // namespace
}  // namespace coterie::integration
