// Certificates and the admin token are replaced while the server runs, and nobody's request fails.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/os/clock.h"
#include "secure/crypto/dev_ca.h"
#include "secure/identity/bearer_token.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using test::Answer;

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
