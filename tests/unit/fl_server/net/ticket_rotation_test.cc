// The key that makes tickets is replaced while a device trains.
#include <gmock/gmock.h>

#include "tests/unit/fl_server/admin_api/admin_server.h"

// Behind GoogleTest's namespace testing, as it opens one of that name within ours.
#include "tests/integration/support/raw_device.h"

namespace coterie {
namespace {

using coterie::integration::RawDevice;
using nlohmann::json;

constexpr Millis kHold{30'000};

class TicketRotation : public test::AdminServerTest {
 protected:
  void configure(ServerConfig& config) override { config.device.port = device_port_; }
  void restart() {
    const std::string url = server_->device_url();
    device_port_ = static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    server_.reset();
    SetUp();
  }
  // An assignment of a job for one device, one round.
  Assignment assignment_of_a_device() {
    create_job({{"name", "n"},
                {"privacy", {{"level", "none"}}},
                {"rounds", {{"count", 1}, {"goal_count", 1}, {"pool_min", 1}}}});
    device_ = std::make_unique<RawDevice>(server_->device_url(), read(server_->ca_file()));
    const json token = ask("POST", "/admin/v1/enrollment-tokens", "{}").document();
    EXPECT_OK(device_->enroll(token["token"]));
    const Result<Assignment> assignment = device_->wait_for_assignment(kHold);
    EXPECT_OK(assignment);
    return assignment.value_or(Assignment{});
  }
  std::string keys(const char* name) { return directory_ / ("data/keys/" + std::string(name)); }
  void rename(const char* from, const char* to) { ASSERT_EQ(std::rename(keys(from).c_str(), keys(to).c_str()), 0); }

  uint16_t device_port_ = 0;
  std::unique_ptr<RawDevice> device_;
  const std::vector<float> update_ =
      std::vector<float>(19, 0.0f);  // create_job's model: 2 x 3 weights, padding to 16, 3 biases
};

TEST_F(TicketRotation, TakesTicketsOfTheKeyBefore) {
  const Assignment assignment = assignment_of_a_device();
  rename("ticket.key", "ticket-old.key");
  restart();
  const auto accepted = device_->upload_until_decided(assignment, update_);
  EXPECT_TRUE(std::holds_alternative<Receipt>(accepted)) << std::get<Failure>(accepted).error.message();
}

TEST_F(TicketRotation, RefusesTicketsOfAKeyThatIsGoneAlsoWithoutARestart) {
  const Assignment assignment = assignment_of_a_device();
  rename("ticket.key", "ticket-old.key");
  restart();
  rename("ticket-old.key", "gone.key");
  EXPECT_EQ(server_->rotate_files(), 1u);
  const auto refused = device_->upload(assignment, update_);
  EXPECT_FALSE(std::holds_alternative<Receipt>(refused));
  rename("gone.key", "ticket-old.key");
  EXPECT_EQ(server_->rotate_files(), 1u);
  EXPECT_TRUE(std::holds_alternative<Receipt>(device_->upload_until_decided(assignment, update_)));
}

TEST_F(TicketRotation, SaysWhichKeyFileIsNone) {
  ASSERT_OK(os::write_file_atomically(keys("ticket-old.key"), as_bytes(std::string_view("short"))));
  EXPECT_EQ(server_->rotate_files(), 0u);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

}  // namespace
}  // namespace coterie
