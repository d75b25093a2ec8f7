#include "tools/vertical/grown_log.h"

#include <gtest/gtest.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

class GrownLogTest : public ::testing::Test {
 protected:
  Result<GrownLog> open() const { return GrownLog::open(file_); }
  void put_three() const {
    Result<GrownLog> log = open();
    ASSERT_OK(log);
    for (const uint32_t number : {0u, 1u, 2u}) ASSERT_OK(log->put(number, Bytes(5 + number, 7)));
  }

  test::TemporaryDirectory directory_{test::memory_disk()};
  const std::string file_ = directory_ / "grown";
};

TEST_F(GrownLogTest, KnowsAgainWhatItKept) {
  put_three();
  Result<GrownLog> log = open();
  ASSERT_OK(log);
  const std::vector<Bytes> expected = {Bytes(5, 7), Bytes(6, 7), Bytes(7, 7)};
  EXPECT_EQ(*log->read(), expected);
}

TEST_F(GrownLogTest, WhatIsDoneAgainMustComeOutTheSame) {
  put_three();
  Result<GrownLog> log = open();
  ASSERT_OK(log);
  ASSERT_OK(log->put(1, Bytes(6, 7)));
  EXPECT_EQ(log->read()->size(), 3u);
  EXPECT_ERROR(log->put(1, Bytes(6, 8)), ErrorCode::data_loss, "number 1 of the training came out otherwise");
  ASSERT_OK(log->put(3, {}));
  EXPECT_EQ(open()->read()->size(), 4u);
}

TEST_F(GrownLogTest, ForgetsWhatWasCutOffWhileItWasWritten) {
  put_three();
  const Bytes whole = *os::read_file(file_, 1'000);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    ASSERT_OK(os::write_file_atomically(file_, ByteView(whole).first(bytes)));
    Result<GrownLog> log = open();
    ASSERT_OK(log);
    const size_t kept = log->read()->size();
    EXPECT_LT(kept, 3u);
    for (auto number = static_cast<uint32_t>(kept); number < 3; ++number) {
      ASSERT_OK(log->put(number, Bytes(5 + number, 7)));
    }
    EXPECT_EQ(*os::read_file(file_, 1'000), whole) << "cut behind " << bytes << " bytes";
  }
}

TEST_F(GrownLogTest, TellsThatItIsNotAsItWasWritten) {
  put_three();
  Result<GrownLog> log = open();
  ASSERT_OK(log);
  Bytes changed = *os::read_file(file_, 1'000);
  changed[changed.size() / 2] ^= 1;
  ASSERT_OK(os::write_file_atomically(file_, changed));
  EXPECT_ERROR(log->read(), ErrorCode::data_loss, "it is not as it was written");
}

}  // namespace
}  // namespace coterie
