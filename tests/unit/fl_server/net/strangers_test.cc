// Connections whose sender nobody knows: few an address, short when idle, the first to go.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include "tests/unit/fl_server/net/http_world.h"

namespace coterie {
namespace {

using ::testing::HasSubstr;

constexpr Millis kForever{3'600'000};

bool is_closed(const chaos::Socket& socket) {
  char byte = 0;
  return ::recv(socket.fd(), &byte, 1, 0) <= 0;
}

class Strangers : public test::HttpWorld {
 protected:
  static HttpLimits limits(uint32_t connections, uint32_t of_an_address) {
    HttpLimits limits;
    limits.connections_max = connections;
    limits.connections_per_address_max = of_an_address;
    limits.trusted_addresses = {};
    limits.handshake_max = limits.handshake_turn = kForever;
    limits.stranger_grace = Millis(0);
    return limits;
  }
  bool is_answered(integration::RawHttp& client) {
    EXPECT_OK(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    return client.read_answer(kPatience).has_value();
  }
  bool comes_to(uint32_t connections) {
    return comes_true([&] { return http_.connections("device") == connections; });
  }

  void start(const HttpLimits& limits) {
    auto service = std::make_unique<test::BodyReader>(0);
    knows_its_senders_ = &service->knows_its_senders;
    HttpWorld::start(limits, std::move(service));
  }

  std::atomic<bool>* knows_its_senders_ = nullptr;
};

TEST_F(Strangers, OfOneAddressAreLetInUpToItsLimitAlsoWhileTheySayNothing) {
  start(limits(100, 2));
  const auto one = silent(), two = silent();
  ASSERT_TRUE(comes_to(2));
  EXPECT_TRUE(is_closed(silent()));
  EXPECT_EQ(http_.connections("device"), 2u);
  EXPECT_THAT(metrics_.exposition(), HasSubstr("coterie_requests_refused_total{reason=\"address_connections\"} 1"));
}

TEST_F(Strangers, OfTrustedAddressesAreNotCounted) {
  HttpLimits limits = Strangers::limits(100, 2);
  limits.trusted_addresses = loopback_addresses();
  start(limits);
  std::vector<chaos::Socket> sockets;
  for (int i = 0; i < 5; ++i) sockets.push_back(silent());
  EXPECT_TRUE(comes_to(5));
}

TEST_F(Strangers, MakeRoomWhereAllPlacesAreTaken) {
  start(limits(2, 100));
  auto device = client();
  *knows_its_senders_ = true;
  ASSERT_TRUE(is_answered(device));
  const auto stranger = silent();
  ASSERT_TRUE(comes_to(2));
  auto newcomer = client();
  EXPECT_TRUE(is_answered(newcomer));
  EXPECT_TRUE(is_closed(stranger));
  EXPECT_TRUE(is_answered(device)) << "who is known stays";
  EXPECT_THAT(metrics_.exposition(), HasSubstr("coterie_requests_refused_total{reason=\"stranger_evicted\"} 1"));
}

TEST_F(Strangers, AreNotIdleForLong) {
  HttpLimits limits = Strangers::limits(100, 100);
  limits.idle_max = kForever;
  limits.stranger_idle_max = Millis(300);
  start(limits);
  auto stranger = client(), device = client();
  ASSERT_TRUE(is_answered(stranger));
  *knows_its_senders_ = true;
  ASSERT_TRUE(is_answered(device));
  EXPECT_TRUE(stranger.is_closed_within(kPatience));
  EXPECT_TRUE(is_answered(device));
}

}  // namespace
}  // namespace coterie
