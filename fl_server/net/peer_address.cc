#include "fl_server/net/peer_address.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cstring>

namespace coterie {
namespace {

constexpr size_t kNetworkBytes = 8;
constexpr std::array<uint8_t, 12> kIpv4Prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

IpAddress bytes_of(const asio::ip::address& address) {
  if (address.is_v6()) return address.to_v6().to_bytes();
  return asio::ip::make_address_v6(asio::ip::v4_mapped, address.to_v4()).to_bytes();
}

}  // namespace

IpAddress peer_of(const Socket& socket) {
  boost::system::error_code error;
  const auto peer = socket.remote_endpoint(error).address();
  return error ? IpAddress{} : bytes_of(peer);
}

std::optional<IpAddress> read_address(const std::string& text) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(text, error);
  return error ? std::nullopt : std::optional(bytes_of(address));
}

CallerKey caller_of(const IpAddress& address) {
  CallerKey key{};
  if (std::equal(kIpv4Prefix.begin(), kIpv4Prefix.end(), address.begin())) {
    std::memcpy(key.data(), address.data(), address.size());
  } else {
    std::memcpy(key.data(), address.data(), kNetworkBytes);
  }
  return key;
}

}  // namespace coterie
