// Bad input over real connections: each a clear answer, nothing lost, nothing crashed, and the round goes on.
#include <cmath>
#include <limits>
#include <thread>

#include "base/os/clock.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/random.h"
#include "secure/identity/request_signature.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/raw_http.h"

namespace coterie::integration {
namespace {

constexpr size_t kValues = 64;

class Hostile : public ServerTest {
 protected:
  void SetUp() override {
    start();
    job_ = *admin_->create_job(flat_model(kValues), spec_for(2, 1));
    device_ = enrolled_device();
    other_ = enrolled_device();
    std::thread waiting([&] { theirs_ = other_->wait_for_assignment(kPatience).value(); });
    mine_ = device_->wait_for_assignment(kPatience).value();
    waiting.join();
  }

  // After whatever was done to it, the server finishes the round with exactly these two devices.
  void TearDown() override {
    if (!server_ || IsSkipped()) return;
    EXPECT_TRUE(std::holds_alternative<Receipt>(device_->upload_until_decided(mine_, one_hot(kValues, 0))));
    EXPECT_TRUE(std::holds_alternative<Receipt>(other_->upload_until_decided(theirs_, one_hot(kValues, 1))));
    ASSERT_TRUE(wait_for_model(1)) << server_->log();
    const auto weights = admin_->download_weights(job_, 1);
    ASSERT_TRUE(test::is_ok(weights));
    for (size_t i = 0; i < kValues; ++i) EXPECT_FLOAT_EQ((*weights)[i], i < 2 ? 0.5f : 0.0f);
  }

  UpdateHeader header() const {
    return {.round = mine_.round,
            .model = mine_.model,
            .value_count = kValues,
            .weight = 1,
            .examples = 1,
            .loss_sum = 0,
            .correct = 0,
            .train_ms = 0};
  }
  static Bytes frame_of(const UpdateHeader& header, const std::vector<float>& values) {
    Bytes frame = encode_head(header);
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    frame.insert(frame.end(), bytes, bytes + values.size() * sizeof(float));
    return frame;
  }
  // The signed head of an upload, as it goes over the wire.
  static std::string head_of(const RawDevice& device, const Assignment& assignment, size_t bytes) {
    const std::string target =
        "/v1/rounds/" + std::to_string(assignment.round.round.value()) + "/updates/" + to_base64url(assignment.ticket);
    Nonce nonce;
    fill_random(nonce);
    const auto claims = sign_request({"PUT", target, bytes, {}}, device.id(), os::wall_now(), nonce, device.signer());
    return "PUT " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) +
           "\r\nCoterie-Device: " + device.id().hex() + "\r\nCoterie-Time: " + std::to_string(unix_ms(claims->time)) +
           "\r\nCoterie-Nonce: " + to_hex(nonce) + "\r\nCoterie-Signature: " + to_base64url(claims->signature) +
           "\r\n\r\n";
  }
  Error refusal_of(const Bytes& frame) { return failure_of(device_->api().upload(device_->id(), mine_, frame)); }

  std::string job_;
  std::unique_ptr<RawDevice> device_, other_;
  Assignment mine_, theirs_;
};

TEST_F(Hostile, UpdatesWithBadValuesShapesOrOriginsAreMalformed) {
  const std::vector<float> good = one_hot(kValues, 0);
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity(), -1e30f}) {
    std::vector<float> values = good;
    values[kValues - 1] = value;
    EXPECT_EQ(refusal_of(frame_of(header(), values)).code(), ErrorCode::malformed) << value;
  }
  UpdateHeader shorter = header();
  shorter.value_count = kValues - 16;
  EXPECT_EQ(refusal_of(frame_of(shorter, std::vector<float>(kValues - 16))).code(), ErrorCode::malformed);
  UpdateHeader heavy = header();
  heavy.weight = 1u << 24;
  EXPECT_EQ(refusal_of(frame_of(heavy, good)).code(), ErrorCode::malformed);
  UpdateHeader stale = header();
  stale.model = content_digest(as_bytes("another model"));
  EXPECT_EQ(refusal_of(frame_of(stale, good)).code(), ErrorCode::malformed);
  UpdateHeader elsewhere = header();
  elsewhere.round.attempt = Attempt(9);
  EXPECT_EQ(refusal_of(frame_of(elsewhere, good)).code(), ErrorCode::malformed);
}

TEST_F(Hostile, FramesTruncatedAtEveryByteGarbageAndOtherVersionsAreRefused) {
  const Bytes whole = frame_of(header(), one_hot(kValues, 0));
  for (size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 37) {
    EXPECT_EQ(refusal_of(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))).code(),
              ErrorCode::malformed)
        << size;
  }
  Bytes version = whole;
  version[4] = 2;
  EXPECT_EQ(refusal_of(version).code(), ErrorCode::unsupported_version);
  EXPECT_EQ(refusal_of(random_bytes(whole.size())).code(), ErrorCode::malformed);
  EXPECT_EQ(refusal_of(Bytes(1 << 20)).code(), ErrorCode::too_large);
}

