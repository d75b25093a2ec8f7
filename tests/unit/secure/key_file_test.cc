#include "secure/identity/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

class KeyFile : public testing::Test {
 protected:
  unsigned mode_of(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(::stat((directory_ / name).c_str(), &info), 0);
    return info.st_mode & 0777;
  }
  void write(const std::string& name, ByteView bytes) const {
    ASSERT_OK(os::write_file_atomically(directory_ / name, bytes));
  }
  test::TemporaryDirectory directory_;
};

TEST_F(KeyFile, KeepsAMacKeyThatOnlyItsOwnerReads) {
  const Result<MacKey> first = load_or_create_mac_key(directory_ / "mac");
  ASSERT_OK(first);
  EXPECT_EQ(mode_of("mac"), 0600u);
  const Result<MacKey> again = load_or_create_mac_key(directory_ / "mac");
  ASSERT_OK(again);
  EXPECT_TRUE(equal_in_constant_time(first->reveal(), again->reveal()));
  const Result<MacKey> other = load_or_create_mac_key(directory_ / "other");
  ASSERT_OK(other);
  EXPECT_FALSE(equal_in_constant_time(first->reveal(), other->reveal()));
}

TEST_F(KeyFile, ReadsACipherKeyAndMakesNone) {
  Bytes bytes(32, 0);
  bytes[31] = 9;
  write("key", bytes);
  const Result<CipherKey> key = load_cipher_key(directory_ / "key");
  ASSERT_OK(key);
  EXPECT_TRUE(equal_in_constant_time(key->reveal(), bytes));
  bytes.push_back(0);
  write("key", bytes);
  EXPECT_ERROR(load_cipher_key(directory_ / "key"), ErrorCode::invalid_argument, "a file of 32 bytes, this one has 33");
  EXPECT_ERROR(load_cipher_key(directory_ / "none"), ErrorCode::not_found, "none");
}

TEST_F(KeyFile, KeepsASignerOfEitherAlgorithm) {
  for (const KeyAlgorithm algorithm : {KeyAlgorithm::ed25519, KeyAlgorithm::p256}) {
    const std::string name = "signer-" + std::to_string(static_cast<int>(algorithm));
    const auto first = load_or_create_signer(directory_ / name, algorithm);
    ASSERT_OK(first);
    EXPECT_EQ((*first)->algorithm(), algorithm);
    EXPECT_EQ(mode_of(name), 0600u);
    // The file decides: an app that changes its mind about the algorithm keeps the identity it has.
    for (const KeyAlgorithm asked : {KeyAlgorithm::ed25519, KeyAlgorithm::p256}) {
      const auto again = load_or_create_signer(directory_ / name, asked);
      ASSERT_OK(again);
      EXPECT_EQ((*again)->public_key(), (*first)->public_key());
    }
  }
}

TEST_F(KeyFile, LoadsASignerAndMakesNone) {
  EXPECT_ERROR(load_signer(directory_ / "none"), ErrorCode::not_found, "none");
  EXPECT_FALSE(os::exists(directory_ / "none"));
  const auto made = load_or_create_signer(directory_ / "signer", KeyAlgorithm::p256);
  ASSERT_OK(made);
  const auto loaded = load_signer(directory_ / "signer");
  ASSERT_OK(loaded);
  EXPECT_EQ((*loaded)->algorithm(), KeyAlgorithm::p256);
  EXPECT_EQ((*loaded)->public_key(), (*made)->public_key());
}

TEST_F(KeyFile, CreatesASignerWhereThereIsNoFile) {
  for (const KeyAlgorithm algorithm : {KeyAlgorithm::ed25519, KeyAlgorithm::p256}) {
    const std::string name = "new-" + std::to_string(static_cast<int>(algorithm));
    const auto made = create_signer(directory_ / name, algorithm);
    ASSERT_OK(made);
    EXPECT_EQ((*made)->algorithm(), algorithm);
    EXPECT_EQ(mode_of(name), 0600u);
    EXPECT_ERROR(create_signer(directory_ / name, algorithm), ErrorCode::conflict, "never overwritten");
    const auto loaded = load_signer(directory_ / name);
    ASSERT_OK(loaded);
    EXPECT_EQ((*loaded)->public_key(), (*made)->public_key()) << "the first one's";
  }
  write("empty", {});
  EXPECT_ERROR(create_signer(directory_ / "empty", KeyAlgorithm::ed25519), ErrorCode::conflict, "empty");
  EXPECT_EQ(os::read_file(directory_ / "empty", 100)->size(), 0u);
  ASSERT_EQ(::symlink((directory_ / "elsewhere").c_str(), (directory_ / "link").c_str()), 0);
  EXPECT_ERROR(create_signer(directory_ / "link", KeyAlgorithm::ed25519), ErrorCode::conflict, "link");
  EXPECT_FALSE(os::exists(directory_ / "elsewhere"));
  EXPECT_ERROR(create_signer(directory_ / "absent/key", KeyAlgorithm::ed25519), ErrorCode::not_found, "absent");
}

