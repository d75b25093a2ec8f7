// Certificates and the admin token are replaced while the server runs, and nobody's request fails.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/os/clock.h"
#include "fl_server/app/file_rotation.h"
#include "secure/crypto/dev_ca.h"
#include "secure/identity/bearer_token.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using test::Answer;
using testing::ElementsAre;

// ---- Files

class FileRotationTest : public testing::Test {
 protected:
  void write(const std::string& name, std::string_view text) {
    ASSERT_OK(os::write_file_atomically(directory_ / name, as_bytes(text)));
  }
  RotatedFiles files(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(directory_ / name);
    return {"test", paths, [this] {
              ++taken_;
              return refuse_ ? Status(Error(ErrorCode::invalid_argument, "no")) : Status();
            }};
  }
  test::TemporaryDirectory directory_;
  int taken_ = 0;
  bool refuse_ = false;
};

TEST_F(FileRotationTest, TakesWhatIsOtherOnceAndNothingElse) {
  write("a", "1");
  write("b", "1");
  FileRotation rotation({files({"a", "b"})});
  EXPECT_EQ(rotation.look(), 0u);
  write("b", "1");
  EXPECT_EQ(rotation.look(), 0u) << "the same bytes in another file";
  write("b", "2");
  EXPECT_EQ(rotation.look(), 1u);
  EXPECT_EQ(rotation.look(), 0u);
  ASSERT_OK(os::remove_file(directory_ / "a"));
  EXPECT_EQ(rotation.look(), 1u) << "who takes them says what that means";
  EXPECT_EQ(taken_, 2);
}

TEST_F(FileRotationTest, TriesWhatWasRefusedAgainWhenItIsOther) {
  write("a", "1");
  FileRotation rotation({files({"a"})});
  refuse_ = true;
  write("a", "2");
  EXPECT_EQ(rotation.look(), 0u);
  EXPECT_EQ(rotation.look(), 0u);
  EXPECT_EQ(taken_, 1) << "and is logged once";
  refuse_ = false;
  write("a", "3");
  EXPECT_EQ(rotation.look(), 1u);
}

TEST_F(FileRotationTest, KeepsTwoFilesApart) {
  write("a", "12");
  write("b", "3");
  FileRotation rotation({files({"a", "b"})});
  write("a", "1");
  write("b", "23");
  EXPECT_EQ(rotation.look(), 1u);
}

