// Base64 with padding (RFC 4648, section 4), as pages and policies of the web have it. Our own files and requests have
// base64url (bytes.h).
#pragma once

#include <string>

#include "base/bytes.h"

namespace coterie {

std::string to_base64(ByteView bytes);

}  // namespace coterie
