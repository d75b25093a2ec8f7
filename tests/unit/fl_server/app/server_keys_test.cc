#include "fl_server/app/server_keys.h"

#include "base/os/file.h"
#include "secure/identity/signing_key_file.h"
#include "tests/unit/fl_server/app/parts_world.h"

namespace coterie {
namespace {

class ServerKeysTest : public test::PartsWorld {
 protected:
  Result<std::unique_ptr<ServerKeys>> keys() { return ServerKeys::open(config_, os::wall_now()); }
};

TEST_F(ServerKeysTest, AreMadeOnceAndFoundAgain) {
  auto made = keys();
  ASSERT_OK(made);
  EXPECT_FALSE((*made)->peer) << "a server that is alone has no peers to prove itself to";
  EXPECT_EQ((*made)->old_ticket, nullptr);
  const std::string token = (*made)->admin_token;
  const Bytes signer = (*made)->signer->public_key();
  made->reset();
  auto found = keys();
  ASSERT_OK(found);
  EXPECT_EQ((*found)->admin_token, token);
  EXPECT_EQ((*found)->signer->public_key(), signer);
}

TEST_F(ServerKeysTest, TellWhatTheSigningKeySaysOfTheNextOne) {
  ASSERT_OK(keys());
  const std::string directory = config_.data_dir + "/keys";
  EXPECT_EQ((*keys())->key_statements.size(), 0u);
  const auto said = announce_next_key(directory, os::wall_now() + Millis(86'400'000));
  ASSERT_OK(said);
  EXPECT_EQ((*keys())->key_statements, std::vector{*said});
  ASSERT_OK(switch_to_next_key(directory));
  {
    const auto after = keys();
    ASSERT_OK(after);
    EXPECT_EQ((*after)->signer->public_key(), said->after);
    EXPECT_EQ((*after)->key_statements, std::vector{*said}) << "for devices that have slept";
  }
  ASSERT_OK(os::remove_file(directory + "/signing.key"));
  EXPECT_ERROR(keys(), ErrorCode::invalid_argument, "restore both from the same backup");
}

TEST_F(ServerKeysTest, BelongToOneServerAtATime) {
  const auto first = keys();
  ASSERT_OK(first);
  EXPECT_ERROR(keys(), ErrorCode::conflict, "another server runs on data directory " + config_.data_dir);
}

// Whatever fails later, the next server does not find the lock of one that never was.
TEST_F(ServerKeysTest, LeaveTheDirectoryFreeWhereOneOfThemIsBroken) {
  ASSERT_OK(keys());
  ASSERT_OK(os::write_file_atomically(config_.data_dir + "/keys/ticket.key", as_bytes("short")));
  EXPECT_ERROR(keys(), ErrorCode::data_loss, "ticket.key");
  ASSERT_OK(os::remove_file(config_.data_dir + "/keys/ticket.key"));
  EXPECT_OK(keys());
}

TEST_F(ServerKeysTest, NameTheCertificateThatIsNotThere) {
  config_.tls.certificate_file = directory_ / "nowhere.pem";
  config_.tls.key_file = directory_ / "nowhere-key.pem";
  EXPECT_ERROR(keys(), ErrorCode::invalid_argument, "nowhere.pem");
}

TEST_F(ServerKeysTest, OfAFleetHaveACertificateForItsPeers) {
  config_.store.engine = "postgres";
  config_.keys_dir = directory_ / "shared";
  const auto first = keys();
  ASSERT_OK(first);
  EXPECT_TRUE((*first)->peer);
  // The other server of the fleet has a directory of its own and the same keys; the first one does not keep it waiting.
  config_.data_dir = directory_ / "data-1";
  const auto second = keys();
  ASSERT_OK(second);
  EXPECT_EQ((*second)->admin_token, (*first)->admin_token);
  EXPECT_EQ((*second)->peer->files.ca, (*first)->peer->files.ca);
}

std::string text_of(const std::string& path) {
  const Result<Bytes> bytes = os::read_file(path, 64 * 1024);
  return bytes ? std::string(as_text(*bytes)) : "cannot read " + path;
}

// A device that trusts one server of a fleet may be answered by another.
TEST_F(ServerKeysTest, OfAFleetShareOneDevelopmentCa) {
  config_.keys_dir = directory_ / "shared";
  auto first = keys();
  ASSERT_OK(first);
  const std::string ca = text_of((*first)->tls_files.ca);
  EXPECT_EQ(ca, text_of(directory_ / "shared/device-ca.pem"));
  config_.data_dir = directory_ / "data-1";
  auto second = keys();
  ASSERT_OK(second);
  EXPECT_EQ(text_of((*second)->tls_files.ca), ca);
  const std::string leaf = text_of((*second)->tls_files.certificate);
  EXPECT_NE(leaf, text_of((*first)->tls_files.certificate));
  second->reset();
  second = keys();
  ASSERT_OK(second);
  EXPECT_EQ(text_of((*second)->tls_files.certificate), leaf) << "it was valid";
}

// Each server of before had a CA of its own. The first one's becomes the fleet's, and its certificate stays; the
// others get new ones.
TEST_F(ServerKeysTest, OfAFleetOfBeforeAgreeOnTheFirstOnesCa) {
  std::vector<std::string> cas, leaves;
  for (const char* name : {"data-0", "data-1"}) {
    config_.data_dir = directory_ / name;
    const auto alone = keys();
    ASSERT_OK(alone);
    cas.push_back(text_of((*alone)->tls_files.ca));
    leaves.push_back(text_of((*alone)->tls_files.certificate));
  }
  ASSERT_NE(cas[0], cas[1]);
  config_.keys_dir = directory_ / "shared";
  for (const char* name : {"data-0", "data-1"}) {
    config_.data_dir = directory_ / name;
    const auto member = keys();
    ASSERT_OK(member);
    EXPECT_EQ(text_of((*member)->tls_files.ca), cas[0]);
    EXPECT_EQ(text_of((*member)->tls_files.certificate) == leaves[0], name == std::string("data-0"));
  }
}

}  // namespace
}  // namespace coterie
