// coterie signing-key: what it says, and what it leaves for the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "secure/identity/key_file.h"
#include "secure/identity/signing_key_file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie {
namespace {

using test::run_command;
using ::testing::HasSubstr;

TEST(SigningKeyCommands, ReplaceAKeyInTwoSteps) {
  const test::TemporaryDirectory keys;
  const auto first = create_signer(keys / kSigningKeyFile, KeyAlgorithm::ed25519);
  ASSERT_OK(first);
  const std::string before = to_hex((*first)->public_key());
  EXPECT_EQ(run_command({"signing-key", "show", "--keys", keys.path()}).out, "signs with " + before + "\n");
  const test::CommandOutcome early = run_command({"signing-key", "switch", "--keys", keys.path()});
  EXPECT_NE(early.code, ExitCode::ok);
  EXPECT_THAT(early.err, HasSubstr("coterie signing-key next"));
  const test::CommandOutcome next = run_command({"signing-key", "next", "--keys", keys.path(), "--days", "7"});
  ASSERT_EQ(next.code, ExitCode::ok) << next.err;
  EXPECT_THAT(next.out, HasSubstr(before + " -> "));
  EXPECT_THAT(next.out, HasSubstr("coterie signing-key switch"));
  const test::CommandOutcome done = run_command({"signing-key", "switch", "--keys", keys.path()});
  ASSERT_EQ(done.code, ExitCode::ok) << done.err;
  const auto after = load_signer(keys / kSigningKeyFile);
  ASSERT_OK(after);
  EXPECT_THAT(done.out, HasSubstr(to_hex((*after)->public_key())));
  EXPECT_THAT(run_command({"signing-key", "show", "--keys", keys.path()}).out,
              HasSubstr(before + " -> " + to_hex((*after)->public_key())));
  const test::CommandOutcome ended = run_command({"signing-key", "revoke", "--keys", keys.path()});
  ASSERT_EQ(ended.code, ExitCode::ok) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("all before " + to_hex((*after)->public_key()) + ": over since "));
  EXPECT_NE(run_command({"signing-key", "revoke", "--keys", keys.path()}).code, ExitCode::ok) << "done already";
}

TEST(SigningKeyCommands, MakeNoKeyWhereThereIsNone) {
  const test::TemporaryDirectory keys;
  for (const char* what : {"next", "switch", "revoke", "show"}) {
    const test::CommandOutcome refused = run_command({"signing-key", what, "--keys", keys.path()});
    EXPECT_NE(refused.code, ExitCode::ok) << what;
    EXPECT_THAT(refused.err, HasSubstr(kSigningKeyFile)) << what;
  }
  EXPECT_NE(run_command({"signing-key", "next", "--keys", keys.path(), "--days", "0"}).code, ExitCode::ok);
}

}  // namespace
}  // namespace coterie
