// The doctor on a real directory: what it sees of keys, of a database and of a port that is taken.
#include "tools/doctor/machine.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/config/server_config.h"
#include "fl_server/store/schema.h"
#include "fl_server/store/sql/sqlite.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

using ::testing::HasSubstr;

class DoctorMachine : public ::testing::Test {
 protected:
  DoctorMachine() {
    config_.data_dir = directory_ / "data";
    config_.device.port = config_.admin.port = 0;  // the system chooses
  }

  // The worst that is said of the subject; unseen if nothing is.
  Finding find(const std::string& subject, bool is_running = false) {
    Findings findings = look_at_machine(config_, is_running, os::wall_now());
    std::erase_if(findings, [&](const Finding& finding) { return finding.subject != subject; });
    if (findings.empty()) return {Health::unseen, subject, "nothing was said of it", {}};
    return *std::ranges::max_element(findings, {}, &Finding::health);
  }

  test::TemporaryDirectory directory_;
  ServerConfig config_;
};

TEST_F(DoctorMachine, ADirectoryThatIsNotThereIsNoFault) {
  EXPECT_EQ(find("data directory").health, Health::good);
  EXPECT_EQ(find("database").health, Health::good);
  EXPECT_EQ(find("device plane").health, Health::good);
}

TEST_F(DoctorMachine, AKeyThatOthersMayReadIsNamed) {
  const std::string keys = config_.data_dir + "/keys";
  ASSERT_TRUE(os::make_directories(keys));
  ASSERT_TRUE(os::write_file_atomically(keys + "/signing.key", as_bytes("secret")));
  EXPECT_EQ(find("keys").health, Health::good);
  ASSERT_EQ(::chmod((keys + "/signing.key").c_str(), 0644), 0);
  const Finding finding = find("keys");
  EXPECT_EQ(finding.health, Health::bad);
  EXPECT_THAT(finding.advice, HasSubstr("signing.key"));
}

TEST_F(DoctorMachine, ADatabaseOfANewerServerIsBad) {
  ASSERT_TRUE(os::make_directories(config_.data_dir));
  {
    Result<Database> database = open_sqlite(config_.data_dir + "/coterie.sqlite3");
    ASSERT_TRUE(database);
    ASSERT_TRUE(prepare_schema(*database));
  }
  EXPECT_EQ(find("database").health, Health::good);
  {
    Result<Database> database = open_sqlite(config_.data_dir + "/coterie.sqlite3");
    ASSERT_TRUE(database->execute("PRAGMA user_version = 1000"));
  }
  EXPECT_EQ(find("database").health, Health::bad);
}

TEST_F(DoctorMachine, APortThatIsTakenIsNamedUnlessItIsTheServersOwn) {
  const os::File socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(socket.fd(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket.fd(), 1), 0);
  ASSERT_EQ(::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  config_.device.address = "127.0.0.1";
  config_.device.port = ntohs(address.sin_port);
  const Finding finding = find("device plane");
  EXPECT_EQ(finding.health, Health::bad);
  EXPECT_THAT(finding.seen, HasSubstr("port " + std::to_string(config_.device.port)));
  EXPECT_EQ(find("device plane", true).health, Health::unseen);
}

TEST_F(DoctorMachine, ACertificateThatCannotBeReadIsBad) {
  config_.tls.certificate_file = directory_ / "none.pem";
  const Finding finding = find("certificate");
  EXPECT_EQ(finding.health, Health::bad);
  EXPECT_THAT(finding.seen, HasSubstr("none.pem"));
}

}  // namespace
}  // namespace coterie
