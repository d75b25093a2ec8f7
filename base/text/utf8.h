// UTF-8 (RFC 3629): whether bytes are a text.
#pragma once

#include <string_view>

namespace coterie {

// Whole code points alone, each in its shortest form, none of them a surrogate or above U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace coterie
