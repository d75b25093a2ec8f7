// Entity tags and conditional requests (RFC 9110, sections 8.8.3 and 13.1). Pure.
#pragma once

#include <string>
#include <string_view>

#include "fl_server/net/http_types.h"

namespace coterie {

// The strong tag of an answer with this body: the first half of its SHA-256, in quotes.
std::string entity_tag(ByteView body);

// Whether the value of an If-Match header ("*", or a list of tags) has this tag. Compares strongly: "W/..." never
// matches.
bool if_match(std::string_view header, std::string_view tag);
// Likewise of If-None-Match, which compares weakly.
bool if_none_match(std::string_view header, std::string_view tag);

// The answer with its ETag; 304 without a body if `head` reads, and says by If-None-Match that it has this already.
HttpResponse with_entity_tag(const RequestHead& head, HttpResponse response);

}  // namespace coterie
