// A full disk: nothing is acknowledged that is not durable, the server stays up, and goes on when there is room.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <thread>

#include "base/os/file.h"
#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

// A file system of a few megabytes, mounted where the server keeps its data.
class FullDisk : public ServerTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(test::is_ok(os::make_directories(directory_ / "data")));
    if (::mount("tmpfs", (directory_ / "data").c_str(), "tmpfs", 0, "size=16m") != 0) {
      GTEST_SKIP() << "needs the right to mount a small file system (root)";
    }
    mounted_ = true;
    start();
  }
  void TearDown() override {
    server_.reset();
    if (mounted_) ::umount2((directory_ / "data").c_str(), MNT_DETACH);
  }

  void fill() {
    ballast_ = directory_ / "data/ballast";
    const int fd = ::open(ballast_.c_str(), O_CREAT | O_WRONLY, 0600);
    ASSERT_GE(fd, 0);
    const std::vector<char> block(4096);
    while (::write(fd, block.data(), block.size()) > 0) {
    }
    ::close(fd);
  }
  void make_room() { ::unlink(ballast_.c_str()); }

  std::string ballast_;
  bool mounted_ = false;
};

TEST_F(FullDisk, RefusesUpdatesWithAReasonAndCountsThemOnceThereIsRoom) {
  constexpr size_t kValues = 65'536;
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, 1));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  const auto assignment = device->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  fill();
  const auto refused = device->upload(*assignment, one_hot(kValues, 9));
  EXPECT_EQ(failure_of(refused).code(), ErrorCode::storage_full) << failure_of(refused).message();
  const auto job_refused = admin_->call("POST", "/admin/v1/models", flat_model(kValues * 2));
  ASSERT_TRUE(test::is_ok(job_refused));
  EXPECT_EQ(job_refused->status, 507);
  make_room();
  const auto accepted = device->upload_until_decided(*assignment, one_hot(kValues, 9));
  ASSERT_TRUE(std::holds_alternative<Receipt>(accepted)) << failure_of(accepted).message();
  ASSERT_TRUE(wait_for_model(1));
  const auto weights = admin_->download_weights(*job, 1);
  ASSERT_TRUE(test::is_ok(weights));
  EXPECT_FLOAT_EQ((*weights)[9], 1.0f);
}

TEST_F(FullDisk, BetweenAcceptanceAndTheModelOnlyDelaysTheRound) {
  constexpr size_t kValues = 65'536;
  nlohmann::json spec = spec_for(2, 1);
  spec["rounds"]["collecting_ms_max"] = 1'500;
  spec["rounds"]["goal_count_min"] = 1;
  const auto job = admin_->create_job(flat_model(kValues), spec);
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  const auto other = enrolled_device();
  std::thread idle([&] { (void)other->wait_for_assignment(kPatience); });
  const auto assignment = device->wait_for_assignment(kPatience);
  idle.join();
  ASSERT_TRUE(test::is_ok(assignment));
  ASSERT_TRUE(std::holds_alternative<Receipt>(device->upload_until_decided(*assignment, one_hot(kValues, 4))));
  fill();  // the deadline passes, and the round can neither be frozen nor made into a model
  ASSERT_TRUE(server_->wait_for_log("database or disk is full", kPatience)) << server_->log();
  make_room();
  ASSERT_TRUE(wait_for_model(1));
  const auto weights = admin_->download_weights(*job, 1);
  ASSERT_TRUE(test::is_ok(weights));
  EXPECT_FLOAT_EQ((*weights)[4], 1.0f);
}

// Whoever was told "accepted" asks again, and who needs the model gets it, also of a server that can write nothing.
TEST_F(FullDisk, IsEnoughToStartAndToGiveWhatIsThere) {
  constexpr size_t kValues = 4'096;
  const auto job = admin_->create_job(flat_model(kValues), spec_for(2, 1));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device(), other = enrolled_device();
  std::thread waits([&] { (void)other->wait_for_assignment(kPatience); });
  const auto assignment = device->wait_for_assignment(kPatience);
  waits.join();
  ASSERT_TRUE(test::is_ok(assignment));
  const auto accepted = device->upload_until_decided(*assignment, one_hot(kValues, 7));
  ASSERT_TRUE(std::holds_alternative<Receipt>(accepted)) << failure_of(accepted).message();
  fill();
  server_->kill();
  fill();  // what it left unfinished is gone
  start();
  ASSERT_FALSE(HasFatalFailure());
  const auto again = device->upload_until_decided(*assignment, one_hot(kValues, 7));
  EXPECT_TRUE(std::holds_alternative<Receipt>(again)) << failure_of(again).message();
  EXPECT_TRUE(test::is_ok(admin_->download_weights(*job, 0)));
  make_room();
}

}  // namespace
}  // namespace coterie::integration
