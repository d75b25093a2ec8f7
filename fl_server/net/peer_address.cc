#include "fl_server/net/peer_address.h"

#include <algorithm>
#include <boost/asio/ip/address_v6.hpp>
#include <cstring>

namespace coterie {
namespace {

constexpr size_t kNetworkBytes = 8;
constexpr std::array<uint8_t, 12> kIpv4Prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

IpAddress peer_of(const Socket& socket) {
  boost::system::error_code error;
  const auto peer = socket.remote_endpoint(error).address();
  if (error) return {};
  if (peer.is_v6()) return peer.to_v6().to_bytes();
  return asio::ip::make_address_v6(asio::ip::v4_mapped, peer.to_v4()).to_bytes();
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
