// The C of device_sdk/tiny, as one source and its header: what is written beside a model that takes part in rounds.
#pragma once

#include "base/bytes.h"

namespace coterie {

extern const ByteView kTinyHeaderBytes;  // coterie_tiny.h
extern const ByteView kTinySourceBytes;  // coterie_tiny.c

}  // namespace coterie
