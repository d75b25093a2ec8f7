// Uploads that do not come to their end, over a real connection to a server in this process.
#include <gmock/gmock.h>

#include <functional>

#include "base/os/clock.h"
#include "proto/codec/codec.h"
#include "proto/codec/frame.h"
#include "proto/messages/plan_features.h"
#include "proto/messages/top_k.h"
#include "secure/crypto/random.h"
#include "secure/identity/request_signature.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

// Behind GoogleTest's namespace testing, as it opens one of that name within ours.
#include "tests/integration/support/raw_device.h"
#include "tests/integration/support/raw_http.h"

namespace coterie {
namespace {

using coterie::integration::RawDevice;
using coterie::integration::RawHttp;
using nlohmann::json;

constexpr Millis kHold{30'000};
constexpr int kLooksMax = 10'000;  // each is a request to the admin plane, so that the server has had its time

class Uploads : public test::AdminServerTest {
 protected:
  void configure(ServerConfig& config) override { config.shutdown_max = Millis(10); }  // bodies here never come
  void SetUp() override {
    test::AdminServerTest::SetUp();
    create_job(job());
    device_ = std::make_unique<RawDevice>(server_->device_url(), read(server_->ca_file()));
    const json token = ask("POST", "/admin/v1/enrollment-tokens", "{}").document();
    ASSERT_OK(device_->enroll(token["token"]));
    check_in();
  }
  // As a device that knows all that a plan may ask for.
  void check_in() {
    CheckinRequest request{Population("default"), "test", static_cast<uint32_t>(kHold.count())};
    request.features = kKnownFeatures;
    for (;;) {
      const auto answer = device_->api().check_in(device_->id(), request);
      ASSERT_FALSE(std::holds_alternative<Failure>(answer)) << std::get<Failure>(answer).error.message();
      if (const auto* assignment = std::get_if<Assignment>(&answer)) {
        assignment_ = *assignment;
        return;
      }
    }
  }

  virtual json job() const {
    return {{"name", "n"},
            {"privacy", {{"level", "none"}}},
            {"rounds", {{"count", 1}, {"goal_count", 1}, {"pool_min", 1}}}};
  }

  // The signed head of an upload, as it goes over the wire.
  std::string head_of(size_t bytes) const {
    const std::string target = "/v1/rounds/" + std::to_string(assignment_.round.round.value()) + "/updates/" +
                               to_base64url(assignment_.ticket);
    Nonce nonce;
    fill_random(nonce);
    const auto claims =
        sign_request({"PUT", target, bytes, {}}, device_->id(), os::wall_now(), nonce, device_->signer());
    return "PUT " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) +
           "\r\nCoterie-Device: " + device_->id().hex() + "\r\nCoterie-Time: " + std::to_string(unix_ms(claims->time)) +
           "\r\nCoterie-Nonce: " + to_hex(nonce) + "\r\nCoterie-Signature: " + to_base64url(claims->signature) +
           "\r\n\r\n";
  }
  bool bytes_in_flight_become(uint64_t bytes) {
    for (int look = 0; look < kLooksMax; ++look) {
      if (ask("GET", "/admin/v1/server").document()["update_bytes_in_flight"] == bytes) return true;
    }
    return false;
  }

  std::unique_ptr<RawDevice> device_;
  Assignment assignment_;
  const std::vector<float> update_ =
      std::vector<float>(19, 0.0f);  // create_job's model: 2 x 3 weights, padding to 16, 3 biases
};

TEST_F(Uploads, GiveTheirBytesBackWhenTheBodyBreaksOff) {
  constexpr size_t kBytes = 200;
  {
    RawHttp connection(server_->device_url(), read(server_->ca_file()));
    ASSERT_OK(connection.send(head_of(kBytes)));
    ASSERT_OK(connection.send(std::string_view("nine byte")));
    ASSERT_TRUE(bytes_in_flight_become(kBytes)) << "it is admitted";
  }
  EXPECT_TRUE(bytes_in_flight_become(0)) << "the core has heard that it is lost";
  const auto accepted = device_->upload_until_decided(assignment_, update_);
  EXPECT_TRUE(std::holds_alternative<Receipt>(accepted)) << "and takes the device's next one";
}

TEST_F(Uploads, GiveTheirBytesBackWhenTheBodyIsNoUpdate) {
  constexpr size_t kBytes = 200;
  RawHttp connection(server_->device_url(), read(server_->ca_file()));
  ASSERT_OK(connection.send(head_of(kBytes)));
  ASSERT_OK(connection.send(std::string(kBytes, 'x')));
  const Result<std::string> answer = connection.read_answer(kHold);
  ASSERT_OK(answer);
  EXPECT_EQ(coterie::integration::status_of(*answer), 400) << *answer;
  EXPECT_TRUE(bytes_in_flight_become(0));
}

// Indices say where the server writes.
class SparseUploads : public Uploads {
 protected:
  json job() const override {
    json job = Uploads::job();
    job["update"] = {{"compression", {{"kind", "top_k"}, {"share", 0.15}}}};
    return job;
  }
  // An update of this head and payload; what the server says to it.
  int status_after(const std::function<void(UpdateHeader&)>& change, const Bytes& payload) {
    UpdateHeader header{.round = assignment_.round,
                        .model = assignment_.model,
                        .encoding = UpdateEncoding::top_k,
                        .value_count = 19,
                        .weight = 1,
                        .examples = 1,
                        .bits = kTopKFloatBits,
                        .sent_count = 3};
    change(header);
    const Bytes head = encode_head(header);
    const Bytes frame = build_frame(FrameKind::update, Bytes(head.begin() + kPreludeBytes, head.end()), payload);
    RawHttp connection(server_->device_url(), read(server_->ca_file()));
    EXPECT_OK(connection.send(head_of(frame.size())));
    EXPECT_OK(connection.send(as_text(frame)));
    const Result<std::string> answer = connection.read_answer(kHold);
    EXPECT_OK(answer);
    return answer ? coterie::integration::status_of(*answer) : 0;
  }
  // Three values, 0 each, and where they belong: indices 1, 7 and 18 unless these bytes say others.
  static Bytes payload(uint8_t low = 0x2d, uint8_t high = 0x45) {
    Bytes bytes(14);
    bytes[12] = low, bytes[13] = high;
    return bytes;
  }
};

TEST_F(SparseUploads, AreCountedAsThePlanHasThemAndNotOtherwise) {
  const auto nothing = [](UpdateHeader&) {};
  EXPECT_EQ(status_after(nothing, payload(0x3d)), 400) << "index 19 of 19 values";
  EXPECT_EQ(status_after(nothing, payload(0x35, 0x46)), 400) << "one index twice";
  EXPECT_EQ(status_after(nothing, payload(0x2d, 0x05)), 400) << "an index too few";
  EXPECT_EQ(status_after([](UpdateHeader& header) { header.sent_count = 19; }, Bytes(4 * 19 + 5)), 400)
      << "more values than the plan says";
  EXPECT_EQ(status_after([](UpdateHeader& header) { header.bits = 8, header.scale = 1; }, Bytes(5)), 400)
      << "levels where the plan has float32";
  EXPECT_TRUE(bytes_in_flight_become(0));
  EXPECT_EQ(status_after(nothing, payload()), 200);
}

// The server stops while a body is on its way: the coroutine that reads it is destroyed with the server.
TEST_F(Uploads, EndWithTheServer) {
  RawHttp connection(server_->device_url(), read(server_->ca_file()));
  ASSERT_OK(connection.send(head_of(200)));
  ASSERT_OK(connection.send(std::string_view("nine byte")));
  ASSERT_TRUE(bytes_in_flight_become(200));
  client_.reset();
  server_.reset();
  EXPECT_TRUE(connection.is_closed_within(kHold));
}

}  // namespace
}  // namespace coterie
