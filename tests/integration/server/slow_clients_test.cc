// Clients that take their time: closed by the named deadlines, while others are served as ever.
#include <thread>

#include "tests/integration/support/fixture.h"
#include "tests/integration/support/raw_http.h"

namespace coterie::integration {
namespace {

// Far below what a real client needs in a test, far above nothing.
constexpr const char* kImpatient =
    "\"device\": {\"head_ms_max\": 400, \"idle_ms_max\": 400, \"handshake_ms_max\": 5000, \"body_grace_ms\": 400, "
    "\"body_bytes_per_second_min\": 1000000, \"answer_ms_max\": 20000}";

class SlowClients : public ServerTest {
 protected:
  void SetUp() override { start(kImpatient); }
  std::unique_ptr<RawHttp> connect() { return std::make_unique<RawHttp>(server_->device_url(), server_->ca_pem()); }
};

TEST_F(SlowClients, AreClosedWhetherTheyDawdleInTheHeadTheBodyOrBetweenRequests) {
  const auto silent = connect();
  const auto half_head = connect();
  ASSERT_TRUE(test::is_ok(half_head->send("POST /v1/checkins HTTP/1.1\r\nHost: x\r\nX-Slow: ")));
  const auto half_body = connect();
  ASSERT_TRUE(
      test::is_ok(half_body->send("POST /v1/checkins HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhello")));
  EXPECT_TRUE(silent->is_closed_within(kPatience));
  EXPECT_TRUE(half_head->is_closed_within(kPatience));
  EXPECT_TRUE(half_body->is_closed_within(kPatience));
}

TEST_F(SlowClients, DoNotKeepOthersFromFinishingARound) {
  std::vector<std::unique_ptr<RawHttp>> dawdlers;
  for (int i = 0; i < 60; ++i) {
    dawdlers.push_back(connect());
    ASSERT_TRUE(test::is_ok(dawdlers.back()->send("PUT /v1/rounds/1/updates/x HTTP/1.1\r\nHost: x\r\nX-Slow: ")));
  }
  const auto job = admin_->create_job(flat_model(16), spec_for(1, 3));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  for (int round = 0; round < 3; ++round) {
    const auto assignment = device->wait_for_assignment(kPatience);
    ASSERT_TRUE(test::is_ok(assignment));
    const auto outcome = device->upload_until_decided(*assignment, one_hot(16, 0));
    ASSERT_TRUE(std::holds_alternative<Receipt>(outcome)) << failure_of(outcome).message();
  }
  ASSERT_TRUE(wait_for_model(3));
  for (const auto& dawdler : dawdlers) EXPECT_TRUE(dawdler->is_closed_within(kPatience));
}

TEST_F(SlowClients, BeyondTheConnectionCapAreTurnedAwayAtOnce) {
  server_->kill();
  start("\"device\": {\"connections_max\": 4}");
  std::vector<std::unique_ptr<RawHttp>> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(connect());
    ASSERT_TRUE(test::is_ok(held.back()->send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")));
    ASSERT_TRUE(test::is_ok(held.back()->read_answer(kPatience)));
  }
  const auto trust = TlsTrust::make(server_->ca_pem());
  ASSERT_TRUE(test::is_ok(trust));
  const auto fifth = TlsSocket::connect("127.0.0.1", server_->device_port(), *trust, kPatience, nullptr);
  EXPECT_FALSE(fifth.has_value());
}

}  // namespace
}  // namespace coterie::integration
