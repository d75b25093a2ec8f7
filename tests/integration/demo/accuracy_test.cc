// What a newcomer sees first: the demo as it is by default learns, and soon.
#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/integration/demo/demo_process.h"

namespace coterie::integration {
namespace {

using DemoAccuracy = DemoTest;

TEST_F(DemoAccuracy, ReachesNinetyFivePercentWithinFortyRounds) {
  DemoProcess demo(directory_.path(), {"demo", "--json", "--seed", "1", "--rounds", "40", "--out", run()});
  int reached = 0;
  for (int round = 1; round <= 40 && reached == 0; ++round) {
    const std::string begin = (round < 10 ? "\nround  " : "\nround ") + std::to_string(round) + "/40";
    ASSERT_TRUE(demo.wait_for(begin)) << demo.errors();
    const size_t line = demo.errors().find(begin) + 1;
    ASSERT_TRUE(demo.wait_for(" %  ")) << demo.errors();
    const size_t accuracy = demo.errors().find("accuracy", line);
    if (std::stod(demo.errors().substr(accuracy + 8)) >= 95.0) reached = round;
  }
  EXPECT_GT(reached, 0) << demo.errors();
  RecordProperty("rounds", reached);
  demo.signal(SIGINT);
  demo.wait();
}

// Real devices that aggregate behind masks, some of which are put to sleep.
TEST_F(DemoAccuracy, LearnsBehindMasksThoughDevicesVanish) {
  DemoProcess demo(directory_.path(), {"demo", "--json", "--quiet", "--devices", "12", "--rounds", "8", "--security",
                                       "active", "--dropout", "0.15", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  const nlohmann::json summary = nlohmann::json::parse(demo.output());
  EXPECT_EQ(summary["security"], "active");
  EXPECT_GT(summary["accuracy"].get<double>(), 0.5) << summary;  // 0.1 untrained
  EXPECT_GT(summary["dropouts"].get<int>(), 0);
}

}  // namespace
}  // namespace coterie::integration
