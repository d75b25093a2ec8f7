// The vault of a round: what was sealed is read again with its key, and with nothing else.
#include "device_sdk/agent/round_vault.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {
namespace {

class RoundVaultTest : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return directory_ / name; }

  TemporaryDirectory directory_{memory_disk()};
  RoundVault vault_{directory_.path()};
};

TEST_F(RoundVaultTest, ReadsWhatItWroteInEachLife) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{70'000}}) {
    ASSERT_OK(vault_.write_file("x", Bytes(size, 5)));
    const Result<Bytes> again = RoundVault(directory_.path()).read_file("x", 100'000);
    ASSERT_OK(again);
    EXPECT_TRUE(*again == Bytes(size, 5));
  }
  struct stat info {};
  ASSERT_EQ(::stat(in("round.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(RoundVaultTest, AChangedByteOrAnotherNameOpensNothing) {
  ASSERT_OK(vault_.write_file("x", Bytes(40, 5)));
  const Bytes whole = *os::read_file(in("x"), 1'000);
  for (size_t i = 0; i + 8 < whole.size(); ++i) {  // not the mark: without it a file is plain
    Bytes damaged = whole;
    damaged[i] ^= 1;
    ASSERT_OK(os::write_file_atomically(in("x"), damaged));
    EXPECT_ERROR(vault_.read_file("x", 1'000), ErrorCode::data_loss, "does not open") << "byte " << i;
  }
  ASSERT_OK(os::write_file_atomically(in("y"), whole));
  EXPECT_ERROR(vault_.read_file("y", 1'000), ErrorCode::data_loss, "does not open");
}

TEST_F(RoundVaultTest, AfterTheEraseNothingOpensAndTheNextKeyIsAnother) {
  ASSERT_OK(vault_.write_file("x", Bytes(40, 5)));
  const Result<Bytes> sealed = vault_.seal(Bytes{1}, Bytes(32, 6));
  ASSERT_OK(sealed);
  const Bytes key = *os::read_file(in("round.key"), 100);
  ASSERT_OK(vault_.erase());
  EXPECT_FALSE(os::exists(in("round.key")));
  EXPECT_OK(vault_.erase()) << "a process that died behind the first goes on";
  EXPECT_ERROR(vault_.read_file("x", 1'000), ErrorCode::data_loss, "does not open");
  ASSERT_OK(vault_.write_file("z", Bytes(40, 5)));
  EXPECT_FALSE(*os::read_file(in("round.key"), 100) == key);
  std::array<uint8_t, 32> text{};
  EXPECT_ERROR(vault_.open(Bytes{1}, *sealed, text), ErrorCode::data_loss, "does not open");
}

// The process was killed while it overwrote the key: that round is over, and the next is not held up.
TEST_F(RoundVaultTest, AHalfErasedKeyOpensNothingAndIsReplaced) {
  ASSERT_OK(vault_.write_file("x", Bytes(40, 5)));
  for (const size_t size : {size_t{32}, size_t{7}}) {
    ASSERT_OK(os::write_file_atomically(in("round.key"), Bytes(size)));
    EXPECT_ERROR(vault_.read_file("x", 1'000), ErrorCode::data_loss, "does not open");
    EXPECT_OK(vault_.write_file("z", Bytes(4, 5)));
    const Bytes key = *os::read_file(in("round.key"), 100);
    EXPECT_EQ(key.size(), 32u);
    EXPECT_FALSE(key == Bytes(32)) << "nothing is ever sealed with zeros";
  }
}

TEST_F(RoundVaultTest, ASecretIsOfItsContext) {
  const Result<Bytes> sealed = vault_.seal(Bytes{1}, Bytes(32, 6));
  ASSERT_OK(sealed);
  std::array<uint8_t, 32> text{};
  EXPECT_OK(vault_.open(Bytes{1}, *sealed, text));
  EXPECT_EQ(text[31], 6);
  EXPECT_ERROR(vault_.open(Bytes{2}, *sealed, text), ErrorCode::data_loss, "does not open");
  EXPECT_EQ(text[31], 0);
}

}  // namespace
}  // namespace coterie::test
