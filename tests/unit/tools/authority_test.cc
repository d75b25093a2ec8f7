// Commands of an authority: its key, a device's, and what it says of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/os/file.h"
#include "secure/identity/device_certificate.h"
#include "secure/identity/key_file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie {
namespace {

using test::run_command;
using ::testing::HasSubstr;

Bytes bytes_of(std::string hex) {
  while (!hex.empty() && hex.back() == '\n') hex.pop_back();
  const auto bytes = from_hex(hex);
  EXPECT_OK(bytes);
  return bytes.value_or(Bytes());
}

class AuthorityCommands : public testing::Test {
 protected:
  test::TemporaryDirectory directory_;
  const std::string key_ = directory_ / "authority.key";
};

TEST_F(AuthorityCommands, CertifyADevicesKey) {
  const test::CommandOutcome made = run_command({"authority", "new", "--file", key_});
  ASSERT_EQ(made.code, ExitCode::ok) << made.err;
  struct stat file {};
  ASSERT_EQ(::stat(key_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  for (const std::string algorithm : {"ed25519", "p256"}) {
    std::vector<std::string> identity = {"device", "identity", "--state-dir", directory_ / algorithm};
    if (algorithm == "p256") identity.push_back("--p256");
    const test::CommandOutcome shown = run_command(identity);
    ASSERT_EQ(shown.code, ExitCode::ok) << shown.err;
    EXPECT_EQ(run_command({"device", "identity", "--state-dir", directory_ / algorithm}).out, shown.out) << "made once";
    ASSERT_TRUE(shown.out.starts_with(algorithm + " ")) << shown.out;
    const Bytes key = bytes_of(shown.out.substr(algorithm.size() + 1));
    const test::CommandOutcome certified =
        run_command({"authority", "certify", "--key", key_, "--device-key", to_hex(key), "--algorithm", algorithm});
    ASSERT_EQ(certified.code, ExitCode::ok) << certified.err;
    const KeyAlgorithm kind = algorithm == "p256" ? KeyAlgorithm::p256 : KeyAlgorithm::ed25519;
    EXPECT_TRUE(device_certificate_is_valid({kind, key, bytes_of(certified.out)}, bytes_of(made.out)));
  }
}

TEST_F(AuthorityCommands, NeverOverwriteAKeyOrMakeOneUnasked) {
  const test::CommandOutcome without =
      run_command({"authority", "certify", "--key", key_, "--device-key", std::string(64, '0')});
  EXPECT_NE(without.code, ExitCode::ok);
  EXPECT_THAT(without.err, HasSubstr("coterie authority new"));
  EXPECT_FALSE(os::exists(key_));
  const test::CommandOutcome made = run_command({"authority", "new", "--file", key_});
  ASSERT_EQ(made.code, ExitCode::ok);
  const test::CommandOutcome again = run_command({"authority", "new", "--file", key_});
  EXPECT_NE(again.code, ExitCode::ok);
  EXPECT_THAT(again.err, HasSubstr("never overwritten"));
  const auto kept = load_signer(key_);
  ASSERT_OK(kept);
  EXPECT_EQ((*kept)->public_key(), bytes_of(made.out));
}

TEST_F(AuthorityCommands, RefuseWhatIsNoKey) {
  ASSERT_EQ(run_command({"authority", "new", "--file", key_}).code, ExitCode::ok);
  for (const std::string device_key :
       {"", "zz", "00", "0000000000000000000000000000000000000000000000000000000000000000"}) {
    const test::CommandOutcome refused =
        run_command({"authority", "certify", "--key", key_, "--device-key", device_key});
    EXPECT_NE(refused.code, ExitCode::ok) << device_key;
    EXPECT_EQ(refused.out, "");
  }
  EXPECT_THAT(run_command({"device", "run", "--server", "https://h:1", "--state-dir", "d", "--data", "f",
                           "--authority-key", "00"})
                  .err,
              HasSubstr("--authority-key: must be 64 hexadecimal digits"));
  EXPECT_THAT(run_command({"device", "run", "--server", "https://h:1", "--state-dir", "d", "--data", "f",
                           "--certificate", "00"})
                  .err,
              HasSubstr("--certificate: must be 128 hexadecimal digits"));
}

}  // namespace
}  // namespace coterie
