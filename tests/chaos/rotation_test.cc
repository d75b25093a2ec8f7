// A hundred rotations of a real server's certificate while devices take part, and a few of the key of tickets, which
// each take a restart: no new connection fails, and whoever holds a receipt is counted once.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/os/file.h"
#include "secure/crypto/dev_ca.h"
#include "tests/chaos/scene.h"
#include "tests/chaos/stride.h"
#include "tests/support/matchers.h"

namespace coterie::chaos {
namespace {

constexpr uint32_t kRotations = kIsNight ? 100 : 20;
constexpr uint32_t kRotationsATicketKey = 10;
constexpr int kCertificateDays = 5;

class Rotations : public Scene {
 protected:
  std::string data(const std::string& name) const { return directory_ / ("data/" + name); }
  std::string read(const std::string& name) const {
    return std::string(as_text(os::read_file(data(name), 1 << 16).value_or(Bytes())));
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_OK(os::write_file_atomically(data(name), as_bytes(text)));
  }
  // A file after the other, as an operator does it, and one signal for both. The server looks by itself, too.
  void rotate_certificate() {
    const PemPair ca{read("tls/ca.pem"), read("tls/ca-key.pem")};
    const auto leaf = make_server_certificate(ca, {"localhost", "127.0.0.1"}, os::wall_now(), kCertificateDays);
    ASSERT_OK(leaf);
    const size_t before = rotated();
    write("tls/server-key.pem", leaf->private_key);
    write("tls/server.pem", leaf->certificate);
    server_->signal(SIGHUP);
    const Instant until = os::monotonic_now() + kPatience;
    while (rotated() == before && os::monotonic_now() < until) audit_.wait_for_receipts(1);
    EXPECT_GT(rotated(), before) << server_->log();
  }
  // How often this process of the server has taken a certificate.
  size_t rotated() const {
    constexpr std::string_view kLine = R"("files_rotated","what":"tls")";
    const std::string log = server_->log();
    size_t count = 0;
    for (size_t at = log.find(kLine); at != std::string::npos; at = log.find(kLine, at + 1)) ++count;
    return count;
  }
  // A connection of its own, to the certificate of now.
  void expect_fresh_connections() {
    const auto client = integration::connect_to(server_->device_url(), server_->ca_pem());
    const TransportRequest health{.method = "GET", .target = "/healthz", .headers = {}, .content_type = {}, .body = {}};
    const auto answer = client->send(health, [](const TransportResponse&, ByteView) { return Status(); });
    ASSERT_OK(answer);
    EXPECT_EQ(answer->status, 200);
  }
};

TEST_F(Rotations, OfCertificatesAndTicketKeysUnderLoadFailNobody) {
  ASSERT_OK(start());
  begin();
  ASSERT_TRUE(has_begun());
  ASSERT_TRUE(wait_for_rounds(1));
  uint32_t restarts = 0;
  for (uint32_t i = 1; i <= kRotations && !HasFailure(); ++i) {
    SCOPED_TRACE("rotation " + std::to_string(i));
    rotate_certificate();
    expect_fresh_connections();
    if (i % kRotationsATicketKey != 0) continue;
    // Tickets of the round that goes on are of the key before.
    audit_.wait_for_receipts(1 + i % kGoal);
    std::filesystem::rename(data("keys/ticket.key"), data("keys/ticket-old.key"));
    shut_the_door();
    server_->signal(SIGTERM);
    ASSERT_EQ(server_->wait(), 0);
    ASSERT_OK(start());
    ++restarts;
    ASSERT_TRUE(wait_for_rounds(1));
  }
  const uint64_t rounds = end();
  EXPECT_GE(rounds, 1 + restarts);
  std::printf("%u certificates and %u keys of tickets replaced, %llu receipts and %llu rounds audited\n", kRotations,
              restarts, static_cast<unsigned long long>(audit_.receipts()), static_cast<unsigned long long>(rounds));
}

}  // namespace
}  // namespace coterie::chaos
