// One cookie of a request (RFC 6265). Pure.
#pragma once

#include <string_view>

namespace coterie {

// Its value in a Cookie header; empty if there is none, or more than one: it is not for us to choose.
std::string_view request_cookie(std::string_view cookie_header, std::string_view name);

}  // namespace coterie
