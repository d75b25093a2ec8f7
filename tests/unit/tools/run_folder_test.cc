#include "tools/demo/run_folder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <barrier>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RunFolderTest : public testing::Test {
 protected:
  // A folder in the middle of a run.
  RunFolder used(const std::string& name, bool keeps_everything = false) {
    Result<RunFolder> folder = RunFolder::create(directory_ / name, keeps_everything);
    EXPECT_OK(folder);
    EXPECT_OK(os::make_directories(folder->device_dir(1)));
    for (const char* file : {"server/db", "devices/01/data.cotf", "logs/server.log", "model.cotf", "held-out.cotf",
                             "metrics.csv", "chart.svg", "chart.html", "job.json", "summary.json"}) {
      EXPECT_OK(folder->write(file, Bytes{1}));
    }
    return std::move(*folder);
  }
  std::vector<std::string> names(const std::string& path = ".") const { return *os::list_directory(directory_ / path); }

  test::TemporaryDirectory directory_;
};

TEST_F(RunFolderTest, KeepsTheResultsAloneWhenTheRunIsFinished) {
  used("run").finished();
  EXPECT_THAT(names("run"), ElementsAre("chart.html", "chart.svg", "held-out.cotf", "job.json", "metrics.csv",
                                        "model.cotf", "summary.json"));
}

TEST_F(RunFolderTest, KeepsTheLogsWhenTheRunFailed) {
  used("run").failed();
  EXPECT_THAT(names("run"), testing::AllOf(testing::Contains("logs"), testing::Not(testing::Contains("server")),
                                           testing::Not(testing::Contains("devices"))));
}

TEST_F(RunFolderTest, KeepsEverythingWhereItIsToldTo) {
  used("done", true).finished();
  EXPECT_THAT(names("done"), testing::IsSupersetOf({"server", "devices", "logs", "model.cotf"}));
}

TEST_F(RunFolderTest, LeavesNothingWhenTheRunIsInterruptedOrForgotten) {
  used("a/b/run").interrupted();
  EXPECT_THAT(names(), IsEmpty());
  { const RunFolder forgotten = used("a/run", true); }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(RunFolderTest, LeavesWhatItDidNotMake) {
  ASSERT_OK(os::make_directories(directory_ / "mine"));
  used("mine").interrupted();
  EXPECT_THAT(names(), ElementsAre("mine"));
  EXPECT_THAT(names("mine"), IsEmpty());
  RunFolder folder = used("shared/run");
  ASSERT_OK(os::make_directories(directory_ / "shared/another"));
  folder.interrupted();
  EXPECT_THAT(names("shared"), ElementsAre("another"));
}

TEST_F(RunFolderTest, TakesAnEmptyFolderAndNoOther) {
  ASSERT_OK(os::make_directories(directory_ / "empty"));
  EXPECT_OK(RunFolder::create(directory_ / "empty/", false));
  ASSERT_OK(os::make_directories(directory_ / "full/of"));
  EXPECT_ERROR(RunFolder::create(directory_ / "full", false), ErrorCode::conflict, "exists and is not empty");
  EXPECT_THAT(names("full"), ElementsAre("of"));
  ASSERT_OK(os::write_file_atomically(directory_ / "file", Bytes{1}));
  EXPECT_ERROR(RunFolder::create(directory_ / "file", false), ErrorCode::conflict, "not a directory");
}

TEST_F(RunFolderTest, BelongsToOneRunAtATime) {
  const auto first = RunFolder::create(directory_ / "run", false);
  ASSERT_OK(first);
  EXPECT_ERROR(RunFolder::create(directory_ / "run", false), ErrorCode::conflict, "give the run another folder");
  EXPECT_THAT(names("run"), ElementsAre("devices", "logs", "server"));
}

TEST_F(RunFolderTest, BelongsToOneOfManyThatBeginAtOnce) {
  constexpr int kDemos = 8;
  for (int attempt = 0; attempt < 50; ++attempt) {
    std::barrier start(kDemos);
    std::vector<std::optional<Result<RunFolder>>> folders(kDemos);
    std::vector<std::thread> demos;
    for (auto& folder : folders) {
      demos.emplace_back([&] {
        start.arrive_and_wait();
        folder.emplace(RunFolder::create(directory_ / std::to_string(attempt), false));
      });
    }
    for (std::thread& demo : demos) demo.join();
    EXPECT_EQ(std::ranges::count_if(folders, [](const auto& folder) { return folder->has_value(); }), 1);
  }
}

TEST_F(RunFolderTest, FindsANameOfItsOwnWhereNoneIsGiven) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  {
    std::vector<RunFolder> folders;
    for (int i = 0; i < 3; ++i) {
      Result<RunFolder> folder = RunFolder::create_default(false);
      ASSERT_OK(folder);
      EXPECT_THAT(folder->path(), testing::StartsWith("runs/demo-"));
      folders.push_back(std::move(*folder));
    }
    EXPECT_THAT(names("runs"), testing::SizeIs(3));
  }
  EXPECT_THAT(names("runs"), IsEmpty());
  std::filesystem::current_path(before);
}

TEST(DeviceLabel, HasTwoDigitsAtLeast) {
  EXPECT_EQ(device_label(1), "01");
  EXPECT_EQ(device_label(10), "10");
  EXPECT_EQ(device_label(1999), "1999");
}

}  // namespace
}  // namespace coterie
