#include "fl_server/serving/grpc/grpc_peer.h"

#include <gtest/gtest.h>

#include "fl_server/net/peer_address.h"

namespace coterie {
namespace {

CallerKey of(const std::string& address) { return caller_of(*read_address(address)); }

TEST(GrpcPeer, IsCountedAsTheSameCallerOverRest) {
  EXPECT_EQ(caller_of_peer("ipv4:192.0.2.1:40000"), of("192.0.2.1"));
  EXPECT_EQ(caller_of_peer("ipv6:%5B2001:db8:1:2::1%5D:40000"), of("2001:db8:1:2::1"));
  EXPECT_EQ(caller_of_peer("ipv6:[2001:db8:1:2::1]:40000"), of("2001:db8:1:2::9")) << "one caller has a /64";
  EXPECT_NE(caller_of_peer("ipv6:[2001:db8:1:3::1]:40000"), of("2001:db8:1:2::1"));
  EXPECT_EQ(caller_of_peer("ipv6:%5B::ffff:192.0.2.1%5D:40000"), of("192.0.2.1")) << "a socket of both families";
  EXPECT_EQ(caller_of_peer("ipv6:%5Bfe80::1%25eth0%5D:40000"), of("fe80::1"));
}

TEST(GrpcPeer, WhatIsNoAddressIsOneCaller) {
  for (const char* peer : {"", "ipv4:", "ipv4:192.0.2:1", "ipv6:%5B%5D:1", "unix:/run/socket", "192.0.2.1:40000"}) {
    EXPECT_EQ(caller_of_peer(peer), CallerKey{}) << peer;
  }
}

}  // namespace
}  // namespace coterie
