// Who a call is from, as limits count callers: gRPC names peers by URIs ("ipv4:192.0.2.1:40000",
// "ipv6:%5B2001:db8::1%5D:40000"; grpc/src/core/lib/address_utils).
#pragma once

#include <string_view>

#include "fl_server/core/token_buckets.h"

namespace coterie {

// The zero key for what is no internet address: all such callers count as one.
CallerKey caller_of_peer(std::string_view peer);

}  // namespace coterie
