// Connections that are not let in yet: handshakes at a time, and connections at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <thread>

#include "fl_server/fleet/peer_service.h"
#include "tests/unit/fl_server/net/http_world.h"

namespace coterie {
namespace {

constexpr Millis kForever{3'600'000};

// Whatever is asked here is not found: an answer all the same.
class NoSessions final : public CohortOwner {
 public:
  void cohort_receive(const RoundKey&, const DeviceId&, Bytes, CohortMessage, std::function<void(Status)>) override {}
  void cohort_ask(const RoundKey&, const DeviceId&, CohortQuestion, Millis,
                  std::function<void(Result<CohortReply>)>) override {}
  void cohort_input_arrived(const RoundKey&, const DeviceId&, MaskedInput, std::function<void(Status)>) override {}
};
constexpr int kAnswered = 404;

class HandshakePacing : public test::HttpWorld {
 protected:
  void start(const HttpLimits& limits) {
    static NoSessions nobody;
    HttpWorld::start(limits, std::make_unique<PeerService>(nobody));
  }
  bool comes_to(uint32_t connections) {
    return comes_true([&] { return http_.connections("device") == connections; });
  }
  int ask() {
    integration::RawHttp client = this->client();
    EXPECT_OK(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    const auto answer = client.read_answer(kPatience);
    return answer ? integration::status_of(*answer) : 0;
  }
};

TEST_F(HandshakePacing, MoreThanItsLimitWaitToBeAccepted) {
  start({.handshakes_max = 2, .handshake_turn = kForever, .handshake_max = kForever});
  std::vector<chaos::Socket> sockets;
  for (int i = 0; i < 5; ++i) sockets.push_back(silent());  // the kernel has taken all five
  ASSERT_TRUE(comes_to(2));
  auto client = std::async(std::launch::async, [this] { return ask(); });  // the sixth
  EXPECT_EQ(http_.connections("device"), 2u);
  for (auto& socket : sockets) {  // each that goes makes room for the next
    socket.close();
    EXPECT_LE(http_.connections("device"), 2u);
  }
  EXPECT_EQ(client.get(), kAnswered);
}

TEST_F(HandshakePacing, WhoDawdlesKeepsOthersWaitingForATurnAtMost) {
  start({.handshakes_max = 1, .handshake_turn = Millis(100), .handshake_max = kForever});
  std::vector<chaos::Socket> sockets;
  for (int i = 0; i < 5; ++i) sockets.push_back(silent());
  EXPECT_EQ(ask(), kAnswered);
  EXPECT_GE(http_.connections("device"), 5u) << "they are waited for all the same";
}

TEST_F(HandshakePacing, AHandshakeThatIsDoneMakesRoomForTheNext) {
  start({.handshakes_max = 1, .handshake_turn = kForever});
  integration::RawHttp first("https://127.0.0.1:" + std::to_string(port_), ca_pem_);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(), kAnswered) << "while the first connection stays";
}

TEST_F(HandshakePacing, WhoIsBeyondTheConnectionCapIsCountedAndClosed) {
  start({.connections_max = 2, .handshake_turn = kForever, .handshake_max = kForever});
  const chaos::Socket one = silent(), two = silent();
  ASSERT_TRUE(comes_to(2));
  const chaos::Socket three = silent();
  char byte = 0;
  EXPECT_LE(::recv(three.fd(), &byte, 1, 0), 0) << "closed";
  EXPECT_EQ(http_.connections("device"), 2u);
  EXPECT_THAT(metrics_.exposition(), ::testing::HasSubstr("coterie_requests_refused_total{reason=\"connections\"} 1"));
}

}  // namespace
}  // namespace coterie
