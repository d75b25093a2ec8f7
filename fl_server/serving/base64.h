// Base64 (RFC 4648 section 4), as clients write bytes into JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace coterie {

// With or without the '=' at its end. invalid_argument: another character, one character too many, bits behind the last
// byte that are not 0.
Result<std::string> decode_base64(std::string_view text);

}  // namespace coterie
