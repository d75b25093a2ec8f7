// The text of docs/openapi.json, as it was when this was built: the admin plane gives it to whoever asks.
#pragma once

#include "base/bytes.h"

namespace coterie {

extern const ByteView kOpenApiBytes;  // static

}  // namespace coterie
