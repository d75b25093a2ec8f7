#include "fl_server/app/rotated_keys.h"

#include "base/os/file.h"
#include "secure/identity/bearer_token.h"
#include "secure/identity/revocation_list.h"
#include "secure/identity/signed_seconds.h"
#include "secure/identity/signing_key_file.h"
#include "tests/unit/fl_server/app/parts_world.h"

namespace coterie {
namespace {

class RotatedKeys : public test::PartsWorld {
 protected:
  void SetUp() override {
    auto keys = ServerKeys::open(config_, os::wall_now());
    ASSERT_OK(keys);
    keys_ = std::move(*keys);
    files_ = rotated_keys(*keys_, {.take_tls = [this](const TlsContext& tls) { tls_ = tls; },
                                   .take_admin_token = [this](const std::string& token) { token_ = token; },
                                   .take_old_tickets =
                                       [this](std::shared_ptr<const MacKey> key) {
                                         old_tickets_ = std::move(key);
                                         ++old_tickets_taken_;
                                       },
                                   .take_key_statements = [this](const auto& stated) { statements_ = stated; }});
  }
  const RotatedFiles& named(std::string_view name) {
    for (const RotatedFiles& files : files_) {
      if (files.name == name) return files;
    }
    ADD_FAILURE() << "no rotated files are called " << name;
    return files_.front();
  }

  std::vector<RotatedFiles> files_;
  TlsContext tls_;
  std::string token_;
  std::shared_ptr<const MacKey> old_tickets_;
  int old_tickets_taken_ = 0;
  std::vector<KeyStatement> statements_;
};

TEST_F(RotatedKeys, AreTheCertificateTheAdminTokenTheOldTicketKeyAndTheSigningKeysSuccession) {
  ASSERT_EQ(files_.size(), 4u);
  EXPECT_EQ(named("tls").paths, (std::vector{keys_->tls_files.certificate, keys_->tls_files.key}))
      << "which belong together";
  EXPECT_EQ(named("admin_token").paths, std::vector{config_.data_dir + "/admin-token"});
  EXPECT_EQ(named("old_ticket_key").paths, std::vector{config_.data_dir + "/keys/ticket-old.key"});
  EXPECT_EQ(named("key_statements").paths, std::vector{config_.data_dir + "/keys/signing-keys.txt"});
}

TEST_F(RotatedKeys, GoToWhoeverUsesThem) {
  ASSERT_OK(named("tls").take());
  EXPECT_NE(tls_, nullptr);
  EXPECT_NE(tls_, keys_->tls) << "read anew";
  const std::string fresh = generate_token();
  ASSERT_OK(os::write_file_atomically(keys_->data.admin_token_path(), as_bytes(fresh + "\n")));
  ASSERT_OK(named("admin_token").take());
  EXPECT_EQ(token_, fresh);
}

TEST_F(RotatedKeys, TakeWhatIsSaidOfTheNextSigningKey) {
  const auto said = announce_next_key(config_.data_dir + "/keys", os::wall_now() + Millis(1'000));
  ASSERT_OK(said);
  ASSERT_OK(named("key_statements").take());
  EXPECT_EQ(statements_, std::vector{*said});
  ASSERT_OK(os::write_file_atomically(config_.data_dir + "/keys/signing-keys.txt", as_bytes("nonsense")));
  EXPECT_ERROR(named("key_statements").take(), ErrorCode::malformed, "signing-keys.txt");
  EXPECT_EQ(statements_, std::vector{*said}) << "what was taken before stays in use";
}

TEST_F(RotatedKeys, TakeTheOldTicketKeyAwayWithItsFile) {
  ASSERT_OK(os::write_file_atomically(keys_->data.old_ticket_key_path(), Bytes(32, 7)));
  ASSERT_OK(named("old_ticket_key").take());
  EXPECT_NE(old_tickets_, nullptr);
  ASSERT_OK(os::remove_file(keys_->data.old_ticket_key_path()));
  ASSERT_OK(named("old_ticket_key").take());
  EXPECT_EQ(old_tickets_, nullptr);
  EXPECT_EQ(old_tickets_taken_, 2);
}

TEST_F(RotatedKeys, ThatAreBrokenGoNowhere) {
  ASSERT_OK(os::write_file_atomically(keys_->tls_files.certificate, as_bytes("no certificate")));
  EXPECT_ERROR(named("tls").take(), ErrorCode::invalid_argument, keys_->tls_files.certificate);
  EXPECT_EQ(tls_, nullptr);
  ASSERT_OK(os::write_file_atomically(keys_->data.admin_token_path(), {}));
  EXPECT_FALSE(named("admin_token").take());
  EXPECT_EQ(token_, "");
}

// The authority's list, which its operator puts there: the newest is for devices, and none goes back.
class RotatedRevocations : public test::PartsWorld {
 protected:
  RotatedRevocations() {
    config_.authority_key = authority_->public_key();
    config_.authority_revocations_file = directory_ / "revoked.list";
    write(5);
  }
  void write(uint64_t number) {
    const WallTime now = time_of_seconds(signed_seconds(os::wall_now()));
    const auto list = make_revocation_list(
        {.issuer = {}, .number = number, .issued_at = now, .next_update = now + std::chrono::days(1), .serials = {7}},
        *authority_);
    ASSERT_OK(list);
    ASSERT_OK(os::write_file_atomically(config_.authority_revocations_file, *list));
  }
  uint64_t newest() const { return keys_->revocations->newest()->list.number; }
  Status take() {
    for (const RotatedFiles& files : rotated_keys(*keys_, {})) {
      if (files.name == "revocations") return files.take();
    }
    return Error(ErrorCode::not_found, "no rotated files are called revocations");
  }

  const std::unique_ptr<Signer> authority_ = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 1));
};

TEST_F(RotatedRevocations, AreReadAtTheStartAndAgain) {
  open();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(newest(), 5u);
  write(6);
  ASSERT_OK(take());
  EXPECT_EQ(newest(), 6u);
  write(5);
  EXPECT_ERROR(take(), ErrorCode::conflict, "number 5 is older than number 6");
  EXPECT_EQ(newest(), 6u);
  ASSERT_OK(os::write_file_atomically(config_.authority_revocations_file, as_bytes("no list")));
  EXPECT_ERROR(take(), ErrorCode::malformed, "list of revoked certificates");
  EXPECT_EQ(newest(), 6u);
}

TEST_F(RotatedRevocations, KeepAServerFromStartingWithoutTheirFile) {
  ASSERT_OK(os::remove_file(config_.authority_revocations_file));
  EXPECT_ERROR(ServerKeys::open(config_, os::wall_now()), ErrorCode::not_found, "revoked.list");
}

}  // namespace
}  // namespace coterie
