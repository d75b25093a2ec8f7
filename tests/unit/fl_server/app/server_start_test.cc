// A server that cannot start says why, and leaves nothing behind that keeps the next one from starting.
#include <filesystem>

#include "base/os/file.h"
#include "fl_server/app/server.h"
#include "tests/unit/fl_server/app/parts_world.h"

namespace coterie {
namespace {

class ServerStart : public test::PartsWorld {
 protected:
  Result<std::unique_ptr<Server>> start() {
    return Server::start(config_, [](const std::string&) {});
  }
  std::string endpoints() { return config_.data_dir + "/endpoints.json"; }
};

TEST_F(ServerStart, FailsByNameWhereAPortIsTakenAndLeavesTheDirectoryFree) {
  const auto other = start();
  ASSERT_OK(other);
  const std::string url = (*other)->admin_url();
  config_.data_dir = directory_ / "data-1";
  config_.admin.port = static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  EXPECT_ERROR(start(), ErrorCode::unavailable, "cannot listen on 127.0.0.1:" + std::to_string(config_.admin.port));
  EXPECT_FALSE(os::exists(endpoints())) << "nobody can be reached there";
  config_.admin.port = 0;
  EXPECT_OK(start()) << "on the same directory, whose lock is free";
}

// The last step that can fail: by then everything runs.
TEST_F(ServerStart, StopsWhatRunsWhereItsEndpointsCannotBeWritten) {
  std::filesystem::create_directories(endpoints() + "/in-the-way");
  const auto failed = start();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message().find("endpoints.json"), std::string::npos) << failed.error().message();
  std::filesystem::remove_all(endpoints());
  const auto again = start();
  ASSERT_OK(again);
  EXPECT_TRUE(os::exists(endpoints()));
}

TEST_F(ServerStart, TakesItsEndpointsAwayWhenItStops) {
  const auto server = start();
  ASSERT_OK(server);
  ASSERT_TRUE(os::exists(endpoints()));
  (*server)->stop();
  EXPECT_FALSE(os::exists(endpoints()));
  (*server)->stop();  // a second time changes nothing
  EXPECT_EQ((*server)->admin_url().substr(0, 8), "https://") << "and it still says where it was";
}

}  // namespace
}  // namespace coterie