TEST_F(FileRotationTest, LooksByItself) {
  write("a", "1");
  std::atomic<int> taken{0};
  FileRotation rotation({{"test", {directory_ / "a"}, [&taken] {
                            ++taken;
                            return Status();
                          }}});
  rotation.start(Millis(1));
  write("a", "2");
  const Instant until = os::monotonic_now() + Millis(30'000);
  while (taken == 0 && os::monotonic_now() < until) std::this_thread::yield();
  rotation.stop();
  EXPECT_EQ(taken, 1);
}

// ---- A server

class Rotation : public test::AdminServerTest {
 protected:
  void SetUp() override {
    ca_ = make_dev_ca(os::wall_now(), 10).value();
    write_certificate(ca_);
    AdminServerTest::SetUp();
    trust(ca_);
  }
  void configure(ServerConfig& config) override {
    config.tls.certificate_file = directory_ / "server.pem";
    config.tls.key_file = directory_ / "server-key.pem";
  }
  void write(const std::string& name, std::string_view text) {
    ASSERT_OK(os::write_file_atomically(directory_ / name, as_bytes(text)));
  }
  // A fresh one of this authority, as an operator would: a file after the other.
  void write_certificate(const PemPair& ca) {
    const PemPair leaf = make_server_certificate(ca, {"127.0.0.1"}, os::wall_now(), 5).value();
    write("server-key.pem", leaf.private_key);
    write("server.pem", leaf.certificate);
  }
  std::unique_ptr<HttpsClient> client_of(const PemPair& ca) {
    auto client = HttpsClient::make({.url = server_->admin_url(), .ca_pem = ca.certificate});
    EXPECT_OK(client);
    return std::move(*client);
  }
  void trust(const PemPair& ca) { client_ = client_of(ca); }
  static int health(HttpsClient& client) {
    const TransportRequest request{
        .method = "GET", .target = "/healthz", .headers = {}, .content_type = {}, .body = {}};
    const auto answer = client.send(request, [](const TransportResponse&, ByteView) { return Status(); });
    return answer ? answer->status : 0;
  }
  PemPair ca_;
};

TEST_F(Rotation, OfTheCertificateFailsNoRequest) {
  ASSERT_EQ(health(*client_), 200);
  constexpr int kRotations = 100;
  std::atomic<bool> done{false};
  std::atomic<int> fresh{0}, failed{0};
  std::thread asking([&] {
    const auto kept = client_of(ca_);
    while (!done) {
      if (health(*client_of(ca_)) != 200) ++failed;
      if (health(*kept) != 200) ++failed;
      ++fresh;
    }
  });
  for (int i = 0; i < kRotations; ++i) {
    write_certificate(ca_);
    EXPECT_EQ(server_->rotate_files(), 1u) << i;
    const int before = fresh;
    while (i % 10 == 0 && fresh == before && failed == 0) std::this_thread::yield();
  }
  done = true;
  asking.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GE(fresh, 10);
  const PemPair other = make_dev_ca(os::wall_now(), 10).value();
  write_certificate(other);
  EXPECT_EQ(server_->rotate_files(), 1u);
  EXPECT_EQ(health(*client_of(ca_)), 0) << "new connections get the new one";
  EXPECT_EQ(health(*client_of(other)), 200);
  EXPECT_EQ(health(*client_), 200) << "old connections stay";
}

TEST_F(Rotation, OfACertificateThatIsBrokenLeavesTheOldOne) {
  const std::string certificate = read(directory_ / "server.pem");
  for (const std::string& broken :
       {std::string("not a certificate"), std::string(), certificate.substr(0, certificate.size() / 2),
        make_server_certificate(ca_, {"127.0.0.1"}, os::wall_now(), 5)->certificate}) {
    write("server.pem", broken);
    EXPECT_EQ(server_->rotate_files(), 0u);
    EXPECT_EQ(health(*client_of(ca_)), 200);
  }
  ASSERT_OK(os::remove_file(directory_ / "server.pem"));
  EXPECT_EQ(server_->rotate_files(), 0u);
  EXPECT_EQ(health(*client_of(ca_)), 200);
  write("server.pem", certificate);
  EXPECT_EQ(server_->rotate_files(), 1u) << "as it was";
}

TEST_F(Rotation, OfTheAdminTokenTakesItsPlaceAtOnce) {
  const std::string named =
      ask("POST", "/admin/v1/tokens", R"({"label": "v", "roles": ["viewer"]})").document()["token"];
  for (int i = 0; i < 100; ++i) {
    const std::string next = generate_token();
    ASSERT_OK(os::write_file_atomically(server_->admin_token_file(), as_bytes(next + "\n")));
    ASSERT_EQ(server_->rotate_files(), 1u);
    EXPECT_EQ(ask("GET", "/admin/v1/jobs").status, 401) << "the one before";
    token_ = next;
    EXPECT_EQ(ask("GET", "/admin/v1/jobs").status, 200);
    EXPECT_EQ(ask_as("Bearer " + named, "GET", "/admin/v1/jobs").status, 200) << "others stay";
  }
  ASSERT_OK(os::write_file_atomically(server_->admin_token_file(), {}));
  EXPECT_EQ(server_->rotate_files(), 0u) << "an empty file is no token";
  EXPECT_EQ(ask("GET", "/admin/v1/jobs").status, 200);
  ASSERT_OK(os::remove_file(server_->admin_token_file()));
  EXPECT_EQ(server_->rotate_files(), 1u) << "the server makes a fresh one";
  EXPECT_EQ(ask("GET", "/admin/v1/jobs").status, 401);
  EXPECT_THAT(read(server_->admin_token_file()), testing::StartsWith("cot_"));
}

}  // namespace
}  // namespace coterie