TEST_F(Hostile, TicketsOfOthersForgedOrOfAnotherRoundDoNotLetAnybodyIn) {
  const Bytes frame = frame_of(header(), one_hot(kValues, 0));
  Assignment foreign = mine_;
  foreign.ticket = theirs_.ticket;
  EXPECT_EQ(failure_of(device_->api().upload(device_->id(), foreign, frame)).code(), ErrorCode::permission_denied);
  Assignment forged = mine_;
  forged.ticket[20] ^= 1;
  EXPECT_EQ(failure_of(device_->api().upload(device_->id(), forged, frame)).code(), ErrorCode::unauthenticated);
  Assignment moved = mine_;
  moved.round.round = RoundId(999);
  EXPECT_EQ(failure_of(device_->api().upload(device_->id(), moved, frame)).code(), ErrorCode::permission_denied);
}

TEST_F(Hostile, StrangersBadSignaturesAndRevokedDevicesAreTurnedAway) {
  RawDevice stranger(server_->device_url(), server_->ca_pem());
  EXPECT_TRUE(test::fails_with(stranger.enroll("cot_not-a-token"), ErrorCode::unauthenticated, "token"));
  const auto unknown =
      stranger.api().check_in(device_id_of(stranger.signer().public_key()), {Population("default"), "", 0});
  ASSERT_TRUE(std::holds_alternative<Failure>(unknown));
  EXPECT_EQ(std::get<Failure>(unknown).error.code(), ErrorCode::unauthenticated);
  // Somebody else's name under one's own signature.
  const auto masked = stranger.api().check_in(device_->id(), {Population("default"), "", 0});
  ASSERT_TRUE(std::holds_alternative<Failure>(masked));
  EXPECT_EQ(std::get<Failure>(masked).error.code(), ErrorCode::unauthenticated);

  const auto revoked = enrolled_device();
  ASSERT_TRUE(test::is_ok(admin_->ask("POST", "/admin/v1/devices/" + revoked->id().hex() + ":revoke")));
  const auto turned_away = revoked->api().check_in(revoked->id(), {Population("default"), "", 0});
  ASSERT_TRUE(std::holds_alternative<Failure>(turned_away));
  EXPECT_EQ(std::get<Failure>(turned_away).error.code(), ErrorCode::permission_denied);
}

TEST_F(Hostile, AReplayedOrStaleRequestIsNotBelieved) {
  const Bytes body = encode(CheckinRequest{Population("default"), "test", 0});
  const Digest digest = content_digest(body);
  const auto request_at = [&](WallTime time, const Nonce& nonce) {
    const auto claims =
        sign_request({"POST", "/v1/checkins", body.size(), digest}, device_->id(), time, nonce, device_->signer());
    return "POST /v1/checkins HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nCoterie-Device: " + device_->id().hex() + "\r\nCoterie-Time: " + std::to_string(unix_ms(time)) +
           "\r\nCoterie-Nonce: " + to_hex(nonce) + "\r\nCoterie-Digest: " + digest.hex() +
           "\r\nCoterie-Signature: " + to_base64url(claims->signature) + "\r\n\r\n" + std::string(as_text(body));
  };
  Nonce nonce;
  fill_random(nonce);
  const std::string once = request_at(os::wall_now(), nonce);
  RawHttp connection(server_->device_url(), server_->ca_pem());
  ASSERT_TRUE(test::is_ok(connection.send(once)));
  EXPECT_EQ(status_of(*connection.read_answer(kPatience)), 200);
  ASSERT_TRUE(test::is_ok(connection.send(once)));
  EXPECT_EQ(status_of(*connection.read_answer(kPatience)), 401);
  fill_random(nonce);
  ASSERT_TRUE(test::is_ok(connection.send(request_at(os::wall_now() - std::chrono::hours(1), nonce))));
  EXPECT_EQ(status_of(*connection.read_answer(kPatience)), 401);
}

