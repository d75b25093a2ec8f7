// The parts of a server that need others: each on its own, without the rest of the server.
#include "fl_server/admin_api/admin_service.h"
#include "fl_server/app/admin_side.h"
#include "fl_server/app/device_door.h"
#include "fl_server/app/device_side.h"
#include "fl_server/app/fleet_side.h"
#include "fl_server/app/network_threads.h"
#include "fl_server/app/round_side.h"
#include "fl_server/app/serving.h"
#include "fl_server/device_api/device_service.h"
#include "fl_server/runtime/round_scheduler.h"
#include "tests/unit/fl_server/app/parts_world.h"

namespace coterie {
namespace {

class ServerSides : public test::PartsWorld {
 protected:
  void build() {
    ASSERT_NO_FATAL_FAILURE(open());
    rounds_ = std::make_unique<RoundSide>(config_, *keys_, *stores_, *observers_);
    devices_ = std::make_unique<DeviceSide>(config_, "0123456789abcdef", *keys_, *stores_, *observers_, *http_);
  }
  Result<std::unique_ptr<FleetSide>> fleet() {
    return FleetSide::open(config_, "0123456789abcdef",
                           {.keys = *keys_,
                            .stores = *stores_,
                            .scheduler = rounds_->scheduler(),
                            .devices = *devices_,
                            .observers = *observers_,
                            .http = *http_});
  }
  Result<std::unique_ptr<DeviceDoor>> device_door() {
    return DeviceDoor::open(config_, *keys_, *stores_, *devices_, rounds_->scheduler().cohorts(), *http_);
  }
  Result<std::unique_ptr<AdminSide>> admin() {
    return AdminSide::open(config_, os::wall_now(),
                           {.keys = *keys_,
                            .stores = *stores_,
                            .scheduler = rounds_->scheduler(),
                            .devices = *devices_,
                            .fleet = nullptr,
                            .observers = *observers_,
                            .http = *http_});
  }
  static uint16_t port_of(const std::string& url) {
    return static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }

  std::unique_ptr<RoundSide> rounds_;
  std::unique_ptr<DeviceSide> devices_;
};

TEST_F(ServerSides, OfDevicesSayHowMuchOfTheirLimitsIsInUse) {
  config_.desk.waiters_max = 400;
  build();
  const NodeLoad load = devices_->load(100);
  EXPECT_EQ(load.waiters, 0.25);
  EXPECT_EQ(load.bytes, 0);
  EXPECT_EQ(load.connections, 0) << "also before anybody listens";
  EXPECT_FALSE(devices_->is_leaving());
}

TEST_F(ServerSides, HaveNoFleetWhereTheStoreIsNotShared) {
  build();
  const auto side = fleet();
  ASSERT_OK(side);
  EXPECT_EQ(*side, nullptr);
}

TEST_F(ServerSides, ListenWhereTheConfigurationSays) {
  build();
  const auto door = device_door();
  ASSERT_OK(door);
  EXPECT_TRUE((*door)->url().starts_with("https://127.0.0.1:")) << (*door)->url();
  EXPECT_NE(port_of((*door)->url()), 0) << "the port that the system chose";
}

TEST_F(ServerSides, DoNotListenForDevicesWhereTheServerOnlyLeads) {
  config_.role = ServerRole::scheduler;
  build();
  const auto door = device_door();
  ASSERT_OK(door);
  EXPECT_EQ((*door)->url(), "");
}

TEST_F(ServerSides, NameTheAddressThatTheyCannotListenOn) {
  build();
  const auto door = device_door();
  ASSERT_OK(door);
  config_.admin.port = port_of((*door)->url());
  EXPECT_ERROR(admin(), ErrorCode::unavailable,
               "cannot listen on " + config_.admin.address + ":" + std::to_string(config_.admin.port));
  config_.admin.port = 0;
  EXPECT_OK(admin());
}

// The machines call each other: all have stopped before one of them goes, whichever goes first.
TEST_F(ServerSides, StopServingBeforeThePartsGo) {
  build();
  auto serving = Serving::alone(rounds_->scheduler(), devices_->plane());
  ASSERT_OK(serving);
  const auto door = device_door();
  ASSERT_OK(door);
  auto network = std::make_unique<NetworkThreads>(*http_);
  network.reset();
  (*serving)->send_away();
  serving->reset();
  EXPECT_TRUE(rounds_->scheduler().status().jobs.empty());
}

}  // namespace
}  // namespace coterie
