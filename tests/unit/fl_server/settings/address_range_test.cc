#include "fl_server/settings/address_range.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

IpAddress ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}

TEST(AddressRange, OfIpv4HasAllThatBeginAlike) {
  const auto range = AddressRange::parse("10.16.0.0/12");
  ASSERT_TRUE(range);
  EXPECT_TRUE(range->contains(ipv4(10, 16, 0, 0)));
  EXPECT_TRUE(range->contains(ipv4(10, 31, 255, 255)));
  EXPECT_FALSE(range->contains(ipv4(10, 32, 0, 0)));
  EXPECT_FALSE(range->contains(ipv4(10, 15, 255, 255)));
  EXPECT_TRUE(AddressRange::parse("0.0.0.0/0")->contains(ipv4(1, 2, 3, 4)));
  EXPECT_FALSE(AddressRange::parse("0.0.0.0/0")->contains(IpAddress{0x20, 1})) << "no address of IPv6";
}

TEST(AddressRange, OfIpv6AndOfOneAddress) {
  IpAddress address{0xfd, 0x12};
  EXPECT_TRUE(AddressRange::parse("fd00::/8")->contains(address));
  EXPECT_FALSE(AddressRange::parse("fc00::/8")->contains(address));
  EXPECT_TRUE(AddressRange::parse("192.0.2.1")->contains(ipv4(192, 0, 2, 1)));
  EXPECT_FALSE(AddressRange::parse("192.0.2.1")->contains(ipv4(192, 0, 2, 2)));
}

TEST(AddressRange, IsNothingElse) {
  for (const char* text : {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.1/8", "10.0.0/8",
                           "::/129", "fd00::1/64", "example.org", "10.0.0.0 /8"}) {
    EXPECT_FALSE(AddressRange::parse(text)) << text;
  }
}

TEST(AddressRange, OfThisMachineIsLoopback) {
  const auto ranges = loopback_addresses();
  IpAddress one{};
  one[15] = 1;
  EXPECT_TRUE(ranges[0].contains(ipv4(127, 8, 9, 10)));
  EXPECT_TRUE(ranges[1].contains(one));
}

}  // namespace
}  // namespace coterie
