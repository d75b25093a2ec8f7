// Commands of an authority: its key, a device's, and what it says of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/os/file.h"
#include "proto/messages/secagg.h"
#include "secure/identity/authority_nonce.h"
#include "secure/identity/certificate_request.h"
#include "secure/identity/device_certificate.h"
#include "secure/identity/key_file.h"
#include "secure/identity/revocation_list.h"
#include "tests/support/certificates.h"
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
        run_command({"authority", "certify", "--key", key_, "--device-key", to_hex(key), "--algorithm", algorithm,
                     "--population", "phones", "--days", "7"});
    ASSERT_EQ(certified.code, ExitCode::ok) << certified.err;
    const KeyAlgorithm kind = algorithm == "p256" ? KeyAlgorithm::p256 : KeyAlgorithm::ed25519;
    const auto statement = read_device_certificate({kind, key, bytes_of(certified.out)}, bytes_of(made.out));
    ASSERT_OK(statement);
    EXPECT_EQ(statement->population, Population("phones"));
    EXPECT_EQ(statement->not_after - statement->not_before, std::chrono::days(7));
    EXPECT_FALSE(statement->has_lists);
    const std::string certificate = to_hex(bytes_of(certified.out)), authority = to_hex(bytes_of(made.out));
    const test::CommandOutcome said = run_command({"authority", "show", "--certificate", certificate, "--authority-key",
                                                   authority, "--device-key", to_hex(key), "--algorithm", algorithm});
    ASSERT_EQ(said.code, ExitCode::ok) << said.err;
    EXPECT_THAT(said.out, HasSubstr("serial      " + std::to_string(statement->serial) + "\npopulation  phones\n"));
    EXPECT_NE(run_command({"authority", "show", "--certificate", certificate, "--authority-key", to_hex(key),
                           "--device-key", to_hex(key), "--algorithm", algorithm})
                  .code,
              ExitCode::ok)
        << "of another authority";
  }
}

TEST_F(AuthorityCommands, NeverOverwriteAKeyOrMakeOneUnasked) {
  const test::CommandOutcome without =
      run_command({"authority", "certify", "--key", key_, "--device-key", std::string(64, '0'), "--population", "p"});
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
        run_command({"authority", "certify", "--key", key_, "--device-key", device_key, "--population", "p"});
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
              HasSubstr("--certificate: must be 128 to 2048 hexadecimal digits"));
}

TEST_F(AuthorityCommands, AnswerADeviceThatAsksForTheNextCertificateAndNoneThatIsRevoked) {
  ASSERT_EQ(run_command({"authority", "new", "--file", key_}).code, ExitCode::ok);
  const auto authority = load_signer(key_);
  ASSERT_OK(authority);
  const auto device = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 7));
  const std::string request = directory_ / "request", list = directory_ / "revoked.list";
  const auto ask = [&](Bytes certificate, const std::vector<std::string>& more) {
    const auto made = make_certificate_request({{{}, {}, std::move(certificate)}, Population("phones"), {}}, *device);
    EXPECT_OK(made);
    EXPECT_OK(os::write_file_atomically(request, *made));
    std::vector<std::string> words = {"authority", "answer", "--key", key_, "--request", request, "--list", list};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words);
  };
  const test::CommandOutcome none = ask({}, {});
  EXPECT_EQ(none.code, ExitCode::failure);
  EXPECT_THAT(none.err, HasSubstr("neither a certificate to renew nor an attestation"));
  const Bytes first = test::certificate_for(*device, **authority, test::certificate_statement("phones", 41));
  const test::CommandOutcome renewed = ask(first, {"--days", "9", "--lists"});
  ASSERT_EQ(renewed.code, ExitCode::ok) << renewed.err;
  const auto next = read_device_certificate({device->algorithm(), device->public_key(), bytes_of(renewed.out)},
                                            (*authority)->public_key());
  ASSERT_OK(next);
  EXPECT_EQ(next->not_after - next->not_before, std::chrono::days(9));
  EXPECT_TRUE(next->has_lists);

  const test::CommandOutcome revoked =
      run_command({"authority", "revoke", "--key", key_, "--list", list, "--serial", "41", "--serial", "40"});
  ASSERT_EQ(revoked.code, ExitCode::ok) << revoked.err;
  EXPECT_THAT(revoked.out, HasSubstr("number       1\nrevoked      2\n"));
  EXPECT_EQ(ask(first, {}).code, ExitCode::failure);
  EXPECT_THAT(ask(first, {}).err, HasSubstr("its authority has revoked it (serial 41)"));
  const test::CommandOutcome forgotten =
      run_command({"authority", "revoke", "--key", key_, "--list", list, "--forget", "40", "--days", "3"});
  ASSERT_EQ(forgotten.code, ExitCode::ok) << forgotten.err;
  const auto bytes = os::read_file(list, kRevocationListBytesMax);
  ASSERT_OK(bytes);
  const auto read = read_revocation_list(*bytes, (*authority)->public_key());
  ASSERT_OK(read);
  EXPECT_EQ(read->number, 2u);
  EXPECT_EQ(read->serials, std::vector<uint64_t>{41});
  EXPECT_EQ(read->next_update - read->issued_at, std::chrono::days(3));
}

TEST_F(AuthorityCommands, GiveNoncesThatTheyKnowAgain) {
  ASSERT_EQ(run_command({"authority", "new", "--file", key_}).code, ExitCode::ok);
  const test::CommandOutcome first = run_command({"authority", "challenge", "--key", key_});
  const test::CommandOutcome second = run_command({"authority", "challenge", "--key", key_});
  ASSERT_EQ(first.code, ExitCode::ok) << first.err;
  EXPECT_NE(first.out, second.out);
  const auto authority = load_signer(key_);
  ASSERT_OK(authority);
  EXPECT_OK(check_authority_nonce(bytes_of(first.out), os::wall_now(), **authority));
}

}  // namespace
}  // namespace coterie
