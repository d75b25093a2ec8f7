// Commands of an authority: its key, a device's, and what it says of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "secure/identity/device_certificate.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tools/cli/command_line.h"

namespace coterie {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  ExitCode code;
  std::string out, err;
};

Outcome run(const std::vector<std::string>& words) {
  Invocation invocation;
  const Parsed parsed = parse_command_line(words, invocation);
  if (!parsed.runs) return {ExitCode::usage, "", parsed.text};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const ExitCode code = invocation.run();
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

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
  const Outcome made = run({"authority", "new", "--file", key_});
  ASSERT_EQ(made.code, ExitCode::ok) << made.err;
  struct stat file{};
  ASSERT_EQ(::stat(key_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  for (const std::string algorithm : {"ed25519", "p256"}) {
    std::vector<std::string> identity = {"device", "identity", "--state-dir", directory_ / algorithm};
    if (algorithm == "p256") identity.push_back("--p256");
    const Outcome shown = run(identity);
    ASSERT_EQ(shown.code, ExitCode::ok) << shown.err;
    EXPECT_EQ(run({"device", "identity", "--state-dir", directory_ / algorithm}).out, shown.out) << "made once";
    ASSERT_TRUE(shown.out.starts_with(algorithm + " ")) << shown.out;
    const Bytes key = bytes_of(shown.out.substr(algorithm.size() + 1));
    const Outcome certified =
        run({"authority", "certify", "--key", key_, "--device-key", to_hex(key), "--algorithm", algorithm});
    ASSERT_EQ(certified.code, ExitCode::ok) << certified.err;
    const KeyAlgorithm kind = algorithm == "p256" ? KeyAlgorithm::p256 : KeyAlgorithm::ed25519;
    EXPECT_TRUE(device_certificate_is_valid({kind, key, bytes_of(certified.out)}, bytes_of(made.out)));
  }
}

TEST_F(AuthorityCommands, NeverOverwriteAKeyOrMakeOneUnasked) {
  const Outcome without = run({"authority", "certify", "--key", key_, "--device-key", std::string(64, '0')});
  EXPECT_NE(without.code, ExitCode::ok);
  EXPECT_THAT(without.err, HasSubstr("coterie authority new"));
  ASSERT_EQ(run({"authority", "new", "--file", key_}).code, ExitCode::ok);
  const Outcome again = run({"authority", "new", "--file", key_});
  EXPECT_NE(again.code, ExitCode::ok);
  EXPECT_THAT(again.err, HasSubstr("never overwritten"));
}

TEST_F(AuthorityCommands, RefuseWhatIsNoKey) {
  ASSERT_EQ(run({"authority", "new", "--file", key_}).code, ExitCode::ok);
  for (const std::string device_key : {"", "zz", "00", "0000000000000000000000000000000000000000000000000000000000000000"}) {
    const Outcome refused = run({"authority", "certify", "--key", key_, "--device-key", device_key});
    EXPECT_NE(refused.code, ExitCode::ok) << device_key;
    EXPECT_EQ(refused.out, "");
  }
  EXPECT_THAT(run({"device", "run", "--server", "https://h:1", "--state-dir", "d", "--data", "f", "--authority-key", "00"}).err,
              HasSubstr("--authority-key: must be 64 hexadecimal digits"));
  EXPECT_THAT(run({"device", "run", "--server", "https://h:1", "--state-dir", "d", "--data", "f", "--certificate", "00"}).err,
              HasSubstr("--certificate: must be 128 hexadecimal digits"));
}

}  // namespace
}  // namespace coterie
