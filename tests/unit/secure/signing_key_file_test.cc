// The signing key on disk gets a successor, wherever a process dies on the way.
#include "secure/identity/signing_key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/os/file.h"
#include "secure/identity/key_file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

class KeySuccession : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(create_signer(in(kSigningKeyFile), KeyAlgorithm::ed25519)); }
  std::string in(const char* name) const { return directory_ / name; }
  Bytes key(const char* name = kSigningKeyFile) const { return (*load_signer(in(name)))->public_key(); }
  Result<KeyStatement> announce() const { return announce_next_key(directory_.path(), until_); }
  Result<KeyStatement> change() const { return switch_to_next_key(directory_.path()); }

  const test::TemporaryDirectory directory_{test::memory_disk()};
  const WallTime until_ = wall_time_from_unix_ms(1'750'000'000'000);
};

TEST_F(KeySuccession, IsAnnouncedAndThenDone) {
  const Bytes first = key();
  EXPECT_EQ(load_key_statements(directory_.path())->size(), 0u);
  EXPECT_ERROR(change(), ErrorCode::conflict, "signing-key next") << "nobody has heard of another key";
  const auto said = announce();
  ASSERT_OK(said);
  EXPECT_EQ(said->before, first);
  EXPECT_EQ(said->after, key(kNextSigningKeyFile));
  EXPECT_EQ(key(), first) << "nothing is signed with it yet";
  EXPECT_ERROR(announce(), ErrorCode::conflict, "signing-key switch") << "one at a time";
  ASSERT_OK(change());
  EXPECT_EQ(key(), said->after);
  EXPECT_EQ(key(kOldSigningKeyFile), first);
  EXPECT_FALSE(os::exists(in(kNextSigningKeyFile)));
  struct stat info {};
  for (const char* name : {kSigningKeyFile, kOldSigningKeyFile}) {
    ASSERT_EQ(::stat(in(name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
  }
  EXPECT_ERROR(change(), ErrorCode::conflict, "signing-key next") << "done already";
  EXPECT_EQ(*load_key_statements(directory_.path()), std::vector<KeyStatement>{*said});
}

TEST_F(KeySuccession, MayComeAgainAndADeviceOfTheFirstKeyFollows) {
  PinnedKeys device{key()};
  for (size_t i = 0; i < kKeyStatementsMax; ++i) {
    ASSERT_OK(announce());
    ASSERT_OK(change());
  }
  PinnedKeys early = device;
  EXPECT_TRUE(follow_key_statements(device, *load_key_statements(directory_.path())));
  EXPECT_EQ(device.newest, key());
  ASSERT_OK(announce());  // one more than are kept
  EXPECT_EQ(load_key_statements(directory_.path())->size(), kKeyStatementsMax);
  EXPECT_FALSE(follow_key_statements(early, *load_key_statements(directory_.path()))) << "it has slept too long";
  EXPECT_TRUE(follow_key_statements(device, *load_key_statements(directory_.path())));
}

TEST_F(KeySuccession, EndsTheKeysBefore) {
  const WallTime now = until_ - Millis(5);
  EXPECT_ERROR(end_old_keys(directory_.path(), now), ErrorCode::conflict, "no key before") << "there was none";
  const Bytes first = key();
  PinnedKeys device{first};
  ASSERT_OK(announce());
  EXPECT_ERROR(end_old_keys(directory_.path(), now), ErrorCode::conflict, "signing-key switch")
      << "servers still sign with it";
  ASSERT_OK(change());
  const auto ended = end_old_keys(directory_.path(), now);
  ASSERT_OK(ended);
  EXPECT_TRUE(ends_keys(*ended));
  EXPECT_ERROR(end_old_keys(directory_.path(), now), ErrorCode::conflict, "no key before") << "done already";
  EXPECT_TRUE(follow_key_statements(device, *load_key_statements(directory_.path())));
  EXPECT_EQ(device, PinnedKeys{key()});
  EXPECT_ERROR(change(), ErrorCode::conflict, "signing-key next");
  ASSERT_OK(announce());
  ASSERT_OK(change());
  EXPECT_TRUE(follow_key_statements(device, *load_key_statements(directory_.path())));
  EXPECT_EQ(device.newest, key());
}

// A process that died behind any of its steps is run again.
TEST_F(KeySuccession, GoesOnWhereAProcessDied) {
  const Bytes first = key();
  ASSERT_OK(create_signer(in(kNextSigningKeyFile), KeyAlgorithm::ed25519));  // and said nothing of it yet
  const Bytes next = key(kNextSigningKeyFile);
  EXPECT_EQ(announce()->after, next);
  ASSERT_OK(os::write_file_atomically(in(kOldSigningKeyFile), *os::read_file(in(kSigningKeyFile), 999)));
  EXPECT_EQ(key(), first) << "copied, and not renamed yet";
  ASSERT_OK(change());
  EXPECT_EQ(key(), next);
}

TEST_F(KeySuccession, RefusesFilesThatDoNotBelongTogether) {
  ASSERT_OK(announce());
  const Bytes statements = *os::read_file(in(kKeyStatementsFile), 9'999);
  ASSERT_OK(os::remove_file(in(kNextSigningKeyFile)));
  EXPECT_ERROR(change(), ErrorCode::not_found, kNextSigningKeyFile);
  ASSERT_OK(create_signer(in(kNextSigningKeyFile), KeyAlgorithm::ed25519));
  EXPECT_ERROR(change(), ErrorCode::conflict, "restore it from a backup");
  Bytes forged = statements;
  forged[statements.size() - 9] ^= 1;
  ASSERT_OK(os::write_file_atomically(in(kKeyStatementsFile), forged));
  EXPECT_FALSE(load_key_statements(directory_.path()));
  ASSERT_OK(os::write_file_atomically(in(kKeyStatementsFile), as_bytes("nonsense\n")));
  EXPECT_ERROR(load_key_statements(directory_.path()), ErrorCode::malformed, kKeyStatementsFile);
  EXPECT_FALSE(announce());
}

}  // namespace
}  // namespace coterie
