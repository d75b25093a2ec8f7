#include "fl_server/serving/grpc/grpc_peer.h"

#include <string>

#include "fl_server/net/peer_address.h"

namespace coterie {

CallerKey caller_of_peer(std::string_view peer) {
  constexpr std::string_view kOpen = "%5B", kClose = "%5D", kZone = "%25";
  if (!peer.starts_with("ipv4:") && !peer.starts_with("ipv6:")) return {};
  peer.remove_prefix(5);
  peer = peer.substr(0, peer.rfind(':'));  // less the port
  for (const std::string_view open : {kOpen, std::string_view("[")}) {
    if (peer.starts_with(open)) peer.remove_prefix(open.size());
  }
  for (const std::string_view close : {kClose, std::string_view("]")}) {
    if (peer.ends_with(close)) peer.remove_suffix(close.size());
  }
  peer = peer.substr(0, peer.find(kZone));  // the interface of a link-local address
  const std::optional<IpAddress> address = read_address(std::string(peer));
  return address ? caller_of(*address) : CallerKey{};
}

}  // namespace coterie
