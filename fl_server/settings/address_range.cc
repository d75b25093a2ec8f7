#include "fl_server/settings/address_range.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace coterie {
namespace {

constexpr uint32_t kIpv4Bits = 32, kIpv6Bits = 128;

}  // namespace

std::optional<AddressRange> AddressRange::parse(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  AddressRange range;
  std::array<uint8_t, 4> ipv4{};
  uint32_t bits_max = kIpv6Bits;
  if (::inet_pton(AF_INET, address.c_str(), ipv4.data()) == 1) {
    bits_max = kIpv4Bits;
    range.first_[10] = range.first_[11] = 0xff;
    std::copy(ipv4.begin(), ipv4.end(), range.first_.begin() + 12);
  } else if (::inet_pton(AF_INET6, address.c_str(), range.first_.data()) != 1) {
    return std::nullopt;
  }
  uint32_t bits = bits_max;
  if (slash != std::string::npos) {
    const char* const begin = text.data() + slash + 1;
    const char* const end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(begin, end, bits);
    if (error != std::errc() || parsed != end || bits > bits_max) return std::nullopt;
  }
  range.bits_ = bits + (kIpv6Bits - bits_max);
  for (uint32_t bit = range.bits_; bit < kIpv6Bits; ++bit) {
    if ((range.first_[bit / 8] >> (7 - bit % 8) & 1) != 0) return std::nullopt;
  }
  return range;
}

bool AddressRange::contains(const IpAddress& address) const {
  const uint32_t whole = bits_ / 8, rest = bits_ % 8;
  if (!std::equal(address.begin(), address.begin() + whole, first_.begin())) return false;
  return rest == 0 || (address[whole] ^ first_[whole]) >> (8 - rest) == 0;
}

std::vector<AddressRange> loopback_addresses() {
  return {*AddressRange::parse("127.0.0.0/8"), *AddressRange::parse("::1")};
}

}  // namespace coterie