TEST_F(Hostile, HttpThatIsWrongIsAnsweredWithTheRightStatus) {
  struct Case {
    const char* what;
    std::string request;
    int status;
  };
  const std::vector<Case> cases = {
      {"garbage", "\x16\x03\x01 hello\r\n\r\n", 400},
      {"no such route", "GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404},
      {"an admin route", "GET /admin/v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n", 404},
      {"dot segments", "GET /v1/../admin HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"chunked", "PUT /v1/rounds/1/updates/AA HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       411},
      {"unsigned, without a length", "PUT /v1/rounds/1/updates/AA HTTP/1.1\r\nHost: x\r\n\r\n", 401},
      {"two lengths", "POST /v1/checkins HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      {"unsigned", "GET /v1/models/" + std::string(64, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", 401},
      {"unsigned and large", "POST /v1/checkins HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 401},
      {"a session message that somebody else signed, its body not sent",
       "POST /v1/rounds/1/session/AAAA HTTP/1.1\r\nHost: x\r\nContent-Length: 262272\r\nCoterie-Device: " +
           std::string(32, 'a') + "\r\nCoterie-Time: 1\r\nCoterie-Nonce: " + std::string(32, 'b') +
           "\r\nCoterie-Digest: " + std::string(64, 'c') + "\r\nCoterie-Signature: AAAA\r\n\r\n",
       401},
      {"large enrollment", "POST /v1/enrollments HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 413},
      {"large head", "GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + std::string(20'000, 'y') + "\r\n\r\n", 431},
      {"not HTTP/1", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
  };
  for (const Case& bad : cases) {
    RawHttp connection(server_->device_url(), server_->ca_pem());
    ASSERT_TRUE(test::is_ok(connection.send(bad.request))) << bad.what;
    const auto answer = connection.read_answer(kPatience);
    ASSERT_TRUE(test::is_ok(answer)) << bad.what;
    EXPECT_EQ(status_of(*answer), bad.status) << bad.what << ": " << *answer;
  }
}

TEST_F(Hostile, AConnectionCutInMidUploadLeavesNothingBehind) {
  const Bytes frame = frame_of(header(), one_hot(kValues, 5));
  for (size_t cut : {size_t{0}, size_t{30}, frame.size() - 1}) {
    RawHttp connection(server_->device_url(), server_->ca_pem());
    ASSERT_TRUE(test::is_ok(connection.send(head_of(*device_, mine_, frame.size()))));
    ASSERT_TRUE(test::is_ok(connection.send(ByteView(frame).first(cut))));
  }
}

TEST_F(Hostile, AnUploadAfterTheRoundIsOverIsToldSo) {
  const auto late = enrolled_device();
  const nlohmann::json spec = spec_for(1, 1);
  // A round of its own with one place, which the late device gets and lets pass.
  const auto job = admin_->create_job(flat_model(kValues), spec);
  ASSERT_TRUE(test::is_ok(job));
  const auto assignment = late->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  ASSERT_TRUE(test::is_ok(admin_->ask("POST", "/admin/v1/jobs/" + *job + ":cancel")));
  ASSERT_TRUE(server_->wait_for_log("\"round_failed\"", kPatience));
  const auto outcome = late->upload_until_decided(*assignment, one_hot(kValues, 3));
  EXPECT_EQ(failure_of(outcome).code(), ErrorCode::round_closed) << failure_of(outcome).message();
}

TEST_F(Hostile, ABodyWhoseRoundEndsWhileItIsOnItsWayIsToldSo) {
  const auto late = enrolled_device();
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, 1));
  ASSERT_TRUE(test::is_ok(job));
  const auto assignment = late->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  UpdateHeader of_late = header();
  of_late.round = assignment->round;
  of_late.model = assignment->model;
  const Bytes frame = frame_of(of_late, one_hot(kValues, 3));
  RawHttp told(server_->device_url(), server_->ca_pem()), gone(server_->device_url(), server_->ca_pem());
  for (RawHttp* connection : {&told, &gone}) {
    ASSERT_TRUE(test::is_ok(connection->send(head_of(*late, *assignment, frame.size()))));
    ASSERT_TRUE(test::is_ok(connection->send(ByteView(frame).first(9))));
  }
  const auto bytes_in_flight = [&] {
    return (*admin_->ask("GET", "/admin/v1/server"))["update_bytes_in_flight"].get<size_t>();
  };
  while (bytes_in_flight() < 2 * frame.size()) std::this_thread::yield();
  ASSERT_TRUE(test::is_ok(admin_->ask("POST", "/admin/v1/jobs/" + *job + ":cancel")));
  ASSERT_TRUE(server_->wait_for_log("\"round_failed\"", kPatience));
  // The device plane hears of it a moment after the line is written.
  const Instant until = os::monotonic_now() + kPatience;
  while (bytes_in_flight() != 0 && os::monotonic_now() < until) std::this_thread::yield();
  EXPECT_EQ(bytes_in_flight(), 0u);
  ASSERT_TRUE(test::is_ok(told.send(ByteView(frame).subspan(9))));
  const auto answer = told.read_answer(kPatience);
  ASSERT_TRUE(test::is_ok(answer));
  EXPECT_EQ(status_of(*answer), 409);
}

}  // namespace
}  // namespace coterie::integration
