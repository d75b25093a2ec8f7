// Who a connection is from, as limits count them: an IPv4 address, or the /64 of an IPv6 address, which one caller
// usually has all of.
#pragma once

#include <optional>
#include <string>

#include "fl_server/core/token_buckets.h"
#include "fl_server/net/tls_stream.h"
#include "fl_server/settings/address_range.h"

namespace coterie {

// The zero address if the connection is gone already. An IPv4 address is the same on a socket of either family.
IpAddress peer_of(const Socket& socket);
// The address that a text names; none: it names none.
std::optional<IpAddress> read_address(const std::string& text);
CallerKey caller_of(const IpAddress& address);

}  // namespace coterie
