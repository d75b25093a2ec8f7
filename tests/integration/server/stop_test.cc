// SIGTERM: what is under way is finished, what is new is refused, nothing is lost.
#include <csignal>
#include <thread>

#include "base/os/clock.h"
#include "proto/codec/codec.h"
#include "secure/crypto/random.h"
#include "secure/identity/request_signature.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/raw_http.h"

namespace coterie::integration {
namespace {

using Stop = ServerTest;

// The head of a signed PUT of an update, to be followed by its body.
std::string upload_head(const RawDevice& device, const Assignment& assignment, size_t body_bytes) {
  const std::string target =
      "/v1/rounds/" + std::to_string(assignment.round.round.value()) + "/updates/" + to_base64url(assignment.ticket);
  Nonce nonce;
  fill_random(nonce);
  const auto claims =
      sign_request({"PUT", target, body_bytes, {}}, device.id(), os::wall_now(), nonce, device.signer());
  return "PUT " + target + " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body_bytes) +
         "\r\nCoterie-Device: " + device.id().hex() + "\r\nCoterie-Time: " + std::to_string(unix_ms(claims->time)) +
         "\r\nCoterie-Nonce: " + to_hex(nonce) + "\r\nCoterie-Signature: " + to_base64url(claims->signature) +
         "\r\n\r\n";
}

TEST_F(Stop, LetsAnUploadThatHasBegunFinishAndCountsIt) {
  start();
  const auto job = admin_->create_job(flat_model(16'384), spec_for(1, 1));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  const auto assignment = device->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  const std::vector<float> values = one_hot(16'384, 7);
  Bytes body = encode_head(UpdateHeader{.round = assignment->round,
                                        .model = assignment->model,
                                        .value_count = values.size(),
                                        .weight = 1,
                                        .examples = 1,
                                        .loss_sum = 0,
                                        .correct = 0,
                                        .train_ms = 0});
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  body.insert(body.end(), bytes, bytes + values.size() * sizeof(float));

  RawHttp upload(server_->device_url(), server_->ca_pem());
  ASSERT_TRUE(test::is_ok(upload.send(upload_head(*device, *assignment, body.size()))));
  ASSERT_TRUE(test::is_ok(upload.send(ByteView(body).first(body.size() / 2))));
  // It has begun as soon as the server counts its bytes; what has only been sent is a connection that is idle.
  for (uint64_t bytes_in_flight = 0; bytes_in_flight == 0;) {
    const auto state = admin_->ask("GET", "/admin/v1/server");
    ASSERT_TRUE(test::is_ok(state));
    bytes_in_flight = (*state)["update_bytes_in_flight"];
  }
  server_->signal(SIGTERM);
  ASSERT_TRUE(server_->wait_for_log("\"server_stopping\"", kPatience));
  ASSERT_TRUE(test::is_ok(upload.send(ByteView(body).subspan(body.size() / 2))));
  const auto answer = upload.read_answer(kPatience);
  ASSERT_TRUE(test::is_ok(answer));
  EXPECT_EQ(status_of(*answer), 200) << *answer;
  EXPECT_EQ(server_->wait(), 0) << server_->log();

  start();
  ASSERT_TRUE(wait_for_job(*job, "completed"));
  const auto weights = admin_->download_weights(*job, 1);
  ASSERT_TRUE(test::is_ok(weights));
  EXPECT_FLOAT_EQ((*weights)[7], 1.0f);
}

TEST_F(Stop, SendsWaitingDevicesAwayAndExitsSoon) {
  start();
  const auto device = enrolled_device();
  std::thread waiting([&] {
    const auto answer = device->api().check_in(device->id(), {Population("default"), "test", 60'000});
    EXPECT_TRUE(std::holds_alternative<RetryWindow>(answer));
  });
  // The check-in is held as soon as the server counts it.
  for (int waiters = 0; waiters == 0;) {
    const auto state = admin_->ask("GET", "/admin/v1/server");
    ASSERT_TRUE(test::is_ok(state));
    waiters = (*state)["devices_waiting"].value("default", 0);
  }
  server_->signal(SIGTERM);
  waiting.join();
  EXPECT_EQ(server_->wait(), 0);
}

TEST_F(Stop, ASecondServerOnTheSameDirectoryIsRefusedWithTheReason) {
  start();
  const auto second = ServerProcess::start({.data_dir = directory_ / "data", .config = {}});
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message().find("another server runs on data directory"), std::string::npos)
      << second.error().message();
}

}  // namespace
}  // namespace coterie::integration
