#include "base/os/temporary_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::os {
namespace {

using testing::ElementsAre;

class TemporaryFileTest : public testing::Test {
 protected:
  std::vector<std::string> names() const { return *list_directory(directory_.path()); }
  std::string path() const { return directory_ / "a"; }
  // What a killed process leaves: bytes under the name of a temporary, and no lock on them.
  void abandon(const std::string& name) const { ASSERT_OK(File::create(directory_ / name)); }

  test::TemporaryDirectory directory_{test::memory_disk()};
};

// A process of its own that has begun to write `path`.
class Writer {
 public:
  explicit Writer(const std::string& path) {
    int ends[2];
    COT_ASSERT(::pipe2(ends, O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      Result<AtomicFile> file = AtomicFile::create(path);
      const bool has_begun = file && file->write(as_bytes("half of"));
      if (has_begun && ::write(ends[1], "x", 1) == 1) ::pause();
      ::_exit(1);
    }
    ::close(ends[1]);
    char byte = 0;
    began_ = ::read(ends[0], &byte, 1) == 1;
    ::close(ends[0]);
  }
  ~Writer() { kill(); }
  bool began() const { return began_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool began_ = false;
};

TEST_F(TemporaryFileTest, OfAKilledProcessGoesWithTheNextWriteAndNotBeforeItIsDead) {
  Writer writer(path());
  ASSERT_TRUE(writer.began());
  EXPECT_THAT(names(), ElementsAre("a.unfinished.0"));
  EXPECT_OK(write_file_atomically(path(), as_bytes("whole")));
  remove_abandoned(path());
  EXPECT_THAT(names(), ElementsAre("a", "a.unfinished.0")) << "its writer lives";
  writer.kill();
  EXPECT_THAT(names(), ElementsAre("a", "a.unfinished.0"));
  EXPECT_OK(write_file_atomically(path(), as_bytes("again")));
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(TemporaryFileTest, OfAnotherThreadIsLeftAlone) {
  Result<AtomicFile> mine = AtomicFile::create(path());
  ASSERT_OK(mine);
  ASSERT_OK(mine->write(as_bytes("mine")));
  std::thread([this] {
    remove_abandoned(path());
    EXPECT_OK(write_file_atomically(path(), as_bytes("the thread's")));
  }).join();
  EXPECT_THAT(names(), ElementsAre("a", "a.unfinished.0"));
  EXPECT_OK(mine->commit());
  EXPECT_EQ(as_text(*read_file(path(), 100)), "mine");
}

TEST_F(TemporaryFileTest, IsRemovedWhenAbandonedAlsoBehindGaps) {
  for (const char* name : {"a.unfinished.0", "a.unfinished.1", "a.unfinished.5", "a.unfinished.9"}) abandon(name);
  EXPECT_OK(write_file_atomically(path(), {}));
  EXPECT_THAT(names(), ElementsAre("a"));
  abandon("a.unfinished.3");
  remove_abandoned(path());
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(TemporaryFileTest, OfAnotherNameIsLeftAlone) {
  const std::vector<std::string> others = {"a.unfinished.", "a.unfinished.00", "a.unfinished.x", "b.unfinished.0"};
  for (const std::string& name : others) abandon(name);
  EXPECT_OK(write_file_atomically(path(), {}));
  EXPECT_OK(remove_file(path()));
  EXPECT_EQ(names(), others);
}

// In a directory where others write, too, there may be anything.
TEST_F(TemporaryFileTest, GoesRoundWhatIsNoFile) {
  abandon("theirs");
  ASSERT_EQ(::symlink((directory_ / "theirs").c_str(), (directory_ / "a.unfinished.0").c_str()), 0);
  ASSERT_OK(make_directories(directory_ / "a.unfinished.1"));
  ASSERT_EQ(::mkfifo((directory_ / "a.unfinished.2").c_str(), 0600), 0);
  EXPECT_OK(write_file_atomically(path(), as_bytes("whole")));
  EXPECT_EQ(as_text(*read_file(path(), 100)), "whole");
  EXPECT_THAT(names(), ElementsAre("a", "a.unfinished.0", "a.unfinished.1", "a.unfinished.2", "theirs"));
  EXPECT_EQ(read_file(directory_ / "theirs", 100)->size(), 0u);
}

TEST_F(TemporaryFileTest, ThatSomebodyRemovedIsNotTakenForTheNextWriters) {
  Result<AtomicFile> first = AtomicFile::create(path());
  ASSERT_OK(first);
  ASSERT_OK(first->write(as_bytes("first")));
  ASSERT_OK(remove_file(directory_ / "a.unfinished.0"));
  Result<AtomicFile> second = AtomicFile::create(path());
  ASSERT_OK(second);
  ASSERT_OK(second->write(as_bytes("second, half")));
  EXPECT_EQ(second->file().path(), first->file().path());
  EXPECT_ERROR(first->commit(), ErrorCode::conflict, "a.unfinished.0 was removed or replaced");
  EXPECT_THAT(names(), ElementsAre("a.unfinished.0"));
  EXPECT_OK(second->commit());
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(TemporaryFileTest, SaysThatThereAreTooMany) {
  for (int slot = 0; slot < 1024; ++slot) {
    ASSERT_OK(make_directories(directory_ / ("a.unfinished." + std::to_string(slot))));
  }
  EXPECT_ERROR(write_file_atomically(path(), {}), ErrorCode::unavailable, "1024 unfinished files lie beside it");
}

TEST_F(TemporaryFileTest, IsOneOfManyWhenManyWriteTheSameNameAtOnce) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([this, writer] {
      const Bytes whole(10'000, static_cast<uint8_t>('0' + writer));
      for (int i = 0; i < 200; ++i) {
        EXPECT_OK(write_file_atomically(path(), whole));
        const Bytes read = *read_file(path(), 1 << 20);
        ASSERT_EQ(read.size(), whole.size());
        ASSERT_EQ(std::count(read.begin(), read.end(), read.front()), 10'000);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_THAT(names(), ElementsAre("a"));
}

}  // namespace
}  // namespace coterie::os
