// What a page's Content-Security-Policy calls an inline text that it allows (CSP level 3, section 2.3.1). Pure.
#pragma once

#include <string>
#include <string_view>

namespace coterie {

// 'sha256-' and the base64 of its hash, in quotes. The text is all between the tags, line breaks included.
std::string hash_source(std::string_view text);

}  // namespace coterie