TEST_F(KeyFile, AreMadeOfAKeyThatIsGiven) {
  const Bytes secret(32, 7);
  const auto made = create_signer(directory_ / "given", KeyAlgorithm::ed25519, secret);
  ASSERT_OK(made);
  EXPECT_EQ((*made)->public_key(), (*make_signer(KeyAlgorithm::ed25519, secret))->public_key());
  const auto again = load_or_create_signer(directory_ / "given", KeyAlgorithm::ed25519);
  ASSERT_OK(again);
  EXPECT_EQ((*again)->public_key(), (*made)->public_key());
  EXPECT_ERROR(create_signer(directory_ / "given", KeyAlgorithm::ed25519, secret), ErrorCode::conflict, "overwritten");
  EXPECT_ERROR(create_signer(directory_ / "short", KeyAlgorithm::ed25519, Bytes(31, 7)), ErrorCode::data_loss, "");
}

TEST_F(KeyFile, KeepsATokenAsOneLineOfText) {
  const Result<std::string> token = load_or_create_token(directory_ / "token");
  ASSERT_OK(token);
  EXPECT_TRUE(token->starts_with("cot_"));
  EXPECT_EQ(mode_of("token"), 0600u);
  EXPECT_EQ(*load_or_create_token(directory_ / "token"), *token);
  EXPECT_EQ(as_text(*os::read_file(directory_ / "token", 100)), *token + "\n");
  write("own", as_bytes("an operator's own token \r\n\n"));
  EXPECT_EQ(*load_or_create_token(directory_ / "own"), "an operator's own token");
}

TEST_F(KeyFile, CallsADamagedFileDataLossAndLeavesItAlone) {
  for (const size_t size : {0u, 1u, 31u, 33u}) {
    const std::string name = "mac" + std::to_string(size);
    write(name, Bytes(size, 1));
    EXPECT_ERROR(load_or_create_mac_key(directory_ / name), ErrorCode::data_loss, directory_ / name);
    EXPECT_EQ(os::read_file(directory_ / name, 100)->size(), size);
  }
  const std::pair<const char*, Bytes> damaged[] = {{"empty", {}},
                                                   {"algorithm alone", {1}},
                                                   {"unknown algorithm", Bytes(33, 9)},
                                                   {"ed25519 cut",
                                                    [] {
                                                      Bytes b(32, 5);
                                                      b[0] = 1;
                                                      return b;
                                                    }()},
                                                   {"p256 zero",
                                                    [] {
                                                      Bytes b(33);
                                                      b[0] = 2;
                                                      return b;
                                                    }()},
                                                   {"p256 long", [] {
                                                      Bytes b(34, 5);
                                                      b[0] = 2;
                                                      return b;
                                                    }()}};
  for (const auto& [what, bytes] : damaged) {
    write("signer", bytes);
    EXPECT_ERROR(load_or_create_signer(directory_ / "signer", KeyAlgorithm::ed25519), ErrorCode::data_loss, "signer")
        << what;
    EXPECT_ERROR(load_signer(directory_ / "signer"), ErrorCode::data_loss, "signer") << what;
  }
  for (const char* text : {"", "\n", " \r\n"}) {
    write("token", as_bytes(text));
    EXPECT_ERROR(load_or_create_token(directory_ / "token"), ErrorCode::data_loss, "token");
  }
}

TEST_F(KeyFile, SaysWhatTheDiskSays) {
  EXPECT_ERROR(load_or_create_mac_key(directory_ / "absent/mac"), ErrorCode::not_found, "absent");
  write("huge", Bytes(5000, 1));
  EXPECT_ERROR(load_or_create_mac_key(directory_ / "huge"), ErrorCode::too_large, "huge");
}

}  // namespace
}  // namespace coterie
